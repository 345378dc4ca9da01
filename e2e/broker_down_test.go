//go:build e2e

package e2e

import (
	"testing"
	"time"

	"kafka_connection_exporter/e2e/exporter"
)

var (
	gone   = []string{"refused", "closed", "reset"}
	silent = []string{"timeout"}
)

// TestCaseC06KillOneBroker: kill -9 shows at once with a reason, the series stays, the cluster's own view follows, and the broker comes back
// without a trace on the others.
// Done: kill -9 of one of three brokers
// Shows: unreachable at once; `broker_in_metadata` 0 when the cluster has noticed, and the series stays; ready after its restart
func TestCaseC06KillOneBroker(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c := shared(t, version)
			victim, rest := c.Broker(2), others(c.IDs(), 2)
			e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"), rare)...)
			before := e.WaitFor(settleTimeout, ready(c.IDs()...))

			start := time.Now()
			victim.Kill(t)
			e.WaitFor(busy, failing(2, gone))
			t.Logf("verdict %v after kill -9", time.Since(start))

			c.Broker(1).AwaitNamed(t, noticeTimeout, rest...)
			e.WaitFor(2*refreshInterval+busy, all(brokerIs(0, "broker_in_metadata", 2), failing(2, []string{"refused"}), ready(rest...)))
			t.Logf("not in metadata %v after kill -9", time.Since(start))
			e.Hold(refreshInterval, all(brokerIs(0, "broker_reachable", 2), value(1, "up"), ready(rest...)))

			victim.Start(t)
			start = time.Now()
			after := e.WaitFor(settleTimeout, ready(c.IDs()...))
			t.Logf("ready %v after the restart", time.Since(start))
			untouched(t, before, after, rest...)
		})
	}
}

// TestCaseC02PauseOneBroker: a broker that is there and says nothing is a timeout, and comes back when it speaks again.
// Done: SIGSTOP of one of three brokers
// Shows: `timeout` within check interval and timeout; scrapes stay fast; ready after SIGCONT; the others untouched
func TestCaseC02PauseOneBroker(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c := shared(t, version)
			rest := others(c.IDs(), 3)
			e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"), impatient...)...)
			before := e.WaitFor(settleTimeout, ready(c.IDs()...))

			start := time.Now()
			c.Broker(3).Pause(t)
			e.WaitFor(verdictTimeout, failing(3, silent))
			t.Logf("verdict %v after SIGSTOP", time.Since(start))
			c.Broker(1).AwaitNamed(t, noticeTimeout, rest...)
			e.WaitFor(2*refreshInterval+busy, brokerIs(0, "broker_in_metadata", 3))
			e.Hold(4*time.Second, all(failing(3, silent), ready(rest...)))
			if limit := scrapeLimit; e.Slowest > limit {
				t.Errorf("the slowest scrape took %v, want no more than %v whatever a broker does", e.Slowest, limit)
			}
			t.Logf("slowest scrape: %v", e.Slowest)

			start = time.Now()
			c.Broker(3).Resume(t)
			after := e.WaitFor(noticeTimeout, ready(c.IDs()...))
			t.Logf("ready %v after SIGCONT", time.Since(start))
			untouched(t, before, after, rest...)
		})
	}
}

// TestPauseShorterThanTimeout: a broker that is slow for a moment, but within the time-out of a check, is never shown as down.
func TestPauseShorterThanTimeout(t *testing.T) {
	c := shared(t, versions[0])
	e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"), impatient...)...)
	before := e.WaitFor(settleTimeout, ready(c.IDs()...))
	c.Broker(3).Pause(t)
	e.Hold(checkTimeout/4, brokerIs(1, "broker_reachable", c.IDs()...))
	c.Broker(3).Resume(t)
	after := e.Hold(checkTimeout, brokerIs(1, "broker_reachable", c.IDs()...))
	untouched(t, before, after, c.IDs()...)
}
