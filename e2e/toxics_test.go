//go:build e2e

package e2e

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
)

// badNetwork puts Toxiproxy between the exporter and a listener of broker 2, whose clients have an address of their own for it.
func badNetwork(t *testing.T, c *cluster.Cluster, listener string) *toxiproxy.Proxy {
	t.Helper()
	zerolog.SetGlobalLevel(zerolog.Disabled) // some toxics log past the logger that they were given
	b := c.Broker(2)
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, t.Name(), b.Advertised(listener), b.Addr(listener))
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// poison adds a toxic, written as Toxiproxy's API has it, and returns what removes it.
func poison(t *testing.T, p *toxiproxy.Proxy, json string) func() {
	t.Helper()
	added, err := p.Toxics.AddToxicJson(strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := p.Toxics.RemoveToxic(context.Background(), added.Name); err != nil {
			t.Error(err)
		}
	}
}

// TestCaseC04DeadlyToxics: what a network can do to a connection shows as what it is, and is over when it is.
// Done: between exporter and broker everything is dropped, or reset, or answers come far too late, or nobody listens
// Shows: `timeout`, `reset`, `timeout`, `dial` `refused`; the other brokers untouched; ready again without a restart
func TestCaseC04DeadlyToxics(t *testing.T) {
	c := unbroken(t, cluster.V44)
	p := badNetwork(t, c, toxic)
	e := exporter.Start(t, flags([]string{c.Broker(1).Addr(toxic), c.Broker(3).Addr(toxic)}, impatient...)...)
	stop := func(t *testing.T, p *toxiproxy.Proxy) func() {
		p.Stop()
		return func() {
			if err := p.Start(); err != nil {
				t.Error(err)
			}
		}
	}
	json := func(text string) func(*testing.T, *toxiproxy.Proxy) func() {
		return func(t *testing.T, p *toxiproxy.Proxy) func() { return poison(t, p, text) }
	}
	for _, tc := range []struct {
		name    string
		spoil   func(*testing.T, *toxiproxy.Proxy) func()
		reasons []string
		phases  []string
	}{
		{"timeout", json(`{"type": "timeout", "attributes": {"timeout": 0}}`), silent, []string{"request", "api_versions"}},
		{"reset_peer", json(`{"type": "reset_peer", "attributes": {"timeout": 0}}`), []string{"reset"}, []string{"api_versions"}},
		{"latency", json(`{"type": "latency", "attributes": {"latency": 8000}}`), silent, []string{"request", "api_versions"}},
		{"down", stop, []string{"refused"}, []string{"dial"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := e.WaitFor(settleTimeout, ready(c.IDs()...))
			start := time.Now()
			mend := tc.spoil(t, p)
			bad := all(failing(2, tc.reasons, tc.phases...), brokerIs(1, "broker_in_metadata", 2), ready(1, 3), value(1, "up"))
			e.WaitFor(settleTimeout, bad)
			t.Logf("verdict after %v", time.Since(start))
			e.Hold(time.Second, bad)
			start = time.Now()
			mend()
			after := e.WaitFor(settleTimeout, ready(c.IDs()...))
			t.Logf("ready %v after the end of it", time.Since(start))
			untouched(t, before, after, 1, 3)
		})
	}
}

// TestCaseC02SlowToxics: a slow network is no failure, and slows no scrape.
// Done: answers come 1 s late, or at 1 KiB/s, or byte by byte, while fresh handshakes go on
// Shows: all brokers reachable and accepting, no connection lost, every scrape fast; the round trips of that broker show it
func TestCaseC02SlowToxics(t *testing.T) {
	c := unbroken(t, cluster.V44)
	p := badNetwork(t, c, slow)
	e := exporter.Start(t, flags([]string{c.Broker(1).Addr(slow)}, "--handshake.interval=2s")...)
	well := all(ready(c.IDs()...), accepts(c.IDs()...), value(1, "up"))
	for name, json := range map[string]string{
		"latency":   `{"type": "latency", "attributes": {"latency": 1000}}`,
		"bandwidth": `{"type": "bandwidth", "attributes": {"rate": 1}}`,
		"slicer":    `{"type": "slicer", "attributes": {"average_size": 1, "size_variation": 0, "delay": 100}}`,
	} {
		t.Run(name, func(t *testing.T) {
			before := e.WaitFor(settleTimeout, well)
			mend := poison(t, p, json)
			after := e.Hold(6*time.Second, well)
			mend()
			for _, name := range []string{"broker_connection_closes_total", "broker_request_failures_total", "broker_connection_failures_total"} {
				if lost := after.Sum(name) - before.Sum(name); lost != 0 {
					t.Errorf("%s rose by %v", name, lost)
				}
			}
			t.Logf("a round trip took %.3f s", mean(after, before, 2))
			if name == "latency" && mean(after, before, 2) < 0.9 {
				t.Errorf("the latency does not show")
			}
		})
	}
	if limit := scrapeLimit; e.Slowest > limit {
		t.Errorf("the slowest scrape took %v, want no more than %v", e.Slowest, limit)
	}
}

// mean is the mean round trip of a broker's checks between two scrapes, in seconds.
func mean(after, before exporter.Metrics, id int) float64 {
	since := func(suffix string) float64 {
		name := "broker_request_duration_seconds_" + suffix
		return after.Sum(name, "broker_id", strconv.Itoa(id)) - before.Sum(name, "broker_id", strconv.Itoa(id))
	}
	return since("sum") / since("count")
}
