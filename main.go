// Kafka_connection_exporter keeps one managed connection to every broker of a Kafka cluster and tells Prometheus which
// brokers can be reached from where it runs, and why not. README.md says how to run it.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"kafka_connection_exporter/app"
)

// gcPercent trades a little processor time, of which there is plenty between checks, for a fifth of the memory.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// A reader of the log that goes away, such as a log agent that is restarted, costs the log and not the process: without
	// this, the runtime ends it at the next write to a broken stdout or stderr.
	// A SIGHUP is a wish to read the configuration again, from the moment that somebody listens to it.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal has its default effect and ends the process at once
	os.Exit(app.Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
