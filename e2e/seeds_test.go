//go:build e2e

package e2e

import (
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/proxy"
)

// TestSeedsDeadBrokersKnown: once the brokers are known, the cluster stays visible without any seed, and the seeds are shown as what they
// are.
func TestSeedsDeadBrokersKnown(t *testing.T) {
	c := unbroken(t, cluster.V44)
	var proxies []*proxy.Proxy
	var seeds []string
	for _, addr := range c.Addrs("PLAINTEXT") {
		p := proxy.Start(t, addr)
		proxies, seeds = append(proxies, p), append(seeds, p.Addr)
	}
	e := exporter.Start(t, flags(seeds, "--seed.check-interval=1s")...)
	conditions := []condition{ready(c.IDs()...)}
	for _, seed := range seeds {
		conditions = append(conditions, value(1, "seed_reachable", "seed", seed))
	}
	before := e.WaitFor(settleTimeout, all(conditions...))

	for _, p := range proxies {
		p.Close()
	}
	alive := all(value(1, "up"), ready(c.IDs()...))
	conditions = []condition{alive}
	for _, seed := range seeds {
		conditions = append(conditions, seedFailing(seed, []string{"refused"}, "dial"))
	}
	e.WaitFor(settleTimeout, all(conditions...))
	after := e.Hold(3*refreshInterval, alive)
	if rounds := after.Sum("metadata_refreshes_total") - before.Sum("metadata_refreshes_total"); rounds < 2 {
		t.Errorf("%v refresh rounds since the seeds died, want at least 2", rounds)
	}
	if failed := after.Sum("metadata_refresh_failures_total"); failed != before.Sum("metadata_refresh_failures_total") {
		t.Errorf("metadata_refresh_failures_total rose to %v though the brokers serve", failed)
	}
}

// TestCaseC01AllDownAtStart: the exporter starts before Kafka, says why it sees nothing, and recovers by itself.
// Done: no broker runs when the exporter starts
// Shows: every seed with `dial` `refused`, `/-/healthy` 200; all ready when they run
func TestCaseC01AllDownAtStart(t *testing.T) {
	t.Parallel()
	for _, version := range []string{cluster.V44, cluster.V23} {
		t.Run(version, func(t *testing.T) {
			c := shared(t, version)
			for _, b := range c.Brokers {
				b.Kill(t)
			}
			seeds := c.Addrs("PLAINTEXT")
			e := exporter.Start(t, flags(seeds, "--seed.check-interval=1s")...)
			if limit := scrapeLimit; e.Serving > limit {
				t.Errorf("served after %v, want within %v", e.Serving, limit)
			}
			conditions := []condition{value(0, "up"), value(3, "seeds"), absent("broker_reachable")}
			for _, seed := range seeds {
				conditions = append(conditions, seedFailing(seed, []string{"refused"}, "dial"))
			}
			down := all(conditions...)
			e.WaitFor(settleTimeout, down)
			e.Hold(3*time.Second, down)
			if _, status, err := e.Body("/-/healthy"); err != nil || status != 200 {
				t.Errorf("/-/healthy: status %d, %v", status, err)
			}

			if err := c.Heal(); err != nil {
				t.Fatal(err)
			}
			conditions = []condition{value(1, "up"), ready(c.IDs()...)}
			for _, seed := range seeds {
				conditions = append(conditions, value(1, "seed_reachable", "seed", seed), absent("seed_failing", "seed", seed))
			}
			e.WaitFor(settleTimeout, all(conditions...))
		})
	}
}
