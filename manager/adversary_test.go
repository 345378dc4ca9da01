package manager

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

// lastWords closes the connection right after the next write once now is set.
type lastWords struct {
	net.Conn
	now bool
}

func (c *lastWords) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.now {
		_ = c.Close()
	}
	return n, err
}

// TestAnswerAndGoodbye: a broker that answers each check and hangs up has answered. The verdict is good all the time, and the
// connections are made with backoff.
func TestAnswerAndGoodbye(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		w.after(time.Second)
		w.net.Listen(address(2), func(conn net.Conn) {
			b := wiretest.NewBroker(2, w.cluster, wiretest.Common)
			last := &lastWords{Conn: conn}
			lists := 0
			b.On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
				lists++
				last.now = lists > 1 // the first is the identity phase's
				return b.Well(r)
			})
			b.Serve(last)
		})
		w.net.Cut(address(2))
		for range 600 {
			w.after(100 * time.Millisecond)
			if b := w.broker(2); b.Reachable != VerdictGood {
				t.Errorf("%+v", b.Failure)
				return
			}
		}
		if n := w.net.Dials(address(2)); n > 15 {
			t.Errorf("%d dials in a minute", n)
		}
	})
}

// flipping makes every broker's answer name broker 2 at one of two addresses, in turn.
func (w *world) flipping() {
	var answers atomic.Int64
	for _, b := range w.brokers {
		b.On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			host := fmt.Sprintf("b%d", 2+answers.Add(1)%2)
			w.cluster.Set(2, host+":9092")
			return b.Well(r)
		})
	}
}

// TestBrokersThatDisagree about an address: the broker is followed with backoff, the rounds go back to their interval, and there
// are never more than two sockets.
func TestBrokersThatDisagree(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cluster.Remove(3)
		w.net.Listen(address(3), w.brokers[2].Serve) // broker 2 is at both
		w.flipping()
		w.start()
		for range 600 {
			w.after(100 * time.Millisecond)
			if b := w.broker(2); b.OpenConnections > 2 {
				t.Errorf("%d sockets", b.OpenConnections)
				return
			}
		}
		before, rounds := w.net.Dials(address(2))+w.net.Dials(address(3)), w.m.Snapshot().Refresh.Rounds
		w.after(10 * time.Minute)
		dials, more := w.net.Dials(address(2))+w.net.Dials(address(3))-before, w.m.Snapshot().Refresh.Rounds-rounds
		if dials > 40 || more > 40 {
			t.Errorf("%d dials and %d rounds in ten minutes", dials, more)
		}
	})
}

// TestStaleBroker: one broker whose list lacks another, which the rest of the cluster names, does not get it forgotten.
func TestStaleBroker(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		for id := int32(1); id <= 3; id++ {
			w.addBroker(id, wiretest.Modern)
		}
		w.start()
		w.after(time.Second)
		stale := wiretest.NewCluster("cluster-a")
		stale.Set(1, "b1:9092")
		stale.Set(2, "b2:9092")
		w.net.Listen(address(1), wiretest.NewBroker(1, stale, wiretest.Modern).Serve)
		w.net.Cut(address(1))
		for range 600 {
			w.after(time.Second)
			if n := len(w.m.Snapshot().Brokers); n != 3 {
				t.Errorf("%d brokers are known", n)
				return
			}
		}
		if b := w.broker(3); b.Reachable != VerdictGood || b.Attempts != 1 {
			t.Errorf("broker 3: %+v", b.Target)
		}
	})
}

// TestShortSessions: a session of a millisecond is no reason for a thousand exchanges a second.
func TestShortSessions(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		accounts := wiretest.NewAccounts("right", 0, 0)
		w.withSASL(accounts, "right")
		var exchanges atomic.Int64
		w.brokers[1].On(kmsg.SASLAuthenticate, func(r wiretest.Request) (kmsg.Response, error) {
			exchanges.Add(1)
			r.Session.Values["authenticated"] = time.Time{}
			resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
			resp.SessionLifetimeMillis = 1
			return resp, nil
		})
		w.start()
		w.after(time.Minute)
		if n := exchanges.Load(); n > 70 || n < 50 {
			t.Errorf("%d exchanges in a minute", n)
		}
	})
}

// TestOneBrokerRejects: what one broker says of the credentials is not said of the seeds, which nobody asks meanwhile.
func TestOneBrokerRejects(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cfg.Seeds = w.seeds("b1:9092", "b2:9092")
		w.cfg.HandshakeInterval = 20 * time.Second
		w.withSASL(wiretest.NewAccounts("right", 0, 0), "right")
		w.start()
		w.after(2 * time.Minute)
		w.brokers[3].On(kmsg.SASLAuthenticate, func(r wiretest.Request) (kmsg.Response, error) {
			resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
			return resp, nil
		})
		w.after(4 * time.Minute)
		wantFailing(t, "fresh connections to broker 3", w.broker(3).Accepts, w.broker(3).AcceptFail, "sasl credentials_rejected")
		for _, s := range w.m.Snapshot().Seeds {
			if s.Reachable != VerdictGood {
				t.Errorf("seed %s: %+v", s.Name, s.Failure)
			}
		}
		w.wantReady(1, 2, 3)
	})
}

// TestNoDescriptors: who has no file descriptor left has found out nothing about those who are well.
func TestNoDescriptors(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.cfg.Seeds, w.cfg.HandshakeInterval = w.seeds("b1:9092", "b2:9092"), 20*time.Second
		var none atomic.Bool
		dial := w.cfg.Dialer.DialAddress
		w.cfg.Dialer.DialAddress = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			if none.Load() {
				return nil, fmt.Errorf("all are in use: %w", syscall.EMFILE)
			}
			return dial(ctx, addr)
		}
		w.start()
		w.after(2 * time.Minute)
		none.Store(true)
		w.after(5 * time.Minute)
		s := w.m.Snapshot()
		if s.Seeds[0].Reachable != VerdictGood || s.Seeds[1].Reachable != VerdictGood || s.Brokers[1].Accepts != VerdictGood {
			t.Errorf("%+v\n%+v", s.Seeds, s.Brokers[1])
		}
		w.wantReady(1, 2)
		w.net.Cut(address(2))
		w.after(time.Second)
		w.wantBrokerFailing(2, "dial other")
	})
}

// TestNonsense: a check that is answered with something that is no answer has finished, and was bad, although its connection has
// ended with it and the next one is made at once.
func TestNonsense(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		w.after(time.Second)
		w.brokers[2].On(kmsg.Metadata, func(wiretest.Request) (kmsg.Response, error) {
			return nil, wiretest.Raw("\x00\x00\x00\x04\x7f\xff\xff\xff") // another correlation id
		})
		w.net.Blackhole(address(2))
		w.after(w.cfg.CheckInterval)
		w.wantBrokerFailing(2, "request protocol")
	})
}

// TestLargeCluster: with more checks than lists may be asked for, the rest only asks for a sign of life. Silence is noticed all
// the same, and so is what is new.
func TestLargeCluster(t *testing.T) {
	const n = 100
	inWorld(t, n, func(w *world) {
		w.cfg.CheckInterval, w.cfg.ConnectRate = time.Second, 1000
		var lists atomic.Int64
		for _, b := range w.brokers {
			b.On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) { lists.Add(1); return b.Well(r) })
		}
		w.start()
		w.after(10 * time.Second)
		before := lists.Load()
		w.after(time.Minute)
		if perSecond := float64(lists.Load()-before) / 60; perSecond > viewsPerSecond+1 || perSecond < viewsPerSecond/2 {
			t.Errorf("%.0f lists a second", perSecond)
		}
		if b := w.broker(n); b.Reachable != VerdictGood || b.RoundTrips.Count < 50 {
			t.Errorf("%+v", b.Target)
		}
		w.brokers[n].On(kmsg.ApiVersions, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence })
		w.brokers[n].On(kmsg.Metadata, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence })
		w.after(w.cfg.CheckInterval + w.cfg.CheckTimeout)
		if v := w.broker(n).Reachable; v != VerdictBad {
			t.Errorf("verdict %d on a silent broker", v)
		}
		w.addBroker(n+1, wiretest.Common)
		w.after(5 * time.Second)
		w.wantReady(n + 1)
	})
}

// TestHandshakesGiveWay: in a cluster with more handshakes than new connections are allowed, one that was lost is back at once.
func TestHandshakesGiveWay(t *testing.T) {
	inWorld(t, 60, func(w *world) {
		w.cfg.ConnectRate, w.cfg.HandshakeInterval = 2, 10*time.Second
		w.start()
		w.after(5 * time.Minute)
		w.net.Cut(address(60))
		w.after(3 * time.Second)
		w.wantReady(60)
		done := 0
		for id := range w.brokers {
			done += w.net.Dials(address(id)) - 1
		}
		if done < 100 {
			t.Errorf("%d handshakes in five minutes", done)
		}
	})
}
