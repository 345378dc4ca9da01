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
	balanced = "BALANCED" // PLAINTEXT, HAProxy's ports
	byName   = "BYNAME"   // TLS, one port of nginx, a name for each broker
)

// The balancers' addresses, which the brokers advertise and a scenario may use.
var (
	balancerAddrs = sync.OnceValues(func() (haproxy.Frontends, error) { return haproxy.Pick(3) })
	byNamePort    = sync.OnceValues(freeport.Pick)
)

// strangerListeners are the ways in that lead by a balancer.
func strangerListeners(t *testing.T) []cluster.Listener {
	t.Helper()
	front, err := balancerAddrs()
	if err != nil {
		t.Fatal(err)
	}
	return []cluster.Listener{
		{Name: balanced, Protocol: "PLAINTEXT", Advertise: func(id, _ int) string { return front.Brokers[id-1] }},
		{Name: byName, Protocol: "SSL", Advertise: func(id, _ int) string { return namedAddrs(t)[id-1] }},
	}
}

// namedAddrs are what the brokers advertise on byName.
func namedAddrs(t *testing.T) []string {
	t.Helper()
	port, err := byNamePort()
	if err != nil {
		t.Fatal(err)
	}
	var addrs []string
	for _, name := range nginx.Names {
		addrs = append(addrs, fmt.Sprintf("%s:%d", name, port))
	}
	return addrs
}

// ordeal is what befalls brokers behind a balancer, and how that must show.
type ordeal struct {
	*testing.T
	c      *cluster.Cluster
	e      *exporter.Exporter
	outer  map[int]string // what clients are told
	kcat   []string       // options
	dead   condition      // broker 2 was killed
	frozen condition      // broker 3 was stopped
}

// whole is how all is well.
func (o *ordeal) whole() condition { return all(exactly(o.outer), ready(o.c.IDs()...), value(1, "up")) }

// run kills and restarts broker 2, then stops broker 3 and lets it go on.
func (o *ordeal) run() {
	o.Helper()
	before := o.e.WaitFor(settleTimeout, o.whole())
	answering(o.T, o.outer, o.c.IDs(), o.kcat...)

	o.suffer(2, func() { o.c.Broker(2).Kill(o) }, o.dead)
	o.c.Broker(2).Start(o)
	untouched(o.T, before, o.e.WaitFor(noticeTimeout, o.whole()), 1, 3)
	answering(o.T, o.outer, []int{2}, o.kcat...)

	before = o.e.Scrape()
	o.suffer(3, func() { o.c.Broker(3).Pause(o) }, o.frozen)
	o.c.Broker(3).Resume(o)
	untouched(o.T, before, o.e.WaitFor(noticeTimeout, o.whole()), 1, 2)
	answering(o.T, o.outer, []int{3}, o.kcat...)
}

// suffer spoils a broker and wants that to show, to kcat too, and to stay.
func (o *ordeal) suffer(id int, spoil func(), bad condition) {
	o.Helper()
	rest := others(o.c.IDs(), id)
	start := time.Now()
	spoil()
	first := o.e.WaitFor(verdictTimeout, brokerIs(0, "broker_reachable", id)).Find("broker_failing")
	o.Logf("red after %v: %v", time.Since(start), first)
	last := o.e.WaitFor(settleTimeout, all(bad, ready(rest...))).Find("broker_failing")
	o.Logf("for good after %v: %v", time.Since(start), last)
	kcat.AwaitSilence(o, settleTimeout, o.outer[id], o.kcat...)
	o.e.Hold(refreshInterval, all(bad, ready(rest...), value(1, "up"), exactly(o.outer)))
}

// TestHAProxy: behind HAProxy every port accepts, whether there is a broker or not; a broker that is not there is red all the same.
func TestHAProxy(t *testing.T) {
	need.Tool(t, "java", "mvn", "kcat", "haproxy")
	for _, tc := range []struct {
		name   string
		checks haproxy.Checks
		frozen condition
	}{
		{"connect", haproxy.Connect, failing(3, silent, "api_versions")},
		{"ask", haproxy.Ask, failing(3, hungUp, "api_versions")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := shared(t, cluster.V44)
			front, err := balancerAddrs()
			if err != nil {
				t.Fatal(err)
			}
			haproxy.Start(t, front, c.Addrs(balanced), tc.checks)
			listed(t, []string{front.Bootstrap}, byID(front.Brokers))
			o := ordeal{T: t, c: c, outer: byID(front.Brokers), dead: failing(2, hungUp, "api_versions"), frozen: tc.frozen}
			o.e = exporter.Start(t, flags([]string{front.Bootstrap}, "--seed.check-interval=1s")...)
			o.run()
		})
	}
}

// hungUp is how a balancer without a broker to lead to ends a connection that it has accepted.
var hungUp = []string{"closed", "reset"}

// TestNginxByName: behind one port that tells brokers apart by the name in the ClientHello, each is known by its own name.
func TestNginxByName(t *testing.T) {
	need.Tool(t, "java", "mvn", "kcat", "nginx")
	c := shared(t, cluster.V44)
	port, err := byNamePort()
	if err != nil {
		t.Fatal(err)
	}
	nginx.Start(t, port, c.Addrs(byName))
	o := ordeal{T: t, c: c, outer: byID(namedAddrs(t)), kcat: []string{"security.protocol=ssl", "ssl.ca.location=" + c.CAFile},
		dead: failing(2, hungUp, "tls"), frozen: failing(3, silent, "tls")}
	listed(t, namedAddrs(t)[:1], o.outer, o.kcat...)
	o.e = exporter.Start(t, flags(namedAddrs(t)[:1], "--tls", "--tls.ca-file="+c.CAFile)...)
	o.e.WaitFor(settleTimeout, identity("verified", c.IDs()...))
	o.run()
}
