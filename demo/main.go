// Demo is the exporter on an embedded cluster with faults: three brokers of which one is good, one flaps and one advertises
// a name that does not resolve, and one seed of two that is dead. It needs nothing but Go.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"kafka_connection_exporter/app"
)

const deadSeed = "127.0.0.1:1"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "demo: "+err.Error())
		os.Exit(1)
	}
}

// run runs the cluster and the exporter until ctx ends; args are more flags of the exporter.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cluster, err := startCluster(ctx)
	if err != nil {
		return err
	}
	defer cluster.close()
	fmt.Fprintf(stdout, introduction, cluster.good, deadSeed)
	flags := []string{
		"--kafka.cluster=demo", "--kafka.brokers-expected=3",
		"--kafka.seed=" + cluster.good, "--kafka.seed=" + deadSeed,
		"--check.interval=2s", "--metadata.refresh-interval=10s", "--backoff.max=5s", "--handshake.interval=15s",
	}
	if code := app.Run(ctx, append(flags, args...), stdout, stderr); code != 0 {
		return fmt.Errorf("the exporter ended with status %d", code)
	}
	return nil
}

const introduction = `A Kafka cluster of three brokers runs inside this process, with faults:

  seed   %s  good
  seed   %-15s  dead: nothing listens there
  broker 0  good
  broker 1  flaps: 20 s up, 10 s down
  broker 2  advertises kafka-2.invalid, a name that does not resolve

Open or type:

  http://127.0.0.1:19308/                     the landing page
  http://127.0.0.1:19308/metrics              what Prometheus reads
  curl -s 127.0.0.1:19308/metrics | grep -E '_(reachable|failing)[{]'

and look at how broker 1 comes and goes in kafka_connection_broker_reachable, why broker 2 is red in
kafka_connection_broker_failing, and that the dead seed costs nothing. Ctrl-C ends it.

`
