package lab

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// TestCaseC01StartsWithNothing: whoever starts the exporter before Kafka must not find it dead afterwards.
// Done: three seeds at which nobody listens; a broker appears at one of them later
// Shows: every seed with `dial`, `refused`, `up 0`, `/-/healthy` 200; then the cluster, without a restart
func TestCaseC01StartsWithNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, wiretest.Common)
	for _, s := range c.stands {
		s.kill(false)
	}
	dead := nobody()
	p := start(t, c.seeds(1, 2)+","+dead)
	began := time.Now()
	down := all(is(0, "up"), is(3, "seeds"), seedFailing(dead, "dial", "refused"),
		seedFailing(c.stands[0].addr, "dial", "refused"), seedFailing(c.stands[1].addr, "dial", "refused"))
	p.wait(down)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the verdicts came after %s", took)
	}
	p.hold(time.Second, down)
	if _, code, err := p.fetch("/-/healthy"); code != 200 || err != nil {
		t.Errorf("/-/healthy: %d, %v", code, err)
	}
	c.stands[0].open()
	c.stands[1].open()
	p.wait(is(1, "up"), ready(1, 2), seedWell(c.stands[0].addr), seedFailing(dead, "dial", "refused"))
}

// TestCaseC01NameServer: a name server has more ways to fail than one, and none of them ends the exporter.
// Done: seeds whose names do not exist, fail, are not answered, are answered late, or only over TCP; then all are well
// Shows: `resolve` with `dns_not_found`, `dns_failure`, `timeout`; late and long answers do no harm; all seeds come back
func TestCaseC01NameServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	host := hostOf(c.stands[0].addr)
	server := newNameServer(t)
	names := map[string]mode{"missing.test": notFound, "broken.test": servFail, "silent.test": silent, "slow.test": slow, "long.test": truncated}
	var seeds []string
	for name, mode := range names {
		server.answer(name, mode, host)
		seeds = append(seeds, name+":9092")
	}
	p := startEnv(t, server.env(), "--kafka.seed="+strings.Join(seeds, ","))
	p.wait(is(1, "up"), ready(1), seedFailing("missing.test:9092", "resolve", "dns_not_found"), seedFailing("broken.test:9092", "resolve", "dns_failure"),
		seedFailing("silent.test:9092", "resolve", "timeout"), seedWell("slow.test:9092", "long.test:9092"))
	p.guard(1)
	for name := range names {
		server.set(name, host)
	}
	p.wait(seedWell(seeds...))
}

// TestCaseC08WrongCluster: a seed's host is rebuilt into another cluster while the exporter runs.
// Done: two seeds; one of them answers for another cluster, with other brokers, for a while
// Shows: that seed with `identity`, `wrong_cluster`, the answers counted as rejected; the brokers stay as they are
func TestCaseC08WrongCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Common)
	a, b := newStand(t, "", c.brokers[0].Serve), newStand(t, "", c.brokers[1].Serve)
	p := start(t, "--kafka.seed="+a.addr+","+b.addr)
	p.wait(seedWell(a.addr, b.addr))
	p.guard(1, 2, 3)
	p.always(is(1, "up"), is(3, "brokers"), is(1, series("cluster_info", "cluster_id", "cluster-a")), absent("broker_info", "broker_id", "7"))
	foreign := wiretest.NewCluster("cluster-z")
	foreign.Set(7, c.stands[0].addr)
	b.serve(wiretest.NewBroker(7, foreign, wiretest.Common).Serve)
	p.wait(seedFailing(b.addr, "identity", "wrong_cluster"), seedWell(a.addr),
		atLeast(3, series("metadata_answers_rejected_total", "reason", "wrong_cluster")))
	b.serve(c.brokers[1].Serve)
	p.wait(seedWell(a.addr, b.addr))
}

// TestCaseC12DeadSeedsFirst: the only seed that lives must not have to wait for the others.
// Done: five seeds that swallow every SYN and a good one
// Shows: the first round within a fraction of the connect timeout, however many are dead, and later no socket to any of them
func TestCaseC12DeadSeedsFirst(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	seeds := c.seeds(1)
	var dead []string
	for range 5 {
		addr := nobody()
		wiretest.Blackhole(t, addr)
		dead = append(dead, addr)
		seeds += "," + addr
	}
	p := start(t, seeds, "--connect.timeout=6s", "--seed.check-interval=0s")
	p.wait(atLeast(1, "metadata_refreshes_total"))
	m := p.wait(ready(1))
	if mean := m["metadata_refresh_duration_seconds_sum"] / m["metadata_refresh_duration_seconds_count"]; mean > 3 {
		t.Errorf("a round took %v s", mean)
	} else {
		t.Logf("a round took %v s", mean)
	}
	open := func() (n int) {
		for _, s := range p.sockets() {
			for _, addr := range dead {
				if s.Remote.String() == addr {
					n++
				}
			}
		}
		return n
	}
	if !poll(patience, func() bool { return open() == 0 }) {
		t.Errorf("%d sockets to the dead seeds are left", open())
	}
	p.hold(time.Second, ready(1), is(1, "up"), is(0, "metadata_refresh_consecutive_failures"))
}

// TestCaseC13OneDeadBroker: a broker that has just failed is not asked again while others have not been.
// Done: one of three brokers stops answering in the middle of the run
// Shows: every round succeeds on the others; the dead one is dialed by its own backoff only, with its failures counted
func TestCaseC13OneDeadBroker(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Common)
	p := start(t, c.seeds(1), "--check.timeout=1s", "--connect.timeout=1s", "--backoff.base=200ms")
	p.wait(ready(1, 2, 3))
	p.guard(1, 3)
	p.always(is(1, "up"), sums(0, "metadata_refresh_failures_total"))
	c.stands[1].freeze()
	m := p.wait(failing(2, "api_versions", "timeout"))
	before, began := c.stands[1].dials(), time.Now()
	m = p.wait(atLeast(m["metadata_refreshes_total"]+10, "metadata_refreshes_total"), failing(2, "api_versions", "timeout"))
	if n, most := c.stands[1].dials()-before, 2+int(time.Since(began)/(600*time.Millisecond)); n > most { // half a second each, and a pause
		t.Errorf("%d dials of the dead broker in 10 rounds, want at most %d", n, most)
	}
	if m[ofBroker(2, "consecutive_failures")] < 2 {
		t.Errorf("its failures are not counted:\n%s", m)
	}
	c.stands[1].thaw()
	p.wait(ready(1, 2, 3))
}

// TestCaseC14AllBrokersReplaced: a fleet is rotated, and the seed's name leads to the new one.
// Done: the only broker dies; the name leads to another one with another id, host and port
// Shows: the new broker, without a restart; the old one stays, unreachable and not in the metadata; `rebootstraps_total`
func TestCaseC14AllBrokersReplaced(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	server := newNameServer(t)
	server.set("bootstrap.test", hostOf(c.stands[0].addr))
	p := startEnv(t, server.env(), "--kafka.seed=bootstrap.test:9092")
	p.wait(ready(1), is(1, "up"))
	before := server.lookups("bootstrap.test")

	c.stands[0].kill(false)
	c.Remove(1)
	c.add(t, 11, fmt.Sprintf("127.0.0.1:%d", port(t)), wiretest.Common)
	entrance := newStand(t, "", c.brokers[1].Serve)
	server.set("bootstrap.test", hostOf(entrance.addr))
	p.wait(ready(11), is(1, "up"), is(1, "brokers"), atLeast(1, "rebootstraps_total"), seedWell("bootstrap.test:9092"),
		failing(1, "dial", "refused"), is(0, ofBroker(1, "in_metadata")))
	if server.lookups("bootstrap.test") == before {
		t.Error("the seed's name was not looked up again")
	}
}

// TestCaseC49SeedsAreBrokers: what is known by two names is still one connection.
// Done: three seeds that are the three brokers, one of them by an alias
// Shows: one established socket per broker, in the process as in `broker_open_connections`, and none to seeds
func TestCaseC49SeedsAreBrokers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Common)
	server := newNameServer(t)
	server.set("alias.test", hostOf(c.stands[2].addr))
	p := startEnv(t, server.env(), c.seeds(1, 2)+",alias.test:9092", "--seed.check-interval=0s", calm)
	p.wait(ready(1, 2, 3))
	p.guard(1, 2, 3)
	atRest := func() bool {
		ours := p.connections(c.stands[0].addr, c.stands[1].addr, c.stands[2].addr)
		theirs := []int{c.stands[0].connections(), c.stands[1].connections(), c.stands[2].connections()}
		return slices.Equal(ours, []int{1, 1, 1}) && slices.Equal(theirs, ours)
	}
	if !poll(patience, atRest) {
		t.Errorf("sockets: %v", p.sockets())
	}
	poll(time.Second, func() bool {
		if !atRest() {
			t.Errorf("later: %v", p.sockets())
		}
		return t.Failed()
	})
	p.hold(200*time.Millisecond, sums(3, "broker_open_connections"))
}
