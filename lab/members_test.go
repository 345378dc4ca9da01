package lab

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

// unverifiable is a broker that cannot be asked who it is.
var unverifiable = wiretest.Versions{3: {0, 12}, 17: {0, 1}, 18: {0, 4}, 36: {0, 2}}

// TestCaseC06BrokerLeaves: a dead broker leaves the metadata, and its alert must not resolve by that.
// Done: one of three brokers dies and leaves the metadata; the retention passes; it returns
// Shows: `brokers` 2 at once; its own series stay, with `broker_reachable` 0 and `broker_in_metadata` 0, until all go in one scrape
func TestCaseC06BrokerLeaves(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Common)
	p := start(t, c.seeds(1, 2), "--broker.retention=6s")
	m := p.wait(ready(1, 2, 3), is(3, "brokers"))
	p.guard(1, 2)
	full := len(m.find("broker_connection_state_changes_total", "broker_id", "3")) + len(m.find("broker_request_failures_total", "broker_id", "3"))
	p.always(func(m metrics) error {
		n := len(m.find("broker_connection_state_changes_total", "broker_id", "3")) + len(m.find("broker_request_failures_total", "broker_id", "3"))
		if gone := len(m.find("broker_info", "broker_id", "3")) == 0; gone && n != 0 || !gone && n != full {
			return fmt.Errorf("%d of %d series of broker 3, gone: %t", n, full, gone)
		}
		return nil
	})
	c.stands[2].kill(true)
	c.Remove(3)
	left := all(failing(3, "dial", "refused"), is(0, ofBroker(3, "in_metadata")), is(2, "brokers"))
	p.wait(left)
	p.hold(time.Second, left)
	p.wait(absent("broker_info", "broker_id", "3"), absent("broker_reachable", "broker_id", "3"), is(1, "up"))
	c.stands[2].open()
	c.Set(3, c.stands[2].addr)
	p.wait(ready(1, 2, 3), is(3, "brokers"), is(1, ofBroker(3, "in_metadata")))
}

// TestCaseC07Misrouted: the address leads to another broker of the same cluster, which answers everything well.
// Done: the metadata gives broker 1 the address of broker 2, on Kafka 4.4, on one before, and on one that cannot be asked
// Shows: broker 1 with `identity` `misrouted` and `broker_identity{status="wrong"}`, never reachable; where it cannot be asked, `unverified`
func TestCaseC07Misrouted(t *testing.T) {
	t.Parallel()
	for name, versions := range map[string]wiretest.Versions{"Kafka 4.4": wiretest.Modern, "Kafka 3.9": wiretest.Common} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 2, versions)
			p := start(t, c.seeds(2))
			p.wait(ready(1, 2), is(1, ofBroker(1, "identity", "status", "verified")))
			p.guard(2)
			c.Set(1, c.stands[1].addr)
			p.wait(failing(1, "identity", "misrouted"), is(1, ofBroker(1, "identity", "status", "wrong")))
			p.hold(time.Second, failing(1, "identity", "misrouted"))
			c.Set(1, c.stands[0].addr)
			p.wait(ready(1, 2), is(1, ofBroker(1, "identity", "status", "verified")))
		})
	}
	t.Run("cannot be asked", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, 2, unverifiable)
		p := start(t, c.seeds(2))
		p.wait(ready(1, 2), is(1, ofBroker(1, "identity", "status", "unverified")), is(0, ofBroker(1, "identity", "status", "wrong")))
	})
}

// TestCaseC15EmptyAnswer: a broker that is starting knows of no brokers, without an error.
// Done: one of three brokers answers with an empty list for a while
// Shows: that broker with `request` `empty_metadata`, the answers counted as rejected; all others and `brokers` unchanged, `up` 1
func TestCaseC15EmptyAnswer(t *testing.T) {
	t.Parallel()
	for name, versions := range map[string]wiretest.Versions{"Kafka 4.4": wiretest.Modern, "Kafka 3.9": wiretest.Common} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 3, versions)
			p := start(t, c.seeds(1, 3))
			p.wait(ready(1, 2, 3))
			p.guard(1, 3)
			p.always(is(1, "up"), is(3, "brokers"), is(1, ofBroker(2, "in_metadata")), is(1, ofBroker(2, "connection_attempts_total")))
			c.brokers[1].On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) { return r.ResponseKind(), nil })
			p.wait(failing(2, "request", "empty_metadata"), atLeast(2, series("metadata_answers_rejected_total", "reason", "empty_metadata")))
			p.hold(500*time.Millisecond, failing(2, "request", "empty_metadata"))
			c.brokers[1].On(kmsg.Metadata, nil)
			p.wait(ready(1, 2, 3))
		})
	}
}

// TestCaseC18IdsAndAddresses: ids and addresses are not one to one behind proxies.
// Done: three ids at one host:port that cannot be asked who they are; three ids on one host with three ports
// Shows: every id with a connection and series of its own
func TestCaseC18IdsAndAddresses(t *testing.T) {
	t.Parallel()
	t.Run("one address", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, 1, unverifiable)
		addr := c.stands[0].addr
		c.Set(2, addr)
		c.Set(3, addr)
		p := start(t, c.seeds(1), "--seed.check-interval=0s", calm)
		p.wait(ready(1, 2, 3))
		p.guard(1, 2, 3)
		if !poll(patience, func() bool { return p.connections(addr)[0] == 3 }) {
			t.Errorf("sockets: %v", p.sockets())
		}
		p.hold(500*time.Millisecond, is(3, "brokers"), is(1, ofBroker(3, "info", "address", addr, "rack", "r3")))
		c.stands[0].cut(false)
		p.guards = nil
		p.wait(ready(1, 2, 3), is(2, ofBroker(3, "connection_attempts_total")))
	})
	t.Run("one host", func(t *testing.T) {
		t.Parallel()
		c := &cluster{Cluster: wiretest.NewCluster("cluster-a")}
		for id := 1; id <= 3; id++ {
			c.add(t, id, fmt.Sprintf("127.0.0.1:%d", port(t)), wiretest.Common)
		}
		p := start(t, c.seeds(1))
		p.wait(ready(1, 2, 3))
		p.guard(1, 3)
		c.stands[1].kill(false)
		p.wait(failing(2, "dial", "refused"))
	})
}

// TestCaseC23Fenced: a broker is registered, fenced, and in no metadata.
// Done: a broker is fenced while its port is open, then while it is closed, then it is back
// Shows: `broker_fenced` 1 and `broker_in_metadata` 0, with `broker_reachable` 1 or 0 as it is; it is never forgotten meanwhile
func TestCaseC23Fenced(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Modern)
	p := start(t, c.seeds(1, 2))
	p.wait(ready(1, 2, 3), is(0, ofBroker(3, "fenced")))
	p.guard(1, 2)
	member := wiretest.Member{Host: hostOf(c.stands[2].addr), Port: 9092, Rack: "r3", Fenced: true}
	c.SetMember(3, member)
	fenced := all(is(1, ofBroker(3, "fenced")), is(0, ofBroker(3, "in_metadata")), is(2, "brokers"))
	p.wait(fenced, ready(3))
	p.hold(500*time.Millisecond, fenced, ready(3))
	c.stands[2].kill(false)
	p.wait(fenced, failing(3, "dial", "refused"))
	c.stands[2].open()
	member.Fenced = false
	c.SetMember(3, member)
	p.wait(ready(1, 2, 3), is(0, ofBroker(3, "fenced")), is(1, ofBroker(3, "in_metadata")))
}

// TestCaseC23Zombie: the old process of a broker goes on serving, cut off from its cluster, beside its replacement.
// Done: the metadata gives the id another address; the old one goes on answering
// Shows: one connection to the new address and none to the old one, closed as `replaced`
func TestCaseC23Zombie(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Modern)
	p := start(t, c.seeds(1))
	p.wait(ready(1, 2, 3))
	p.guard(1, 2)
	replacement := newStand(t, "", wiretest.NewBroker(3, c.Cluster, wiretest.Modern).Serve)
	c.Set(3, replacement.addr)
	p.wait(ready(3), is(1, ofBroker(3, "info", "address", replacement.addr, "rack", "r3")), is(1, ofBroker(3, "connection_closes_total", "cause", "replaced")))
	if !poll(patience, func() bool { return slices.Equal(p.connections(c.stands[2].addr, replacement.addr), []int{0, 1}) }) {
		t.Errorf("sockets: %v", p.sockets())
	}
}
