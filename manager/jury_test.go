package manager

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// believes makes a broker a laggard with a belief of its own, which stays as it is.
func (w *world) believes(id int32, members map[int32]string) {
	own := wiretest.NewCluster("cluster-a")
	for member, addr := range members {
		own.Set(member, addr)
	}
	w.net.Listen(address(id), wiretest.NewBroker(id, own, wiretest.Common).Serve)
	w.net.Cut(address(id))
}

// watch scrapes n times and fails if a broker is ever out of the metadata or moves.
func (w *world) watch(n int, every time.Duration, ids ...int32) {
	w.Helper()
	hosts := make(map[int32]string)
	for range n {
		w.after(every)
		for _, id := range ids {
			b := w.broker(id)
			if hosts[id] == "" {
				hosts[id] = b.Host
			}
			if !b.InMetadata || b.Host != hosts[id] {
				w.Fatalf("broker %d: in metadata %v, at %s, was at %s", id, b.InMetadata, b.Host, hosts[id])
			}
		}
	}
}

// TestCaseC22Laggards: one broker's belief changes nothing that the others do not share.
// Done: brokers 1 and 3 name three, broker 2 only two; then broker 2 has another address for the third; then three of seven lag
// Shows: `broker_in_metadata` 1 and one address in 200 scrapes each
func TestCaseC22Laggards(t *testing.T) {
	three := map[int32]string{1: "b1:9092", 2: "b2:9092", 3: "b3:9092"}
	for name, c := range map[string]struct {
		n     int
		views map[int32]map[int32]string
	}{
		"one of three":     {3, map[int32]map[int32]string{2: {1: "b1:9092", 2: "b2:9092"}}},
		"another address":  {3, map[int32]map[int32]string{2: {1: "b1:9092", 2: "b2:9092", 3: "b3:9093"}}},
		"three of seven":   {7, map[int32]map[int32]string{2: three, 3: three, 4: {1: "b1:9092"}}},
		"each of its kind": {3, map[int32]map[int32]string{1: {1: "b1:9092", 2: "b2:9092"}, 2: {2: "b2:9092", 3: "b3:9092"}, 3: {1: "b1:9092", 3: "b3:9092"}}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, c.n, func(w *world) {
				w.shuffle, w.cfg.RefreshInterval = rand.Shuffle, 5*time.Second
				w.start()
				w.after(time.Second)
				for id, members := range c.views {
					w.believes(id, members)
				}
				all := make([]int32, c.n)
				for i := range all {
					all[i] = int32(i + 1)
				}
				w.watch(200, 300*time.Millisecond, all...)
				rounds := w.m.Snapshot().Refresh.Rounds
				w.after(time.Minute)
				if n := w.m.Snapshot().Refresh.Rounds - rounds; n > 30 {
					t.Errorf("%d rounds in a minute: brokers that disagree drive us", n)
				}
			})
		})
	}
}

// TestMajorityDecides: what most brokers say is followed within a round, whoever is asked first.
func TestMajorityDecides(t *testing.T) {
	for first := range int32(3) {
		inWorld(t, 3, func(w *world) {
			w.shuffle = func(n int, swap func(i, j int)) { swap(0, int(first)%n) }
			w.start()
			w.after(time.Second)
			w.believes(3, map[int32]string{1: "b1:9092", 2: "b2:9092", 3: "b3:9092"}) // it alone goes on to name itself
			w.cluster.Remove(3)
			w.after(w.cfg.RefreshInterval * 11 / 10)
			if b := w.broker(3); b.InMetadata || w.m.Snapshot().BrokersInMetadata != 2 {
				t.Errorf("asked %d first, broker 3 is in the metadata: %v", first+1, b.InMetadata)
			}
			w.cluster.Set(3, "b3:9092")
			w.after(w.cfg.RefreshInterval * 11 / 10)
			if b := w.broker(3); !b.InMetadata {
				t.Errorf("asked %d first, broker 3 did not return", first+1)
			}
		})
	}
}

// TestOnlyOneToAsk: it must say twice that another broker is gone, and new ones count at once.
func TestOnlyOneToAsk(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		w.after(time.Second)
		w.net.Refuse(address(2))
		w.net.Cut(address(2))
		w.cluster.Remove(2)
		rounds := w.m.Snapshot().Refresh.Rounds
		for w.broker(2).InMetadata {
			w.after(10 * time.Millisecond)
			if w.m.Snapshot().Refresh.Rounds > rounds+4 {
				t.Fatal("broker 2 is still there")
			}
		}
		if n := w.m.Snapshot().Refresh.Rounds - rounds; n < 2 {
			t.Errorf("gone after %d rounds", n)
		}
		w.addBroker(5, wiretest.Common)
		w.after(w.cfg.RefreshInterval * 11 / 10)
		w.wantReady(5)
	})
}

// TestJuryDoesNotWait for who hangs longer than four hedge delays.
func TestJuryDoesNotWait(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		w.start()
		w.after(time.Second)
		w.brokers[3].On(kmsg.Metadata, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence })
		w.cluster.Remove(4)
		for w.broker(4).InMetadata {
			w.after(10 * time.Millisecond)
		}
		if f := w.m.Snapshot().Refresh; f.Last != VerdictGood || f.ConsecutiveFailures != 0 {
			t.Errorf("%+v", f)
		}
	})
}

// TestCaseC10Duplicates: what is wrong with a list is left out, counted and told once, and the cluster is there.
// Done: every broker names broker 1 twice, equal, and then with another port; then a negative id among them
// Shows: three ready brokers at their first address; the answers counted by kind, one event
func TestCaseC10Duplicates(t *testing.T) {
	for name, c := range map[string]struct {
		extra kmsg.MetadataResponseBroker
		kind  wire.Anomaly
	}{
		"equal":     {kmsg.MetadataResponseBroker{NodeID: 1, Host: "b1", Port: 9092, Rack: kmsg.StringPtr("r1")}, wire.AnomalyDuplicate},
		"differing": {kmsg.MetadataResponseBroker{NodeID: 1, Host: "b1", Port: 9999}, wire.AnomalyDuplicate},
		"negative":  {kmsg.MetadataResponseBroker{NodeID: -1, Host: "b9", Port: 9092}, wire.AnomalyNegativeID},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				for _, b := range w.brokers {
					b.On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
						resp, err := b.Well(r)
						list := resp.(*kmsg.MetadataResponse)
						list.Brokers = append(list.Brokers, c.extra)
						return resp, err
					})
				}
				w.start()
				w.after(5 * time.Minute)
				w.wantReady(1, 2, 3)
				s := w.m.Snapshot()
				if len(s.Brokers) != 3 || s.Brokers[0].Port != 9092 || s.Refresh.AnswersAnomalous[c.kind] < 30 {
					t.Errorf("%d brokers, the first at %d, %v", len(s.Brokers), s.Brokers[0].Port, s.Refresh.AnswersAnomalous)
				}
				told := 0
				for _, target := range []string{"seed b1:9092", "broker 1", "broker 2", "broker 3"} {
					told += w.events.count(EventAnomaly, target)
				}
				if told != 1 {
					t.Errorf("told %d times", told)
				}
			})
		})
	}
}
