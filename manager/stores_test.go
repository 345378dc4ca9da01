package manager

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

// TestBrokenUserStores: brokers that reject what others have accepted hold back nobody who has; a password that is no longer good
// costs no more than two attempts all the same.
func TestBrokenUserStores(t *testing.T) {
	inWorld(t, 20, func(w *world) {
		accounts := wiretest.NewAccounts("right", 0, 0)
		w.withSASL(accounts, "right")
		w.cfg.HandshakeInterval = time.Minute
		var rejections atomic.Int64
		for _, id := range []int32{7, 13, 17} {
			w.brokers[id].On(kmsg.SASLAuthenticate, func(r wiretest.Request) (kmsg.Response, error) {
				rejections.Add(1)
				resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
				resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
				return resp, nil
			})
		}
		w.start()
		w.after(time.Second)
		if n := rejections.Load(); n > 3 {
			t.Errorf("%d rejections of three brokers", n)
		}
		// Two that reject one after the other may be the credentials' fault, until somebody is accepted: at the latest by a handshake.
		w.after(w.cfg.HandshakeInterval)
		w.wantReady(1, 2, 6, 20)
		for _, id := range []int32{7, 13, 17} {
			w.wantBrokerFailing(id, "sasl credentials_rejected")
		}
		for range 10 { // they come and go while two user stores are broken
			for id := range w.brokers {
				w.net.Cut(address(id))
			}
			w.after(10 * time.Second)
			w.wantReady(1, 2, 6, 20)
		}
		before := len(accounts.Attempts())
		accounts.SetPassword("changed")
		for id := range w.brokers {
			w.net.Cut(address(id))
		}
		w.after(3 * time.Minute)
		if n := len(accounts.Attempts()) - before; n > 2 {
			t.Errorf("%d attempts with a password that was changed", n)
		}
		w.wantBrokerFailing(20, "sasl credentials_rejected")
	})
}

// TestManyHangInSASL: thirty brokers of thirty-three that hang with the credentials in hand keep the other three waiting for less
// than three seconds, and later not at all.
func TestManyHangInSASL(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.SASLHandshake, kmsg.SASLAuthenticate} {
		t.Run(key.Name(), func(t *testing.T) {
			inWorld(t, 33, func(w *world) {
				w.withSASL(wiretest.NewAccounts("right", 0, 0), "right")
				w.cfg.Seeds = w.seeds("b33:9092")
				for id := int32(1); id <= 30; id++ {
					w.brokers[id].On(key, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence })
				}
				w.start()
				w.after(3 * time.Second)
				w.wantReady(31, 32, 33)
				w.after(time.Minute)
				for id := int32(31); id <= 33; id++ {
					w.net.Cut(address(id))
				}
				w.after(time.Second)
				w.wantReady(31, 32, 33)
				w.wantBrokerFailing(3, "sasl timeout")
			})
		})
	}
}
