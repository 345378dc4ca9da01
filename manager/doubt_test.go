package manager

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// badAddresses are peers that accept TCP and are of no use.
var badAddresses = map[string]func(net.Conn){
	"hangs up": wiretest.Hangup, "is silent": wiretest.Tarpit, "speaks HTTP": wiretest.Says([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")),
}

// TestCaseC19BadAddressThatAccepts: an address where TCP connects and nothing else works is tried last from then on.
// Done: two of the three addresses of a name, which come first, accept and hang up, are silent, or speak HTTP
// Shows: the seed and the broker reachable after an attempt for each bad address, and from then on without another failure
func TestCaseC19BadAddressThatAccepts(t *testing.T) {
	for does, bad := range badAddresses {
		t.Run(does, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.cfg.HandshakeInterval = 10 * time.Second
				w.net.Name("b1", "10.0.1.1", "10.0.1.2", "10.0.0.1")
				w.net.Listen("10.0.1.1:9092", bad)
				w.net.Listen("10.0.1.2:9092", bad)
				w.start()
				w.after(30 * time.Second)
				w.wantReady(1)
				before := w.broker(1)
				if s := w.seed("b1:9092"); s.Reachable != VerdictGood {
					t.Errorf("the seed: %+v", s.Failure)
				}
				w.net.Cut(address(1))
				w.after(10 * time.Minute)
				w.wantReady(1)
				if b := w.broker(1); b.Accepts != VerdictGood || b.PhaseFailures != before.PhaseFailures {
					t.Errorf("accepts %v, failed attempts %v, before %v", b.Accepts, b.PhaseFailures, before.PhaseFailures)
				}
			})
		})
	}
}

// TestDoubtIsForgotten: an address that was bad serves again when the others do not, and one that the name lost is no longer known.
func TestDoubtIsForgotten(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		wantGood := func() {
			t.Helper()
			if b := w.broker(1); b.Reachable != VerdictGood || b.OpenConnections != 1 {
				t.Errorf("%d connections, failing with %+v", b.OpenConnections, b.Failure)
			}
		}
		w.net.Name("b1", "10.0.1.1", "10.0.0.1")
		w.net.Listen("10.0.1.1:9092", wiretest.Hangup)
		w.start()
		w.after(10 * time.Second)
		w.wantReady(1)
		w.net.Listen("10.0.1.1:9092", w.brokers[1].Serve)
		w.net.Listen(address(1), wiretest.Hangup)
		w.net.Cut(address(1))
		w.after(10 * time.Second)
		wantGood()
		w.net.Name("b1", "10.0.1.1")
		w.net.Cut("10.0.1.1:9092")
		w.after(10 * time.Second)
		wantGood()
		if doubtful := w.m.index.Load().byID[1].peer.Doubtful; len(doubtful) > 0 {
			t.Errorf("still doubtful: %v", doubtful)
		}
	})
}

// TestSlowLookUp: what the old name leads to says nothing about the connection to the new address.
func TestSlowLookUp(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		lookup, slow := w.cfg.Dialer.Lookup, atomic.Bool{}
		w.cfg.Dialer.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			if slow.Load() && host == "b2" {
				time.Sleep(4 * time.Second)
			}
			return lookup(ctx, host)
		}
		w.cfg.RefreshInterval = time.Second
		w.start()
		slow.Store(true)
		w.net.Name("elsewhere", "10.7.0.2")
		w.net.Listen("10.7.0.2:9092", w.brokers[2].Serve)
		w.after(10 * time.Second) // a check, and the look-up after it
		w.cluster.Set(2, "elsewhere:9092")
		w.after(20 * time.Second)
		if b := w.broker(2); b.Closes[CauseReplaced] != 1 || w.net.Dials("10.7.0.2:9092") != 1 {
			t.Errorf("closes %v, %d dials", b.Closes, w.net.Dials("10.7.0.2:9092"))
		}
	})
}

// TestMoveForgetsVerdicts: what was found out about fresh connections, identity and addresses is about the address of then.
func TestMoveForgetsVerdicts(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		if b := w.broker(2); b.Accepts != VerdictGood || b.Identity == wire.IdentityUnknown || len(b.Trace.Addresses) != 1 {
			t.Errorf("before: %+v", b)
		}
		w.cluster.SetMember(2, wiretest.Member{Host: "0.0.0.0", Port: 9092})
		w.after(time.Minute)
		w.wantBrokerFailing(2, "resolve invalid_address")
		if b := w.broker(2); b.Accepts != VerdictUnknown || b.Identity != wire.IdentityUnknown || len(b.Trace.Addresses) != 0 {
			t.Errorf("after: %+v", b)
		}
		w.cluster.Set(2, "b2:9092")
		w.after(time.Minute)
		w.wantReady(2)
		if b := w.broker(2); b.Accepts != VerdictGood {
			t.Errorf("back again: %+v", b)
		}
	})
}

// TestQuestionThatBreaksOff: a broker that hangs up, is silent or answers garbage when it is asked for its id serves all the same.
func TestQuestionThatBreaksOff(t *testing.T) {
	for does, script := range map[string]wiretest.Script{
		"is silent": func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence },
		"hangs up":  func(wiretest.Request) (kmsg.Response, error) { return nil, io.EOF },
		"garbage":   func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.Raw("\xff\xff\xff\xff") },
	} {
		t.Run(does, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.brokers[2].On(kmsg.DescribeConfigs, script)
				w.cfg.HandshakeInterval = time.Minute
				w.start()
				w.after(20 * time.Minute)
				w.wantReady(1, 2)
				b := w.broker(2)
				if b.Identity != wire.IdentityUnverified || b.Accepts != VerdictGood || b.PhaseFailures[wire.PhaseIdentity] != enoughQuestions {
					t.Errorf("identity %v, accepts %v, failures %v", b.Identity, b.Accepts, b.PhaseFailures)
				}
				w.brokers[2].On(kmsg.DescribeConfigs, nil)
				w.net.Refuse(address(2))
				w.net.Cut(address(2))
				w.after(time.Minute)
				w.net.Listen(address(2), w.brokers[2].Serve)
				w.after(time.Minute)
				if b := w.broker(2); b.Identity != wire.IdentityVerified {
					t.Errorf("after an outage: identity %v", b.Identity)
				}
			})
		})
	}
}
