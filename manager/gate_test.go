package manager

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

// TestCaseC25OneBrokerRejects: what one broker says about credentials that the others accept is about that broker.
// Done: one of five brokers, a seed as well, begins to reject the password, for half an hour, while sessions last a minute
// Shows: that broker and the seed at its address with `sasl` `credentials_rejected`, one attempt per interval; the others untouched
func TestCaseC25OneBrokerRejects(t *testing.T) {
	inWorld(t, 5, func(w *world) {
		w.withSASL(wiretest.NewAccounts("right", 0, time.Minute), "right")
		odd := wiretest.NewAccounts("right", 0, time.Minute)
		w.brokers[3].Require(odd)
		w.cfg.Seeds = w.seeds("b1:9092,b3:9092")
		w.cfg.HandshakeInterval = time.Minute
		w.start()
		w.after(5 * time.Minute)
		w.wantReady(1, 2, 3, 4, 5)
		odd.SetPassword("changed")
		before, dials := len(odd.Attempts()), w.net.Dials(address(3))
		w.after(3 * time.Minute)
		w.wantSeedFailing("b3:9092", "sasl credentials_rejected") // whichever of the two was told first
		w.after(27 * time.Minute)
		if n := w.net.Dials(address(3)) - dials; n > 15 {
			t.Errorf("%d dials to be held back again", n)
		}
		w.wantReady(1, 2, 4, 5)
		w.wantBrokerFailing(3, "sasl credentials_rejected")
		w.wantSeedFailing("b3:9092", "sasl credentials_rejected")
		for _, id := range []int32{1, 2, 4, 5} {
			if b := w.broker(id); b.Accepts != VerdictGood || b.Closes != [NumCauses]uint64{} {
				t.Errorf("broker %d: accepts %v, closes %v", id, b.Accepts, b.Closes)
			}
		}
		if n := len(odd.Attempts()) - before; n < 5 || n > 7 || mostPerWindow(odd.Attempts()[before:], 5*time.Minute) > 1 {
			t.Errorf("%d attempts at the one that rejects, up to %d per interval", n, mostPerWindow(odd.Attempts()[before:], 5*time.Minute))
		}
		odd.SetPassword("right")
		w.after(6 * time.Minute)
		w.wantReady(1, 2, 3, 4, 5)
	})
}

// TestHeldBackSessionsLast: who may not renew for others' rejections keeps its connection for as long as the session lasts.
func TestHeldBackSessionsLast(t *testing.T) {
	inWorld(t, 5, func(w *world) {
		accounts := wiretest.NewAccounts("right", 0, time.Minute)
		w.withSASL(accounts, "right")
		w.start()
		accounts.SetPassword("changed")
		w.after(57 * time.Second) // renewals are due at 54
		good := 0
		for _, b := range w.m.Snapshot().Brokers {
			if b.Reachable == VerdictGood {
				good++
			}
		}
		if good != 3 {
			t.Errorf("%d brokers that were not asked are reachable, want 3", good)
		}
	})
}

// TestTwoBrokersReject: the second rejection is about the credentials, until one broker accepts them again.
func TestTwoBrokersReject(t *testing.T) {
	inWorld(t, 5, func(w *world) {
		good, odd := wiretest.NewAccounts("right", 0, 0), wiretest.NewAccounts("right", 0, 0)
		w.withSASL(good, "right")
		w.brokers[3].Require(odd)
		w.brokers[4].Require(odd)
		w.start()
		w.wantReady(1, 2, 3, 4, 5)
		odd.SetPassword("changed")
		goodBefore, oddBefore := len(good.Attempts()), len(odd.Attempts())
		for _, id := range []int32{3, 4} {
			w.net.Cut(address(id))
		}
		w.after(time.Minute)
		w.net.Cut(address(5))
		w.after(3 * time.Minute)
		w.wantBrokerFailing(5, "sasl credentials_rejected")
		w.wantReady(1, 2)
		if n := len(odd.Attempts()) - oddBefore; n != 2 || len(good.Attempts()) != goodBefore {
			t.Errorf("%d rejections, and %d attempts at others", n, len(good.Attempts())-goodBefore)
		}
		w.after(30 * time.Minute)
		w.wantReady(1, 2, 5)
	})
}

// TestOwnFaultsAreNoDoubt: a token that cannot be had, and credentials that are rejected, say nothing about the address.
func TestOwnFaultsAreNoDoubt(t *testing.T) {
	for name, spoil := range map[string]func(*credentials){
		"no token":       func(c *credentials) { c.broken.Store(true) },
		"wrong password": func(c *credentials) { c.set("wrong") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				spoil(w.withSASL(wiretest.NewAccounts("right", 0, 0), "right"))
				w.start()
				w.after(10 * time.Second)
				seed := w.m.index.Load().seeds[0]
				if s := w.seed("b1:9092"); s.Reachable != VerdictBad || len(seed.peer.Doubtful) > 0 {
					t.Errorf("verdict %d, doubtful %v", s.Reachable, seed.peer.Doubtful)
				}
			})
		})
	}
}

// TestRenewalsGoFirst: brokers that hang in the exchange cost nobody a session that has been accepted before.
func TestRenewalsGoFirst(t *testing.T) {
	inWorld(t, 30, func(w *world) {
		w.withSASL(wiretest.NewAccounts("right", 0, 20*time.Second), "right")
		for id := int32(4); id <= 30; id++ {
			w.brokers[id].On(kmsg.SASLAuthenticate, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence })
		}
		w.start()
		w.after(5 * time.Minute)
		before := w.m.Snapshot()
		w.after(10 * time.Minute)
		for i, b := range w.m.Snapshot().Brokers[:3] {
			if b.Reachable != VerdictGood || b.Closes != before.Brokers[i].Closes {
				t.Errorf("broker %d: verdict %d, closes %v, before %v", b.ID, b.Reachable, b.Closes, before.Brokers[i].Closes)
			}
		}
	})
}
