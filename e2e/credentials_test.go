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
	c := shared(t, cluster.V44)
	seeds := c.Addrs(scramTLS)
	t.Run("right password", func(t *testing.T) {
		e := enter(t, seeds, trusting(c).and(password(t, cluster.SCRAM512, userName, userPassword)))
		e.WaitFor(settleTimeout, all(ready(c.IDs()...), value(1, "up")))
		for addr, n := range e.Connections(seeds...) {
			if n != 1 {
				t.Errorf("%d connections to %s, want 1", n, addr)
			}
		}
	})
	t.Run("wrong password", func(t *testing.T) {
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
