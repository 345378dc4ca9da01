package lab

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"kafka_connection_exporter/app"
)

// What a parent tells its child.
const (
	childVariable      = "LAB_CHILD"
	nameServerVariable = "LAB_NAME_SERVER"
)

// parallel is how many scenarios run at once: they wait most of the time, so that more than the number of processors pays.
const parallel = "10"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(child())
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", parallel)
	}
	code := m.Run()
	_ = os.Remove(plainPath())
	os.Exit(code)
}

// child is what main is, with another name server, a way to collect garbage, and an end when the parent is gone.
func child() int {
	if addr := os.Getenv(nameServerVariable); addr != "" {
		net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}}
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	collect := make(chan os.Signal, 1)
	signal.Notify(collect, syscall.SIGUSR1)
	go func() {
		for range collect {
			runtime.GC()
			runtime.GC() // what sync.Pool has kept goes with the second one
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			fmt.Fprintf(os.Stderr, "lab: %d bytes are live\n", stats.HeapAlloc)
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return app.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}
