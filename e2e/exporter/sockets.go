//go:build e2e

package exporter

import (
	"slices"
	"time"

	"kafka_connection_exporter/e2e/sockets"
)

// Sockets lists the TCP sockets that the exporter's process holds open.
func (e *Exporter) Sockets() []sockets.Socket {
	e.t.Helper()
	all, err := sockets.Of(e.PID())
	if err != nil {
		e.t.Fatal(err)
	}
	return all
}

// AwaitConnections returns when the exporter has this many established connections to each of the addresses.
func (e *Exporter) AwaitConnections(timeout time.Duration, want int, addrs ...string) {
	e.t.Helper()
	var counts map[string]int
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(tick) {
		counts = e.Connections(addrs...)
		if !slices.ContainsFunc(addrs, func(addr string) bool { return counts[addr] != want }) {
			return
		}
	}
	e.t.Fatalf("after %v the connections are %v, want %d to each", timeout, counts, want)
}

// Connections counts the exporter's established connections to each of the addresses.
func (e *Exporter) Connections(addrs ...string) map[string]int {
	e.t.Helper()
	counts := map[string]int{}
	for _, addr := range addrs {
		counts[addr] = 0
	}
	for _, s := range e.Sockets() {
		if _, ok := counts[s.Remote.String()]; ok && s.State == sockets.Established {
			counts[s.Remote.String()]++
		}
	}
	return counts
}
