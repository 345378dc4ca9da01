package manager

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

func TestAllReady(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.start()
		w.wantReady(1, 2, 3)
		s := w.m.Snapshot()
		if s.ClusterID != "cluster-a" || s.BrokersInMetadata != 3 || s.Refresh.Last != VerdictGood || s.Refresh.Rounds != 1 {
			t.Errorf("snapshot: %+v", s)
		}
		if b := w.broker(2); b.References != 1 || b.Rack != "r2" || !b.InMetadata || b.Reports != 3 || b.Agrees != VerdictGood {
			t.Errorf("broker 2: %+v", b)
		}
		if seed := w.seed("b1:9092"); seed.Reachable != VerdictGood || seed.OpenConnections != 0 || seed.State != StateIdle {
			t.Errorf("the seed must be good and disconnected: %+v", seed)
		}
		w.after(time.Hour)
		w.wantReady(1, 2, 3)
		if n := w.net.Dials(address(2)); n != 1 {
			t.Errorf("broker 2 was dialed %d times in an hour at rest", n)
		}
		// One dial as broker, one for the first round, one a minute for the seed check.
		if n := w.net.Dials(address(1)); n < 60 || n > 66 {
			t.Errorf("the seed's address was dialed %d times in an hour", n)
		}
		if failures := w.m.Snapshot().Refresh.Failures; failures != [wire.NumReasons]uint64{} {
			t.Errorf("failed rounds: %v", failures)
		}
	})
}

// TestCaseC12HedgedRound: k dead targets before the good one cost about log2 k delays.
// Done: up to 16 seeds that swallow every SYN, or accept and are silent, before the good one
// Shows: the first answer after a time that grows with the logarithm of their number; `metadata_hedge_wins_total`
func TestCaseC12HedgedRound(t *testing.T) {
	kinds := map[string]func(w *world, addr string){
		"blackhole": func(w *world, addr string) { w.net.Blackhole(addr) },
		"tarpit":    func(w *world, addr string) { w.net.Listen(addr, wiretest.Tarpit) },
	}
	for kind, spoil := range kinds {
		for dead, want := range map[int]time.Duration{0: 0, 1: 250, 2: 500, 4: 750, 8: 1000, 16: 1250} {
			t.Run(fmt.Sprintf("%s/%d", kind, dead), func(t *testing.T) {
				inWorld(t, 3, func(w *world) {
					var entries []string
					for i := range dead {
						entries = append(entries, fmt.Sprintf("10.9.0.%d:9092", i+1))
						spoil(w, entries[i])
					}
					w.cfg.Seeds = w.seeds(append(entries, "b1:9092")...)
					w.start()
					if want > 0 {
						w.after(want*time.Millisecond - time.Nanosecond)
						if w.m.Snapshot().Refresh.Rounds != 0 {
							t.Fatal("the round ended early")
						}
						w.after(time.Nanosecond)
					}
					r := w.m.Snapshot().Refresh
					if r.Rounds != 1 || r.Last != VerdictGood {
						t.Fatalf("after %v: %+v", want, r)
					}
					if want > 0 && (r.HedgeWins != 1 || r.HedgedAttempts < uint64(dead)) {
						t.Errorf("hedges: %+v", r)
					}
					w.wantReady(1, 2, 3)
				})
			})
		}
	}
}

// TestSeedComesBackWhileAnotherHangs: the one that hangs must not hold up the round for the others, nor make them be dialed
// without backoff.
func TestSeedComesBackWhileAnotherHangs(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.net.Blackhole("10.9.0.1:9092")
		w.net.Refuse(address(1))
		w.cfg.Seeds = w.seeds("b1:9092", "10.9.0.1:9092")
		w.start()
		w.after(1500 * time.Millisecond)
		w.net.Listen(address(1), w.brokers[1].Serve)
		w.after(time.Second)
		w.wantReady(1, 2)
		if r := w.m.Snapshot().Refresh; r.Rounds != 1 || r.Last != VerdictGood {
			t.Errorf("refresh: %+v", r)
		}
	})
	inWorld(t, 1, func(w *world) {
		w.net.Blackhole("10.9.0.1:9092")
		w.net.Refuse(address(1))
		w.cfg.Seeds = w.seeds("b1:9092", "10.9.0.1:9092")
		w.start()
		w.after(time.Minute)
		if n := w.net.Dials(address(1)); n > 10 || n < 7 {
			t.Errorf("%d dials in the first minute", n)
		}
	})
}

// TestSlowFailuresDoNotHoldUpTheHedge: targets that fail just before the delay would pass, one after the other, must not cost
// the sum of their times.
func TestSlowFailuresDoNotHoldUpTheHedge(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		var entries []string
		for i := range 16 {
			entries = append(entries, fmt.Sprintf("10.9.0.%d:9092", i+1))
			w.net.Listen(entries[i], func(net.Conn) { time.Sleep(200 * time.Millisecond) })
		}
		w.cfg.Seeds = w.seeds(append(entries, "b1:9092")...)
		w.start()
		w.after(1250 * time.Millisecond)
		w.wantReady(1)
	})
}

func TestFailureAsksTheNextAtOnce(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.cfg.Seeds = w.seeds("10.9.0.1:1", "nowhere:9092", "b1:9092")
		w.start()
		w.wantReady(1)
		w.wantSeedFailing("10.9.0.1:1", "dial refused")
		w.wantSeedFailing("nowhere:9092", "resolve dns_not_found")
	})
}

// TestLoserIsNoFailure: a seed that is slower than the winner keeps its connection and its good name.
func TestLoserIsNoFailure(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		slow := wiretest.NewBroker(1, w.cluster, wiretest.Common)
		slow.On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			time.Sleep(time.Second)
			return slow.Well(r)
		})
		w.net.Listen("10.9.0.1:9092", slow.Serve)
		w.cfg.Seeds = w.seeds("10.9.0.1:9092", "b1:9092")
		w.start()
		w.after(300 * time.Millisecond)
		w.wantReady(1)
		if s := w.seed("10.9.0.1:9092"); s.Reachable != VerdictUnknown || s.References != 1 {
			t.Errorf("the loser's verdict while it works: %+v", s)
		}
		w.after(time.Second)
		if s := w.seed("10.9.0.1:9092"); s.Reachable != VerdictGood || s.PhaseFailures != [wire.NumPhases]uint64{} || s.OpenConnections != 0 {
			t.Errorf("the loser: %+v", s)
		}
	})
}

// TestCaseC01StartsWithEverythingDown: nothing answers at the start.
// Done: the only seed refuses for a minute
// Shows: `dial` `refused`, told once; no more than 10 attempts; all brokers within one backoff once it answers
func TestCaseC01StartsWithEverythingDown(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.net.Refuse(address(1))
		w.start()
		w.wantSeedFailing("b1:9092", "dial refused")
		if r := w.m.Snapshot().Refresh; r.Last != VerdictBad || r.ConsecutiveFailures != 1 || r.Backoff != 250*time.Millisecond {
			t.Errorf("after the first round: %+v", r)
		}
		w.after(time.Minute)
		if n := w.net.Dials(address(1)); n > 10 {
			t.Errorf("%d dials in the first minute", n)
		}
		w.net.Listen(address(1), w.brokers[1].Serve)
		w.after(30 * time.Second)
		w.wantReady(1, 2)
		if n := w.events.count(EventUnreachable, "seed b1:9092"); n != 1 {
			t.Errorf("%d events for one change of state", n)
		}
	})
}

// TestCaseC26AcceptAndClose: a load balancer without backends must not cause a loop.
// Done: a broker accepts and closes for a minute
// Shows: `api_versions` `closed` and no more than 10 attempts
func TestCaseC26AcceptAndClose(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.net.Listen(address(2), wiretest.Hangup)
		w.start()
		w.wantBrokerFailing(2, "api_versions closed")
		w.after(time.Minute)
		if n := w.net.Dials(address(2)); n > 10 || n < 5 {
			t.Errorf("%d dials in the first minute", n)
		}
	})
}

// TestCaseC15EmptyAndForeignAnswers: answers that are not believed change nothing.
// Done: one broker answers with no brokers, a seed for another cluster
// Shows: `request` `empty_metadata` and `identity` `wrong_cluster`; the list of brokers, the connections and `up` stay
func TestCaseC15EmptyAndForeignAnswers(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cfg.Seeds = w.seeds("b1:9092", "b2:9092", "10.9.0.9:9092")
		foreign := wiretest.NewCluster("cluster-z")
		foreign.Set(7, "b1:9092")
		w.net.Listen("10.9.0.9:9092", wiretest.NewBroker(7, foreign, wiretest.Common).Serve)
		w.start()
		w.after(3 * time.Second) // the first seed checks
		w.wantSeedFailing("10.9.0.9:9092", "identity wrong_cluster")
		w.brokers[2].On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			return r.Request.ResponseKind(), nil
		})
		w.after(2 * time.Minute)
		w.wantBrokerFailing(2, "request empty_metadata")
		s := w.m.Snapshot()
		if len(s.Brokers) != 3 || s.BrokersInMetadata != 3 || s.ClusterID != "cluster-a" || s.Refresh.Last != VerdictGood {
			t.Errorf("snapshot: %+v", s)
		}
		if r := s.Refresh.AnswersRejected; r[wire.ReasonEmptyMetadata] == 0 || r[wire.ReasonWrongCluster] == 0 {
			t.Errorf("rejected answers: %v", r)
		}
		if n := w.net.Dials(address(2)); n > 5 {
			t.Errorf("an empty answer is no reason to connect anew: %d dials", n)
		}
	})
}

// TestCaseC14SeedsServeAfterReplacement: every broker is replaced at once, with new ids and addresses.
// Done: all brokers are replaced by one with another id and address, to which the name of the seed leads
// Shows: the new broker within 30 s; the old ones stay, not in the metadata; `rebootstraps_total`
func TestCaseC14SeedsServeAfterReplacement(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.net.Name("bootstrap", "10.0.0.1")
		w.cfg.Seeds = w.seeds("bootstrap:9092")
		w.start()
		w.wantReady(1, 2)
		for id := int32(1); id <= 2; id++ {
			w.net.Refuse(address(id))
			w.net.Cut(address(id))
			w.cluster.Remove(id)
		}
		w.addBroker(11, wiretest.Common)
		w.net.Name("bootstrap", "10.0.0.11")
		w.after(30 * time.Second)
		w.wantReady(11)
		if r := w.m.Snapshot().Refresh; r.Rebootstraps == 0 {
			t.Errorf("no rebootstrap was counted: %+v", r)
		}
		if b := w.broker(1); b.InMetadata || b.Reachable != VerdictBad {
			t.Errorf("the old broker stays visible: %+v", b)
		}
	})
}

func TestBrokersServeWhenSeedsAreDown(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.net.Listen("10.9.0.1:9092", w.brokers[1].Serve)
		w.cfg.Seeds = w.seeds("10.9.0.1:9092")
		w.start()
		w.wantReady(1, 2)
		w.net.Refuse("10.9.0.1:9092")
		w.after(5 * time.Minute)
		w.wantSeedFailing("10.9.0.1:9092", "dial refused")
		r := w.m.Snapshot().Refresh
		if r.Last != VerdictGood || r.Rounds < 9 || r.Rebootstraps != 0 {
			t.Errorf("refresh: %+v", r)
		}
	})
}

func TestGivesUp(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.net.Refuse(address(1))
		w.cfg.GiveUpAfter = 20 * time.Second
		w.start()
		w.after(20 * time.Second)
		err := <-w.done
		var gaveUp *GaveUpError
		if !errors.As(err, &gaveUp) || gaveUp.After != 20*time.Second || gaveUp.Snapshot.Seeds[0].Failure == nil {
			t.Errorf("Run returned %v", err)
		}
		w.cancel()
		w.cancel = nil
	})
}
