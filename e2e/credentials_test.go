//go:build e2e

package e2e

import (
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
)

// TestScramOverTLS: the right password gets in; a wrong one is named as such, and neither appears anywhere.
func TestScramOverTLS(t *testing.T) {
	t.Parallel()
	s := securedCluster(t, cluster.V44)
	c, seeds := s.Cluster, s.seeds(saslTLS)
	t.Run("right password", func(t *testing.T) {
		t.Parallel()
		turn(t)
		e := enter(t, seeds, trusting(c).and(password(t, cluster.SCRAM512, userName, userPassword)))
		e.WaitFor(settleTimeout, all(ready(c.IDs()...), value(1, "up")))
		e.AwaitConnections(settleTimeout, 1, c.Addrs(saslTLS)...)
	})
	t.Run("wrong password", func(t *testing.T) {
		t.Parallel()
		turn(t)
		e := enter(t, seeds, trusting(c).and(password(t, cluster.SCRAM512, userName, "wrong-donkey-91Cd")))
		rejected := func(m exporter.Metrics) error {
			return oneOf(seeds, func(seed string) condition { return seedFailing(seed, []string{"credentials_rejected"}, "sasl") })(m)
		}
		e.WaitFor(settleTimeout, all(rejected, value(0, "up"), absent("broker_reachable")))
		e.Hold(2*time.Second, all(rejected, value(0, "up")))
	})
}

// oneOf is met when the condition is met for one of the names; its error is the last one.
func oneOf(names []string, f func(string) condition) condition {
	return func(m exporter.Metrics) error {
		var err error
		for _, name := range names {
			if err = f(name)(m); err == nil {
				return nil
			}
		}
		return err
	}
}
