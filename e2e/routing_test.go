//go:build e2e

package e2e

import (
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/proxy"
)

// TestCaseC07Misrouting: what answers at a broker's address and is another broker, or of another cluster, is never taken for it, neither by fresh
// connections nor by the shared one, however healthy it is.
// Done: two brokers change places behind their addresses; another cluster is behind one of them
// Shows: `identity` `misrouted` or `wrong_cluster`, by fresh handshakes first, then by the shared connection
func TestCaseC07Misrouting(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			foreign := beside(t, cluster.V44)
			c, proxies := proxiedCluster(t, version)
			e := exporter.Start(t, flags(c.Addrs(proxied), "--handshake.interval=1s", "--seed.check-interval=1s")...)
			well := all(ready(1, 2), accepts(1, 2), identity("verified", 1, 2), absent("seed_failing"))
			e.WaitFor(settleTimeout, well)

			right := []string{proxies[0].Target(), proxies[1].Target()}
			proxies[0].SetTarget(right[1])
			proxies[1].SetTarget(right[0])
			e.WaitFor(soon, each(c.IDs(), func(id int) condition { return refusing(id, "identity", "misrouted") }))
			cut(proxies...)
			wrong := all(failing(1, []string{"misrouted"}, "identity"), failing(2, []string{"misrouted"}, "identity"),
				identity("wrong", 1, 2), brokerIs(1, "broker_in_metadata", 1, 2), value(1, "up"), absent("seed_failing"))
			e.WaitFor(soon, wrong)
			e.Hold(2*refreshInterval, wrong)
			t.Log(explanation(e))
			proxy.Swap(proxies[0], proxies[1])
			e.WaitFor(soon, well)

			for _, addr := range []string{foreign.Broker(1).Addr("PLAINTEXT"), foreign.Broker(2).Addr("PLAINTEXT")} {
				proxies[0].SetTarget(addr)
				cut(proxies[0])
				astray := all(failing(1, []string{"wrong_cluster"}, "identity"), identity("wrong", 1), ready(2), identity("verified", 2))
				e.WaitFor(soon, astray)
				e.Hold(time.Second, all(astray, value(1, "cluster_info", "cluster_id", c.ID), value(2, "brokers")))
			}
			proxies[0].SetTarget(right[0])
			e.WaitFor(soon, well)
		})
	}
}

func cut(proxies ...*proxy.Proxy) {
	for _, p := range proxies {
		p.Cut()
	}
}

// TestCaseC08ForeignSeed: a seed that leads into another cluster is named, and what it says changes nothing.
// Done: one of three seeds leads into another cluster
// Shows: that seed with `identity` `wrong_cluster`; the brokers untouched
func TestCaseC08ForeignSeed(t *testing.T) {
	foreign, c := securedCluster(t, cluster.V39), unbroken(t, cluster.V44)
	var seeds []string
	var proxies []*proxy.Proxy
	for _, addr := range c.Addrs("PLAINTEXT") {
		p := proxy.Start(t, addr)
		proxies, seeds = append(proxies, p), append(seeds, p.Addr)
	}
	e := exporter.Start(t, flags(seeds, "--seed.check-interval=1s")...)
	well := all(ready(c.IDs()...), value(1, "up"), value(1, "cluster_info", "cluster_id", c.ID), value(3, "brokers"))
	before := e.WaitFor(settleTimeout, all(well, each(c.IDs(), func(id int) condition { return value(1, "seed_reachable", "seed", seeds[id-1]) })))

	proxies[0].SetTarget(foreign.Broker(1).Addr("PLAINTEXT"))
	astray := all(well, seedFailing(seeds[0], []string{"wrong_cluster"}, "identity"), value(1, "seed_reachable", "seed", seeds[1]))
	e.WaitFor(soon, all(astray, atLeast(1, "metadata_answers_rejected_total", "reason", "wrong_cluster")))
	e.Hold(3*refreshInterval, astray)
	after := e.WaitFor(soon, atLeast(3, "metadata_answers_rejected_total", "reason", "wrong_cluster"))
	untouched(t, before, after, c.IDs()...)
	for _, s := range before.Find("broker_info") {
		if err := value(1, "broker_info", "broker_id", s.Labels["broker_id"], "address", s.Labels["address"], "rack", s.Labels["rack"])(after); err != nil {
			t.Error(err)
		}
	}
	proxies[0].SetTarget(c.Broker(1).Addr("PLAINTEXT"))
	e.WaitFor(soon, all(well, absent("seed_failing")))
}

// TestPinnedCluster: with the id of another cluster configured, nothing is believed from the first answer on.
func TestPinnedCluster(t *testing.T) {
	c := unbroken(t, cluster.V44)
	seed := c.Broker(1).Addr("PLAINTEXT")
	e := exporter.Start(t, flags([]string{seed}, "--kafka.cluster-id=AAAAAAAAAAAAAAAAAAAAAA")...)
	rejected := all(value(0, "up"), seedFailing(seed, []string{"wrong_cluster"}, "identity"), absent("broker_info"), value(0, "brokers"))
	e.WaitFor(settleTimeout, rejected)
	e.Hold(refreshInterval, rejected)
}
