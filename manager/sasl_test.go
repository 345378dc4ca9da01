package manager

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// credentials is a password that a test can change, and its version.
type credentials struct {
	password atomic.Pointer[string]
	broken   atomic.Bool
}

func (c *credentials) set(password string) { c.password.Store(&password) }

func (c *credentials) mechanism(context.Context, string) (sasl.Mechanism, error) {
	if c.broken.Load() {
		return nil, errors.New("the token server is down")
	}
	return plain.Auth{User: "exporter", Pass: *c.password.Load()}.AsMechanism(), nil
}

func (c *credentials) version() string { return *c.password.Load() }

// withSASL makes all brokers require a password, and the manager present one.
func (w *world) withSASL(accounts *wiretest.Accounts, password string) *credentials {
	c := &credentials{}
	c.set(password)
	for _, b := range w.brokers {
		b.Require(accounts)
	}
	w.cfg.Dialer.SASL = c.mechanism
	w.cfg.CredentialVersion = c.version
	return c
}

// mostPerWindow returns the largest number of attempts within any window of this length.
func mostPerWindow(attempts []time.Time, window time.Duration) int {
	most := 0
	for i, from := range attempts {
		n := 0
		for _, at := range attempts[i:] {
			if at.Sub(from) < window {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestCaseC25WrongPassword: 20 brokers and a wrong password are at most 2 attempts per retry interval, over a simulated hour.
// Done: from the start, or changed on the brokers; rejected at once, or after 2 s; the file is corrected in the end
// Shows: `sasl` `credentials_rejected` everywhere, at most 2 attempts per interval; all ready after the correction
func TestCaseC25WrongPassword(t *testing.T) {
	for _, delay := range []time.Duration{0, 2 * time.Second} {
		t.Run(fmt.Sprintf("from the start, answered after %s", delay), func(t *testing.T) {
			inWorld(t, 20, func(w *world) {
				accounts := wiretest.NewAccounts("right", delay, 0)
				w.withSASL(accounts, "wrong")
				w.cfg.Seeds = w.seeds("b1:9092,b2:9092,b3:9092")
				w.start()
				w.after(time.Hour)
				w.wantSeedFailing("b1:9092", "sasl credentials_rejected")
				w.wantSeedFailing("b3:9092", "sasl credentials_rejected")
				attempts := accounts.Attempts()
				if n := mostPerWindow(attempts, 5*time.Minute); n > 2 || len(attempts) < 10 {
					t.Errorf("%d attempts, up to %d per interval", len(attempts), n)
				}
			})
		})
		t.Run(fmt.Sprintf("changed on the brokers, answered after %s", delay), func(t *testing.T) {
			inWorld(t, 20, func(w *world) {
				accounts := wiretest.NewAccounts("right", delay, 0)
				c := w.withSASL(accounts, "right")
				w.cfg.HandshakeInterval = 3 * time.Second // somebody was accepted a moment ago
				w.start()
				w.wantReady(1, 20)
				w.after(10 * time.Minute)
				accounts.SetPassword("changed")
				before := len(accounts.Attempts())
				for id := range w.brokers {
					w.net.Cut(address(id))
				}
				w.after(time.Hour)
				w.wantBrokerFailing(20, "sasl credentials_rejected")
				attempts := accounts.Attempts()[before:]
				if n := mostPerWindow(attempts, 5*time.Minute); n > 2 || len(attempts) < 10 {
					t.Errorf("%d attempts, up to %d per interval", len(attempts), n)
				}
				c.set("changed")
				w.after(20 * time.Second)
				for id := range w.brokers {
					w.wantReady(id)
				}
			})
		})
	}
}

// TestSlowSASL: a broker that hangs in the exchange keeps nobody else from authenticating.
func TestSlowSASL(t *testing.T) {
	inWorld(t, 10, func(w *world) {
		w.withSASL(wiretest.NewAccounts("right", 0, 0), "right")
		for id := int32(8); id <= 10; id++ {
			w.brokers[id].On(kmsg.SASLAuthenticate, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence })
		}
		w.start()
		w.after(20 * time.Second)
		w.wantReady(1, 2, 3, 4, 5, 6, 7)
		w.wantBrokerFailing(8, "sasl timeout")
		if b := w.broker(8); b.AuthFailures != 0 {
			t.Errorf("silence is no rejection: %+v", b.Target)
		}
	})
}

// TestCaseC35SessionIsRenewed: sessions of 5 s, over a minute, on one connection and without any failure.
// Done: sessions of 5 s; then no token can be had
// Shows: one connection and no failure; then `sasl` `token_unavailable`, closed as `reauthentication`, until there is a token
func TestCaseC35SessionIsRenewed(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		accounts := wiretest.NewAccounts("right", 0, 5*time.Second)
		c := w.withSASL(accounts, "right")
		w.cfg.CheckInterval = time.Second
		w.start()
		w.after(time.Minute)
		w.wantReady(1, 2)
		b := w.broker(2)
		if n := w.net.Dials(address(2)); n != 1 || b.RequestFailures != [wire.NumReasons]uint64{} || b.PhaseFailures != [wire.NumPhases]uint64{} {
			t.Errorf("%d dials, %+v", n, b.Target)
		}
		c.broken.Store(true)
		w.after(6 * time.Second)
		w.wantBrokerFailing(2, "sasl token_unavailable")
		if b := w.broker(2); b.Closes[CauseReauthentication] != 1 || b.AuthFailures != 0 {
			t.Errorf("without a token: %+v", b.Target)
		}
		c.broken.Store(false)
		w.after(10 * time.Second)
		w.wantReady(1, 2)
	})
}

func TestUnauthenticated(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.withSASL(wiretest.NewAccounts("right", 0, 0), "right")
		w.cfg.Dialer.SASL = nil
		w.start()
		w.wantSeedFailing("b1:9092", "request authentication_required")
	})
}

// TestRequestsDuringRenewal: they wait, and none comes between the steps of the exchange.
func TestRequestsDuringRenewal(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		accounts := wiretest.NewAccounts("right", 0, 5*time.Second)
		w.withSASL(accounts, "right")
		w.start()
		slow := w.brokers[2]
		slow.On(kmsg.SASLHandshake, func(r wiretest.Request) (kmsg.Response, error) {
			time.Sleep(time.Second)
			return r.ResponseKind(), nil
		})
		l := w.acquire(2)
		defer l.Release()
		for range 200 {
			if _, err := l.Request(w.Context(), kmsg.NewPtrMetadataRequest()); err != nil {
				t.Fatalf("Request: %v", err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		synctest.Wait()
		if n := w.net.Dials(address(2)); n != 1 {
			t.Errorf("%d dials", n)
		}
	})
}

// TestRejectedRenewal: it counts as what it is, whichever of the broker's answer and its hang-up is seen first.
func TestRejectedRenewal(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		accounts := wiretest.NewAccounts("right", 0, 5*time.Second)
		w.withSASL(accounts, "right")
		w.start()
		accounts.SetPassword("changed")
		w.after(5 * time.Second)
		var rejections, renewals uint64
		for id := int32(1); id <= 2; id++ {
			w.wantBrokerFailing(id, "sasl credentials_rejected")
			rejections += w.broker(id).AuthFailures
			renewals += w.broker(id).Closes[CauseReauthentication]
		}
		if rejections == 0 || renewals != 2 {
			t.Errorf("%d rejections, %d connections that ended for it", rejections, renewals)
		}
	})
}

// TestCaseC35TokenEndpointFails: as long as something is left of the session, the connection is kept.
// Done: no token can be had until a session of a minute has two seconds left
// Shows: nothing: the connection is kept and renewed late
func TestCaseC35TokenEndpointFails(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		c := w.withSASL(wiretest.NewAccounts("right", 0, time.Minute), "right")
		w.start()
		c.broken.Store(true)
		w.after(58 * time.Second)
		w.wantReady(1, 2)
		c.broken.Store(false)
		w.after(5 * time.Minute)
		w.wantReady(1, 2)
		if n := w.net.Dials(address(2)); n != 1 {
			t.Errorf("%d dials", n)
		}
	})
}

// TestSlowTokenDelaysNoCheck: while a new token is fetched, the connection goes on as before.
func TestSlowTokenDelaysNoCheck(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		c := w.withSASL(wiretest.NewAccounts("right", 0, time.Minute), "right")
		w.cfg.Dialer.SASL = func(ctx context.Context, host string) (sasl.Mechanism, error) {
			time.Sleep(4 * time.Second)
			return c.mechanism(ctx, host)
		}
		w.cfg.CheckInterval, w.cfg.CheckTimeout = time.Second, time.Second
		w.start()
		w.after(5 * time.Minute)
		w.wantReady(1, 2)
		if b := w.broker(2); b.RequestFailures != [wire.NumReasons]uint64{} || w.net.Dials(address(2)) != 1 {
			t.Errorf("%d dials, %+v", w.net.Dials(address(2)), b.Target)
		}
	})
}
