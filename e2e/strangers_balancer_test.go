//go:build e2e

package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/freeport"
	"kafka_connection_exporter/e2e/haproxy"
	"kafka_connection_exporter/e2e/kcat"
	"kafka_connection_exporter/e2e/need"
	"kafka_connection_exporter/e2e/nginx"
)

// Listeners of the shared cluster of Kafka 4.4 that advertise a balancer's addresses.
const (
	balanced = "BALANCED" // PLAINTEXT, ports of an HAProxy that checks whether brokers accept
	examined = "EXAMINED" // PLAINTEXT, ports of an HAProxy that checks whether brokers answer
	byName   = "BYNAME"   // TLS, one port of nginx, a name for each broker
)

// The balancers' addresses, which brokers advertise whether a scenario runs a balancer there or not.
var (
	balancedAddrs = sync.OnceValues(func() (haproxy.Frontends, error) { return haproxy.Pick(3) })
	examinedAddrs = sync.OnceValues(func() (haproxy.Frontends, error) { return haproxy.Pick(3) })
	byNamePort    = sync.OnceValues(freeport.Pick)
)

// strangerListeners are the ways in that lead by a balancer.
func strangerListeners(t *testing.T) []cluster.Listener {
	t.Helper()
	advertise := func(addrs []string) func(int, int) string {
		return func(id, _ int) string { return addrs[id-1] }
	}
	return []cluster.Listener{
		{Name: balanced, Protocol: "PLAINTEXT", Advertise: advertise(picked(t, balancedAddrs).Brokers)},
		{Name: examined, Protocol: "PLAINTEXT", Advertise: advertise(picked(t, examinedAddrs).Brokers)},
		{Name: byName, Protocol: "SSL", Advertise: advertise(namedAddrs(t))},
	}
}

func picked[T any](t *testing.T, pick func() (T, error)) T {
	t.Helper()
	it, err := pick()
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// namedAddrs are what the brokers advertise on byName.
func namedAddrs(t *testing.T) []string {
	t.Helper()
	var addrs []string
	for _, name := range nginx.Names {
		addrs = append(addrs, fmt.Sprintf("%s:%d", name, picked(t, byNamePort)))
	}
	return addrs
}

// passage is an exporter and a kcat that come in by a balancer, and what of a broker's fate must show there.
type passage struct {
	name   string
	seed   string
	outer  map[int]string // what clients are told
	kcat   []string       // options
	flags  []string
	dead   condition // broker 2 was killed
	frozen condition // broker 3 was stopped
	e      *exporter.Exporter
	before exporter.Metrics
}

// hungUp is how a balancer without a broker to lead to ends a connection that it has accepted.
var hungUp = []string{"closed", "reset"}

// byHAProxy runs an HAProxy.
func byHAProxy(t *testing.T, c *cluster.Cluster, listener string, front haproxy.Frontends, checks haproxy.Checks) *passage {
	t.Helper()
	haproxy.Start(t, front, c.Addrs(listener), checks)
	return &passage{name: listener, seed: front.Bootstrap, outer: byID(front.Brokers), dead: failing(2, hungUp, "api_versions")}
}

// balancers runs all of them, and an exporter behind each.
func balancers(t *testing.T, c *cluster.Cluster) []*passage {
	t.Helper()
	connect := byHAProxy(t, c, balanced, picked(t, balancedAddrs), haproxy.Connect)
	connect.frozen = failing(3, silent, "api_versions")
	ask := byHAProxy(t, c, examined, picked(t, examinedAddrs), haproxy.Ask)
	ask.frozen = failing(3, hungUp, "api_versions")

	nginx.Start(t, picked(t, byNamePort), c.Addrs(byName))
	named := &passage{name: byName, seed: namedAddrs(t)[0], outer: byID(namedAddrs(t)),
		kcat: []string{"security.protocol=ssl", "ssl.ca.location=" + c.CAFile}, flags: []string{"--tls", "--tls.ca-file=" + c.CAFile},
		dead: failing(2, hungUp, "tls"), frozen: failing(3, silent, "tls")}

	passages := []*passage{connect, ask, named}
	for _, w := range passages {
		listed(t, []string{w.seed}, w.outer, w.kcat...)
		w.e = exporter.Start(t, flags([]string{w.seed}, append(w.flags, impatient...)...)...)
	}
	return passages
}

// TestCaseC16Balancers: behind HAProxy, and behind an nginx that tells brokers apart by the name in the ClientHello, every port accepts whether there
// is a broker or not. Each broker is known by its own address there, and is red when no client gets an answer from it.
// Done: real Kafka behind HAProxy with two kinds of health checks, and behind nginx by SNI; a broker is killed, another is stopped, both come back
// Shows: killed: `closed` in `api_versions`, in `tls` behind nginx; stopped: `timeout`, but `closed` where HAProxy's checks ask for an answer
func TestCaseC16Balancers(t *testing.T) {
	need.Tool(t, "java", "mvn", "kcat", "haproxy", "nginx")
	c := shared(t, cluster.V44)
	passages := balancers(t, c)
	well(t, c, passages)

	suffer(t, passages, 2, func() { c.Broker(2).Kill(t) }, func(w *passage) condition { return w.dead })
	c.Broker(2).Start(t)
	well(t, c, passages, 1, 3)

	suffer(t, passages, 3, func() { c.Broker(3).Pause(t) }, func(w *passage) condition { return w.frozen })
	c.Broker(3).Resume(t)
	well(t, c, passages, 1, 2)
}

// well wants all brokers to be well on all passages, as kcat finds them, and some of them to be untouched since the last time.
func well(t *testing.T, c *cluster.Cluster, passages []*passage, before ...int) {
	t.Helper()
	for _, w := range passages {
		now := w.e.WaitFor(noticeTimeout, all(exactly(w.outer), ready(c.IDs()...), identity("verified", c.IDs()...), value(1, "up")))
		answering(t, w.outer, others(c.IDs(), before...), w.kcat...)
		untouched(t, w.before, now, before...)
		w.before = now
	}
}

// suffer spoils a broker and wants that to show on all passages, to kcat too, and to stay.
func suffer(t *testing.T, passages []*passage, id int, spoil func(), bad func(*passage) condition) {
	t.Helper()
	start := time.Now()
	spoil()
	for _, w := range passages {
		m := w.e.WaitFor(verdictTimeout, brokerIs(0, "broker_reachable", id))
		t.Logf("%s: red after %v: %v", w.name, time.Since(start), m.Find("broker_failing"))
	}
	for _, w := range passages {
		last := all(bad(w), exactly(w.outer), ready(others(idsOf(w.outer), id)...), value(1, "up"))
		w.e.WaitFor(settleTimeout, last)
		t.Logf("%s: as it must after %v", w.name, time.Since(start))
		kcat.AwaitSilence(t, settleTimeout, w.outer[id], w.kcat...)
		w.e.Hold(time.Second, last)
	}
}
