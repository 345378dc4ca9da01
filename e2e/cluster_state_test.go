//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
)

// TestNoACL: a principal that may do nothing gets in, and sees of the cluster what the version shows to everybody.
func TestNoACL(t *testing.T) {
	t.Parallel()
	status := map[string]string{cluster.V44: "verified", cluster.V39: "unverified", cluster.V23: "unverified"}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			cluster.Need(t, version)
			t.Parallel()
			c := authorizedCluster(t, version)
			turn(t)
			e := enter(t, c.Addrs(saslPlain), password(t, cluster.Plain, userName, userPassword), "--handshake.interval=1s")
			seen := all(ready(1), accepts(1), identity(status[version], 1), fences(c), value(1, "up"), value(1, "cluster_info", "cluster_id", c.ID))
			e.WaitFor(settleTimeout, seen)
			e.Hold(3*time.Second, all(seen, absent("seed_failing")))
		})
	}
}

// TestCaseC23FencedAndUnregistered: a dead broker is shown as fenced; once the cluster has let it go, all its series go in one scrape, and they
// come back with it.
// Done: a broker dies, is fenced, and is unregistered
// Shows: `broker_fenced` 1; then all its series go in one scrape
func TestCaseC23FencedAndUnregistered(t *testing.T) {
	c := shared(t, cluster.V44)
	e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"))...)
	e.WaitFor(settleTimeout, all(ready(c.IDs()...), fences(c)))
	start := time.Now()
	c.Broker(3).Kill(t)
	dead := all(brokerIs(1, "broker_fenced", 3), brokerIs(0, "broker_in_metadata", 3), failing(3, gone, "dial"),
		brokerIs(0, "broker_fenced", 1, 2), ready(1, 2), value(2, "brokers"), value(1, "up"))
	c.Broker(1).AwaitNamed(t, noticeTimeout, 1, 2)
	t.Logf("kadm: the cluster has noticed %v after kill -9", time.Since(start))
	e.WaitFor(2*refreshInterval+busy, dead)
	t.Logf("fenced %v after kill -9", time.Since(start))
	series := len(e.Hold(refreshInterval, dead).With("broker_id", "3"))

	c.Unregister(t, 3)
	start = time.Now()
	e.WaitFor(refreshInterval+busy, func(m exporter.Metrics) error {
		switch n := len(m.With("broker_id", "3")); n {
		case 0:
			return nil
		case series:
			return fmt.Errorf("broker 3 has %d series, want none", n)
		default:
			t.Fatalf("broker 3 has %d series left of %d, they must go together", n, series)
			return nil
		}
	})
	t.Logf("%d series gone %v after UnregisterBroker", series, time.Since(start))
	e.Hold(2*refreshInterval, all(ready(1, 2), value(1, "up"), absent("broker_info", "broker_id", "3")))
	c.Broker(3).Start(t)
	e.WaitFor(settleTimeout, all(ready(c.IDs()...), fences(c)))
}

// TestCaseC23ReachableAndFenced: a broker that works and whose heartbeats reach the controllers too seldom is fenced and let in again, over and over.
// It is shown as what it is at any moment, and its connection has no part in it.
// Done: a broker whose heartbeats come too seldom
// Shows: `broker_fenced` 1 and `broker_reachable` 1 at once, on one connection
func TestCaseC23ReachableAndFenced(t *testing.T) {
	cluster.Need(t, cluster.V44)
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Version: cluster.V44, BrokerConfig: func(id int) map[string]string {
		if id != 3 {
			return nil
		}
		return map[string]string{"broker.heartbeat.interval.ms": "12000"} // fenced after 5000
	}})
	turn(t)
	e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"))...)
	whole := all(ready(c.IDs()...), fences(c))
	before := e.WaitFor(noticeTimeout, whole)
	odd := all(brokerIs(1, "broker_reachable", 3), brokerIs(1, "broker_fenced", 3), brokerIs(0, "broker_in_metadata", 3),
		brokerIs(0, "broker_fenced", 1, 2), ready(1, 2), value(2, "brokers"), value(1, "up"), absent("broker_failing"))
	for range 2 {
		start := time.Now()
		m := e.WaitFor(noticeTimeout, odd)
		t.Logf("fenced and reachable after another %v; %v", time.Since(start), m.Find("broker_metadata_agrees"))
		start = time.Now()
		e.WaitFor(noticeTimeout, whole)
		t.Logf("back after another %v", time.Since(start))
	}
	untouched(t, before, e.Scrape(), c.IDs()...)
}
