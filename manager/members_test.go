package manager

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// TestCaseC06LeavesAndReturns: it stays, marked, with its checks; after the retention all of it goes.
// Done: a broker leaves the metadata and returns; it leaves again for longer than the retention
// Shows: `broker_in_metadata` 0 with its checks going on; then nothing of it any more
func TestCaseC06LeavesAndReturns(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cfg.Retention = time.Hour
		w.start()
		w.cluster.Remove(3)
		w.after(40 * time.Second)
		if b := w.broker(3); b.InMetadata || b.Reachable != VerdictGood || w.m.Snapshot().BrokersInMetadata != 2 {
			t.Errorf("broker 3 after it left: %+v", b)
		}
		w.cluster.Set(3, "b3:9092")
		w.after(40 * time.Second)
		if b := w.broker(3); !b.InMetadata || w.events.count(EventBrokerReturned, "broker 3") != 1 {
			t.Errorf("broker 3 after it returned: %+v", b)
		}
		w.cluster.Remove(3)
		w.after(time.Hour - time.Minute)
		w.wantReady(3)
		w.after(2 * time.Minute)
		if n := len(w.m.Snapshot().Brokers); n != 2 || w.net.Open(address(3)) != 0 {
			t.Errorf("after the retention: %d brokers, %d sockets", n, w.net.Open(address(3)))
		}
	})
}

// TestCaseC23Unregistered: a broker that the cluster has let go is not missed.
// Done: a broker is fenced and reachable, then no longer registered
// Shows: `broker_fenced` 1 with `broker_reachable` 1; forgotten after two rounds
func TestCaseC23Unregistered(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		for id := int32(1); id <= 3; id++ {
			w.addBroker(id, wiretest.Modern)
		}
		w.start()
		w.wantReady(1, 2, 3)
		if b := w.broker(3); b.Identity != wire.IdentityVerified || b.Fenced != VerdictGood {
			t.Errorf("broker 3: %+v", b)
		}
		w.cluster.SetMember(3, wiretest.Member{Host: "b3", Port: 9092, Fenced: true})
		w.after(35 * time.Second)
		if b := w.broker(3); b.InMetadata || b.Fenced != VerdictBad || b.Reachable != VerdictGood {
			t.Errorf("fenced and reachable: %+v", b)
		}
		w.cluster.Remove(3)
		w.after(35 * time.Second)
		if n := len(w.m.Snapshot().Brokers); n != 2 {
			t.Errorf("%d brokers are known after one was unregistered", n)
		}
	})
}

// TestCaseC23FencedForGood: a broker that stays registered and fenced goes after the retention like any other, and stays away until
// it serves again.
// Done: a broker is fenced from the start for longer than the retention, and then serves
// Shows: `broker_fenced` 1, then nothing of it, then ready
func TestCaseC23FencedForGood(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		for id := int32(1); id <= 2; id++ {
			w.addBroker(id, wiretest.Modern)
		}
		w.cfg.Retention = time.Hour
		w.cluster.SetMember(2, wiretest.Member{Host: "b2", Port: 9092, Fenced: true})
		w.start()
		if b := w.broker(2); b.InMetadata || b.Fenced != VerdictBad {
			t.Errorf("fenced from the start: %+v", b)
		}
		w.after(time.Hour + time.Minute)
		w.after(5 * time.Minute)
		if n := len(w.m.Snapshot().Brokers); n != 1 {
			t.Errorf("after the retention: %d brokers", n)
		}
		w.cluster.Set(2, "b2:9092")
		w.after(35 * time.Second)
		w.wantReady(1, 2)
	})
}

// TestCaseC18KeyedByID: three ids behind one address are three targets; an id that moves is dialed anew.
// Done: three ids have the address of another broker; a broker gets another address
// Shows: `identity` `misrouted` for those; for this one a new connection, the old one closed as `replaced`
func TestCaseC18KeyedByID(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		for id := int32(21); id <= 23; id++ {
			w.cluster.Set(id, "b1:9092")
		}
		w.start()
		// An answer to "are you 21?" is no: the one behind the address is 1. Without permission to ask it would be yes.
		w.wantBrokerFailing(21, "identity misrouted")
		w.brokers[1].On(kmsg.DescribeConfigs, func(r wiretest.Request) (kmsg.Response, error) {
			return nil, errors.New("the mute script")
		})
		w.cluster.Set(2, "moved:9093")
		w.net.Name("moved", "10.7.0.2")
		w.net.Listen("10.7.0.2:9093", w.brokers[2].Serve)
		w.after(40 * time.Second)
		if b := w.broker(2); b.Host != "moved" || b.State != StateReady || b.Closes[CauseReplaced] != 1 || w.net.Open(address(2)) != 0 {
			t.Errorf("broker 2 after its move: %+v", b.Target)
		}
	})
}

// TestCaseC41AddressThatMustNotBeDialed: a bind address in the metadata is not dialed.
// Done: brokers advertise 0.0.0.0, ::, an empty host, port -1, port 0
// Shows: `resolve` `invalid_address` and no attempt
func TestCaseC41AddressThatMustNotBeDialed(t *testing.T) {
	for _, member := range []wiretest.Member{{Host: "0.0.0.0", Port: 9092}, {Host: "::", Port: 9092}, {Host: "", Port: 9092}, {Host: "b1", Port: -1}, {Host: "b1", Port: 0}} {
		inWorld(t, 1, func(w *world) {
			w.cluster.SetMember(5, member)
			w.start()
			w.after(5 * time.Minute)
			w.wantBrokerFailing(5, "resolve invalid_address")
			if b := w.broker(5); b.Attempts != 0 {
				t.Errorf("%+v was dialed %d times", member, b.Attempts)
			}
		})
	}
}

// TestLoopback: it is reported once, and only where no seed is one.
func TestLoopback(t *testing.T) {
	for seeds, want := range map[string]int{"b1:9092": 1, "b1:9092,127.0.0.1:9092": 0} {
		inWorld(t, 1, func(w *world) {
			w.cfg.Seeds = w.seeds(seeds)
			w.cluster.SetMember(5, wiretest.Member{Host: "localhost", Port: 9092})
			w.start()
			w.after(5 * time.Minute)
			if n := w.events.count(EventLoopback, "broker 5"); n != want {
				t.Errorf("seeds %s: reported %d times, want %d", seeds, n, want)
			}
		})
	}
}

// TestNameThatMoved: the name's addresses no longer hold the one that we are connected to.
func TestNameThatMoved(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		w.net.Name("b2", "10.7.0.2")
		w.net.Listen("10.7.0.2:9092", w.brokers[2].Serve)
		w.after(time.Minute)
		if w.net.Open(address(2)) != 0 || w.net.Open("10.7.0.2:9092") != 1 || w.broker(2).Closes[CauseReplaced] != 1 {
			t.Errorf("the connection still leads to the old address: %+v", w.broker(2).Target)
		}
		w.net.Name("b2")
		w.after(time.Minute)
		if w.net.Open("10.7.0.2:9092") != 1 {
			t.Error("a name server that fails must not cost a healthy connection")
		}
	})
}

// TestCaseC05FreshHandshakes: an old connection cannot hide a broker that accepts no new ones.
// Done: new connections are refused while the old one is served
// Shows: `broker_accepts_connections` 0 with `dial` `refused` within one handshake interval; `broker_reachable` 1
func TestCaseC05FreshHandshakes(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.cfg.HandshakeInterval = time.Minute
		w.start()
		w.after(10 * time.Minute)
		if n := w.net.Dials(address(2)); n < 10 || n > 13 {
			t.Errorf("%d dials in ten minutes", n)
		}
		if b := w.broker(2); b.Connects.Count != b.Attempts || int(b.Attempts) != w.net.Dials(address(2)) {
			t.Errorf("%d durations of %d attempts", b.Connects.Count, b.Attempts) // a slow connect must show while nothing is lost
		}
		w.wantReady(1, 2)
		w.net.Refuse(address(2))
		w.after(time.Minute)
		b := w.broker(2)
		wantFailing(t, "handshakes", b.Accepts, b.AcceptFail, "dial refused")
		if b.Reachable != VerdictGood || b.State != StateReady {
			t.Errorf("the shared connection: %+v", b.Target)
		}
		w.net.Listen(address(2), w.brokers[2].Serve)
		w.after(time.Minute)
		if b := w.broker(2); b.Accepts != VerdictGood {
			t.Errorf("after it accepts again: %+v", b)
		}
		w.net.Refuse(address(2))
		w.after(time.Minute)
		w.net.Listen(address(2), w.brokers[2].Serve)
		w.net.Cut(address(2)) // the new shared connection is a fresh one, too
		w.after(time.Second)
		if refuses, accepts := w.events.count(EventRefuses, "broker 2"), w.events.count(EventAccepts, "broker 2"); refuses != 2 || accepts != 2 {
			t.Errorf("told %d times that it refuses, %d times that it accepts again", refuses, accepts)
		}
	})
}

func TestViewsThatDisagree(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		lagging := wiretest.NewCluster("cluster-a")
		lagging.Set(3, "b3:9092")
		w.start()
		w.net.Listen(address(3), wiretest.NewBroker(3, lagging, wiretest.Common).Serve)
		w.net.Cut(address(3))
		w.after(15 * time.Second)
		if w.broker(3).Agrees != VerdictBad || w.broker(3).Reports != 1 || w.broker(1).Agrees != VerdictGood {
			t.Errorf("views: %+v", w.m.Snapshot().Brokers)
		}
		w.after(10 * time.Minute)
		if n := len(w.m.Snapshot().Brokers); n != 3 {
			t.Errorf("%d brokers", n)
		}
	})
}

// TestOldBrokersNameNobodyFenced: while a cluster is upgraded, some of its brokers cannot name fenced brokers. What they leave out
// is not gone, and what others have told is not forgotten.
func TestOldBrokersNameNobodyFenced(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		for id, versions := range []wiretest.Versions{wiretest.Modern, wiretest.Common, wiretest.Modern, wiretest.Common} {
			w.addBroker(int32(id+1), versions)
		}
		w.cluster.SetMember(4, wiretest.Member{Host: "b4", Port: 9092, Fenced: true})
		w.cfg.Retention, w.cfg.RefreshInterval = 3*time.Minute, 5*time.Second
		w.start()
		for range 200 {
			w.after(3 * time.Second)
			for _, b := range w.m.Snapshot().Brokers {
				if want := map[bool]Verdict{true: VerdictBad, false: VerdictGood}[b.ID == 4]; b.Fenced != want {
					t.Fatalf("broker %d: fenced %v, want %v", b.ID, b.Fenced, want)
				}
			}
		}
		if added, n := w.events.count(EventBrokerAdded, "broker 4"), len(w.m.Snapshot().Brokers); added != 1 || n != 3 {
			t.Errorf("broker 4 was new %d times, %d brokers after its retention", added, n)
		}
		w.cluster.Set(4, "b4:9092")
		w.after(10 * time.Second)
		w.wantReady(1, 2, 3, 4)
		if b := w.broker(4); b.Fenced == VerdictBad {
			t.Error("broker 4 serves and is fenced")
		}
	})
}

// TestCaseC15AllFenced: whom Metadata names is not fenced, whatever DescribeCluster says of it.
// Done: one of three brokers says for a minute by DescribeCluster that all brokers are fenced
// Shows: `brokers`, `broker_fenced` and all verdicts unchanged
func TestCaseC15AllFenced(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		for id := int32(1); id <= 3; id++ {
			w.addBroker(id, wiretest.Modern)
		}
		w.cfg.RefreshInterval = 5 * time.Second
		w.start()
		w.brokers[2].On(kmsg.DescribeCluster, func(r wiretest.Request) (kmsg.Response, error) {
			resp := r.ResponseKind().(*kmsg.DescribeClusterResponse)
			resp.ClusterID = "cluster-a"
			for id := int32(1); id <= 3; id++ {
				b := kmsg.NewDescribeClusterResponseBroker()
				b.NodeID, b.Host, b.Port, b.IsFenced = id, "b"+strconv.Itoa(int(id)), 9092, true
				resp.Brokers = append(resp.Brokers, b)
			}
			return resp, nil
		})
		for range 20 {
			w.after(3 * time.Second)
			if s := w.m.Snapshot(); s.BrokersInMetadata != 3 || s.Refresh.Last != VerdictGood {
				t.Fatalf("%d brokers, last round %v", s.BrokersInMetadata, s.Refresh.Last)
			}
		}
		for id := int32(1); id <= 3; id++ {
			if b := w.broker(id); b.Fenced != VerdictGood {
				t.Errorf("broker %d: fenced %v", id, b.Fenced)
			}
		}
		w.wantReady(1, 2, 3)
	})
}
