package manager

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// withTLS puts all brokers behind TLS with certificates that end at notAfter, and makes the manager trust them.
func (w *world) withTLS(notAfter time.Time) *wiretest.Authority {
	ca := wiretest.NewAuthority()
	for id, b := range w.brokers {
		cert := ca.Issue(notAfter, "b1", "b2", "b3")
		w.net.Listen(address(id), func(conn net.Conn) {
			b.Serve(tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{cert}}))
		})
	}
	w.cfg.Dialer.TLS = func(host string) (*tls.Config, error) {
		return &tls.Config{ServerName: host, RootCAs: ca.Pool()}, nil
	}
	return ca
}

// TestCaseC09CertificateExpires: fresh handshakes fail within one interval while the old session goes on.
// Done: a certificate ends under an open session
// Shows: `broker_accepts_connections` 0 with `tls` `certificate_expired` within one handshake interval; `broker_reachable` 1
func TestCaseC09CertificateExpires(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.cfg.HandshakeInterval = time.Minute
		end := time.Now().Add(10 * time.Minute).Truncate(time.Second)
		w.withTLS(end)
		w.start()
		w.after(9*time.Minute + 59*time.Second)
		w.wantReady(1, 2)
		b := w.broker(2)
		if b.TLS == nil || !b.TLS.NotAfter.Equal(end) || b.TLS.Version != "TLS 1.3" || b.Accepts != VerdictGood {
			t.Errorf("before the end: %+v, %+v", b, b.TLS)
		}
		w.after(time.Minute + 2*time.Second)
		b = w.broker(2)
		wantFailing(t, "handshakes", b.Accepts, b.AcceptFail, "tls certificate_expired")
		w.wantReady(2)
		if w.events.count(EventRefuses, "broker 2") != 1 {
			t.Error("it was not reported once")
		}
	})
}

// records notes the type of the last TLS record that was read from a connection.
type records struct {
	net.Conn
	pending []byte
	last    byte
}

func (r *records) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.pending = append(r.pending, b[:n]...)
	for len(r.pending) >= 5 {
		size := 5 + int(binary.BigEndian.Uint16(r.pending[3:]))
		if len(r.pending) < size {
			break
		}
		r.last, r.pending = r.pending[0], r.pending[size:]
	}
	return n, err
}

// TestCaseC44HandshakesEndProperly: with TLS' close_notify, so that no broker logs a connection that was cut. In TLS 1.2 it can be
// told from outside, as a record of type 21, alert; crypto/tls itself takes an end between two records for a good one.
// Done: a fresh handshake a minute, by TLS 1.2, watched from the broker
// Shows: every connection ends with a close_notify
func TestCaseC44HandshakesEndProperly(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.cfg.HandshakeInterval = time.Minute
		ca := w.withTLS(time.Now().Add(24 * time.Hour))
		config := &tls.Config{MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{ca.Issue(time.Now().Add(24*time.Hour), "b1")}}
		var goodbyes, cuts atomic.Int64
		w.net.Listen(address(1), func(conn net.Conn) {
			raw := &records{Conn: conn}
			w.brokers[1].Serve(tls.Server(raw, config))
			if raw.last == 21 {
				goodbyes.Add(1)
			} else {
				cuts.Add(1)
			}
		})
		w.start()
		w.after(10 * time.Minute)
		if goodbyes.Load() < 10 || cuts.Load() != 0 {
			t.Errorf("%d connections ended with a goodbye, %d without", goodbyes.Load(), cuts.Load())
		}
	})
}

// TestCertificateThatWasNotAccepted: its end is known all the same, or nobody would be told that it has passed.
func TestCertificateThatWasNotAccepted(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.withTLS(time.Now().Add(time.Hour))
		w.start()
		w.after(time.Second)
		ended := time.Now().Add(-time.Hour)
		w.withTLS(ended)
		w.net.Cut(address(2))
		w.after(time.Second)
		w.wantBrokerFailing(2, "tls certificate_expired")
		if info := w.broker(2).TLS; !info.NotAfter.Equal(ended.Truncate(time.Second)) || info.Version == "" {
			t.Errorf("%+v", info)
		}
	})
}

// TestLongText: what a peer says is kept in part.
func TestLongText(t *testing.T) {
	f := failure(&wire.Error{Err: errors.New(strings.Repeat("ä", 100_000))})
	if len(f.Text) > longestText+len("…") || !strings.HasSuffix(f.Text, "ä…") {
		t.Errorf("%d bytes", len(f.Text))
	}
}

// TestNeverMoreThanTwoSockets: at rest one, during a handshake two, also when the handshake hangs and the shared connection
// is replaced meanwhile.
func TestNeverMoreThanTwoSockets(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.cfg.HandshakeInterval = 10 * time.Second
		slow := w.brokers[2]
		var most atomic.Int64
		look := func() { most.Store(max(most.Load(), int64(w.net.Open(address(2))))) }
		slow.On(kmsg.ApiVersions, func(r wiretest.Request) (kmsg.Response, error) {
			time.Sleep(time.Millisecond) // for the broker's side of what was closed just before
			look()
			time.Sleep(2 * time.Second)
			return slow.Well(r)
		})
		w.start()
		lease := w.acquire(2)
		defer lease.Release()
		for i := range 600 {
			if i%28 == 27 { // a handshake is under way then
				lease.Reconnect()
			}
			w.after(time.Second)
			look()
		}
		if most.Load() != 2 {
			t.Errorf("up to %d sockets", most.Load())
		}
		w.after(5 * time.Second)
		if b := w.broker(2); b.OpenConnections > 2 || b.Reachable != VerdictGood {
			t.Errorf("at the end: %+v", b.Target)
		}
	})
}

// TestThrottledBrokerIsNotSilent: while a broker throttles us it answers nothing on that connection, and is neither asked nor taken
// for dead; a fresh connection tells that it lives.
func TestThrottledBrokerIsNotSilent(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		b := w.brokers[2]
		throttle := func(r wiretest.Request) (kmsg.Response, error) {
			if until, muted := r.Session.Values["muted"].(time.Time); muted && time.Now().Before(until) {
				t.Error("it was asked while it throttled")
			}
			r.Session.Values["muted"] = time.Now().Add(20 * time.Second)
			resp, err := b.Well(r)
			resp.(*kmsg.MetadataResponse).ThrottleMillis = 20_000
			return resp, err
		}
		w.start()
		w.after(time.Second)
		b.On(kmsg.Metadata, throttle)
		w.after(10 * time.Minute)
		w.wantReady(2)
		if n := w.net.Dials(address(2)); n > 62 || w.broker(2).StateChanges[StateReady] != 1 {
			t.Errorf("%d dials, %d shared connections", n, w.broker(2).StateChanges[StateReady])
		}
	})
}

// TestThrottledForWeeks: a broker that says so is looked at all the same.
func TestThrottledForWeeks(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		b := w.brokers[2]
		b.On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			resp, err := b.Well(r)
			resp.(*kmsg.MetadataResponse).ThrottleMillis = math.MaxInt32
			return resp, err
		})
		w.start()
		w.wantReady(2)
		if b := w.broker(2); b.Throttled == 0 || b.Throttled > time.Duration(b.RoundTrips.Count)*longestMute {
			t.Errorf("throttled for %s by %d answers", b.Throttled, b.RoundTrips.Count)
		}
		w.net.Listen(address(2), wiretest.Tarpit)
		b.On(kmsg.Metadata, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence })
		w.after(w.cfg.CheckInterval + w.cfg.CheckTimeout)
		if v := w.broker(2).Reachable; v != VerdictBad {
			t.Errorf("verdict %d on a broker that has been silent since it said that it would be", v)
		}
	})
}

// TestThrottle: what brokers ask us to wait is added up.
func TestThrottle(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		b := w.brokers[2]
		b.On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			resp, err := b.Well(r)
			resp.(*kmsg.MetadataResponse).ThrottleMillis = 1500
			return resp, err
		})
		w.start()
		w.after(time.Minute)
		got := w.broker(2)
		if want := time.Duration(got.RoundTrips.Count) * 1500 * time.Millisecond; got.Throttled != want || want == 0 {
			t.Errorf("throttled for %s, want %s", got.Throttled, want)
		}
	})
}

// TestAddressVerdicts: of a name with several addresses, the dead one shows.
func TestAddressVerdicts(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.net.Name("b2", "10.0.9.9", "10.0.0.2")
		w.start()
		w.wantReady(2)
		addrs := w.broker(2).Trace.Addresses
		if len(addrs) != 2 || addrs[0].Err == nil || addrs[0].Err.Reason != wire.ReasonRefused || !addrs[1].Connected {
			t.Errorf("addresses: %+v", addrs)
		}
	})
}
