//go:build e2e

package e2e

import (
	"strconv"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/proxy"
)

// TestAllReady: a healthy cluster of any version is shown as such, and agrees with what kadm says.
func TestAllReady(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c := unbroken(t, version)
			start := time.Now()
			e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"), "--kafka.brokers-expected=3")...)
			e.WaitFor(settleTimeout, all(ready(c.IDs()...), value(1, "up"), value(3, "brokers"), value(3, "seeds"),
				identity("verified", c.IDs()...), fences(c)))
			t.Logf("serving after %v, ready after %v", e.Serving, time.Since(start))
			c.Broker(1).AwaitNamed(t, noticeTimeout, c.IDs()...)
			e.WaitFor(settleTimeout, all(value(1, "cluster_info", "cluster_id", c.ID), each(c.IDs(), func(id int) condition {
				b := c.Broker(id)
				return value(1, "broker_info", "broker_id", strconv.Itoa(id), "address", b.Advertised("PLAINTEXT"), "rack", b.Rack())
			})))
		})
	}
}

// TestCaseC49OneSocketPerBroker: at rest there is exactly one connection to every broker, none to the seeds, and nobody is dialed, whatever the
// number of scrapes.
// Done: three seeds and three brokers, scraped all the time
// Shows: one socket to each broker, none to the seeds, no new connection
func TestCaseC49OneSocketPerBroker(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c := unbroken(t, version)
			var seeds []string
			for _, addr := range c.Addrs("PLAINTEXT") {
				seeds = append(seeds, proxy.Start(t, addr).Addr)
			}
			e := exporter.Start(t, flags(seeds, unhedged)...)
			before := e.WaitFor(settleTimeout, all(ready(c.IDs()...), atLeast(3, "metadata_refreshes_total")))
			e.AwaitConnections(settleTimeout, 1, c.Addrs("PLAINTEXT")...)
			e.AwaitConnections(settleTimeout, 0, seeds...)
			e.Hold(3*refreshInterval, func(exporter.Metrics) error {
				for addr, n := range e.Connections(c.Addrs("PLAINTEXT")...) {
					if n != 1 {
						t.Errorf("%d connections to broker %s, want 1", n, addr)
					}
				}
				for addr, n := range e.Connections(seeds...) {
					if n != 0 {
						t.Errorf("%d connections to seed %s, want none", n, addr)
					}
				}
				return nil
			})
			untouched(t, before, e.Scrape(), c.IDs()...)
		})
	}
}

// untouched fails the test if a broker was dialed or changed its state between two scrapes.
func untouched(t *testing.T, before, after exporter.Metrics, ids ...int) {
	t.Helper()
	for _, id := range ids {
		for _, name := range []string{"broker_connection_attempts_total", "broker_connection_state_changes_total"} {
			was, is := before.Sum(name, "broker_id", strconv.Itoa(id)), after.Sum(name, "broker_id", strconv.Itoa(id))
			if was != is || was == 0 {
				t.Errorf("%s of broker %d went from %v to %v, want no change from above 0", name, id, was, is)
			}
		}
	}
}
