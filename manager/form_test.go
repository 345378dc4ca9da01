package manager

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

// hangsUpAbove makes a broker hang up on ApiVersions above a version, which may change.
func hangsUpAbove(b *wiretest.Broker, version *atomic.Int32) {
	b.On(kmsg.ApiVersions, func(r wiretest.Request) (kmsg.Response, error) {
		if int32(r.GetVersion()) > version.Load() {
			return nil, wiretest.ErrHang
		}
		return b.Well(r)
	})
}

// TestCaseC52OldForms: a broker that hangs up on newer versions of ApiVersions is reached by an older one.
// Done: brokers hang up on ApiVersions above version 0, above 2, above 4
// Shows: reachable within two attempts, three for the first broker, without an extra one; `broker_api_versions_version`, one event
func TestCaseC52OldForms(t *testing.T) {
	for limit, want := range map[int32]int16{0: 0, 2: 0, 4: 4} {
		inWorld(t, 0, func(w *world) {
			var above atomic.Int32
			above.Store(limit)
			for id := int32(1); id <= 2; id++ {
				hangsUpAbove(w.addBroker(id, wiretest.Modern), &above)
			}
			w.start()
			w.after(2 * time.Second)
			w.wantReady(1, 2)
			for id := int32(1); id <= 2; id++ {
				b := w.broker(id)
				if b.APIVersions != want || b.Attempts != 2 {
					t.Errorf("above %d: broker %d by version %d after %d attempts", limit, id, b.APIVersions, b.Attempts)
				}
				if n := w.events.count(EventOldForm, "broker "+string('0'+rune(id))); n != 1 {
					t.Errorf("told %d times", n)
				}
			}
		})
	}
}

// TestCaseC53NewestIsTriedAgain: after an hour, and when a connection broke, without a false red while it still hangs up.
// Done: a broker hangs up on version 5; its connection is cut; an hour passes; it is mended
// Shows: `broker_reachable` and `broker_accepts_connections` 1 all the time, and version 5 within the next hour
func TestCaseC53NewestIsTriedAgain(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		var above atomic.Int32
		above.Store(4)
		hangsUpAbove(w.addBroker(1, wiretest.Modern), &above)
		w.cfg.HandshakeInterval = time.Minute
		w.start()
		w.after(2 * time.Second)
		steady := func(d time.Duration) {
			t.Helper()
			for end := time.Now().Add(d); time.Now().Before(end); {
				w.after(100 * time.Millisecond)
				if b := w.broker(1); b.Reachable != VerdictGood || b.Accepts != VerdictGood {
					t.Fatalf("%+v %+v", b.Failure, b.AcceptFail)
				}
			}
		}
		failures := w.broker(1).PhaseFailures
		w.net.Cut(address(1))
		steady(time.Minute)
		w.wantReady(1)
		if got := w.broker(1).PhaseFailures; got == failures {
			t.Error("the newest form was not tried after the loss")
		}
		failures = w.broker(1).PhaseFailures
		steady(2 * time.Hour)
		if got := w.broker(1).PhaseFailures; got == failures {
			t.Error("the newest form was not tried within two hours")
		}
		above.Store(5)
		steady(62 * time.Minute)
		if b := w.broker(1); b.APIVersions != 5 {
			t.Errorf("mended, and asked by version %d", b.APIVersions)
		}
	})
}

// TestHangsUpOnEverything: no form helps, and none costs an attempt more than a backoff allows.
func TestHangsUpOnEverything(t *testing.T) {
	dials := func(f func(w *world)) (n int) {
		inWorld(t, 2, func(w *world) {
			w.start()
			w.after(time.Second)
			f(w)
			w.net.Cut(address(2))
			w.after(10 * time.Minute)
			n = w.net.Dials(address(2))
			if v := w.broker(2).Reachable; v != VerdictBad {
				t.Errorf("verdict %d", v)
			}
		})
		return n
	}
	refused := dials(func(w *world) { w.net.Refuse(address(2)) })
	closed := dials(func(w *world) {
		w.net.Listen(address(2), wiretest.Hangup)
	})
	if closed > refused {
		t.Errorf("%d dials of who hangs up, %d of who refuses", closed, refused)
	}
}
