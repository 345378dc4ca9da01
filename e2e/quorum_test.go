//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
)

// TestCaseC06ControllerMajorityLost: without a majority of controllers the cluster goes on naming the dead brokers. Only our own connections know
// better.
// Done: two of three brokers die, and with them the majority of controllers
// Shows: both unreachable, although the metadata names them for ever
func TestCaseC06ControllerMajorityLost(t *testing.T) {
	t.Parallel()
	for _, version := range []string{cluster.V44, cluster.V39} {
		t.Run(version, func(t *testing.T) {
			c := shared(t, version)
			e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"))...)
			e.WaitFor(settleTimeout, ready(c.IDs()...))

			c.Broker(1).Kill(t)
			c.Broker(2).Kill(t)
			truth := all(failing(1, gone), failing(2, gone), ready(3), brokerIs(1, "broker_in_metadata", 1, 2), value(1, "up"))
			e.WaitFor(verdictTimeout, truth)
			for range 4 {
				e.Hold(refreshInterval, truth)
				if named := c.Broker(3).Named(t); !slices.Equal(named, c.IDs()) {
					t.Fatalf("kadm: the survivor names %v, so this scenario proves nothing", named)
				}
			}

			if err := c.Heal(); err != nil {
				t.Fatal(err)
			}
			e.WaitFor(settleTimeout, ready(c.IDs()...))
		})
	}
}

// TestRollingRestart: each broker in turn is stopped in good order and started again. Nobody else is shown as down, and `up` stays.
func TestRollingRestart(t *testing.T) {
	c := shared(t, cluster.V44)
	e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"))...)
	e.WaitFor(settleTimeout, ready(c.IDs()...))
	for _, b := range c.Brokers {
		start := time.Now()
		rest := others(c.IDs(), b.ID)
		b.Stop(t)
		e.WaitFor(verdictTimeout, failing(b.ID, gone))
		e.Hold(time.Second, all(brokerIs(1, "broker_reachable", rest...), value(1, "up")))
		b.Start(t)
		e.WaitFor(settleTimeout, all(ready(c.IDs()...), value(1, "up")))
		t.Logf("broker %d down and up in %v", b.ID, time.Since(start))
	}
}

// TestWholeClusterRestart: all brokers die at once while the exporter runs; they stay visible as down and recover.
func TestWholeClusterRestart(t *testing.T) {
	c := shared(t, cluster.V44)
	e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"))...)
	e.WaitFor(settleTimeout, ready(c.IDs()...))
	for _, b := range c.Brokers {
		b.Kill(t)
	}
	e.WaitFor(verdictTimeout, all(failing(1, gone), failing(2, gone), failing(3, gone)))
	e.WaitFor(settleTimeout, value(0, "up"))
	e.Hold(refreshInterval, all(brokerIs(0, "broker_reachable", c.IDs()...), brokerIs(1, "broker_in_metadata", c.IDs()...)))
	if err := c.Heal(); err != nil {
		t.Fatal(err)
	}
	e.WaitFor(settleTimeout, all(ready(c.IDs()...), value(1, "up")))
}
