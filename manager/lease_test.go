package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

func (w *world) acquire(id int32) *Lease {
	w.Helper()
	l, err := w.m.Acquire(id)
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// TestLazyConnections: without checks nothing is connected before somebody holds a lease, and the last holder's release
// ends it.
func TestLazyConnections(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.cfg.CheckInterval = 0
		w.start()
		if b := w.broker(2); b.State != StateIdle || b.Attempts != 0 || b.References != 0 {
			t.Errorf("before the first lease: %+v", b.Target)
		}
		first, second := w.acquire(2), w.acquire(2)
		synctest.Wait()
		if b := w.broker(2); b.State != StateReady || b.References != 2 || w.net.Dials(address(2)) != 1 || second.State() != StateReady {
			t.Errorf("with two leases: %+v", b.Target)
		}
		first.Release()
		first.Release()
		synctest.Wait()
		if b := w.broker(2); b.State != StateReady || b.References != 1 {
			t.Errorf("with one lease: %+v", b.Target)
		}
		second.Release()
		synctest.Wait()
		if b := w.broker(2); b.State != StateIdle || b.References != 0 || b.Closes[CauseIdle] != 1 || w.net.Open(address(2)) != 0 {
			t.Errorf("without leases: %+v", b.Target)
		}
		if _, err := second.Request(w.Context(), kmsg.NewPtrMetadataRequest()); !errors.Is(err, ErrReleased) {
			t.Errorf("a request on a released lease: %v", err)
		}
	})
}

func TestAcquireUnknown(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.start()
		if _, err := w.m.Acquire(99); !errors.Is(err, ErrUnknownBroker) {
			t.Errorf("Acquire(99): %v", err)
		}
	})
}

// TestAcquireNeverBlocks: neither on a dial that hangs nor on one that others wait for.
func TestAcquireNeverBlocks(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.net.Blackhole(address(2))
		w.start()
		began := time.Now()
		l := w.acquire(2)
		defer l.Release()
		if l.State() != StateConnecting || time.Since(began) != 0 {
			t.Errorf("state %s after %s", l.State(), time.Since(began))
		}
	})
}

// TestImpatientCaller: a caller may stop waiting, it may not cut the wire.
func TestImpatientCaller(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		w.brokers[2].On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			time.Sleep(2 * time.Second)
			return w.brokers[2].Well(r)
		})
		l := w.acquire(2)
		defer l.Release()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if _, err := l.Request(ctx, kmsg.NewPtrMetadataRequest()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Request: %v", err)
		}
		w.after(time.Minute)
		w.wantReady(2)
		if n := w.net.Dials(address(2)); n != 1 {
			t.Errorf("%d dials", n)
		}
	})
}

// TestReconnect: what is in flight finishes on the old connection, and new requests go to the new one.
func TestReconnect(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		w.brokers[2].On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			time.Sleep(time.Second)
			return w.brokers[2].Well(r)
		})
		l := w.acquire(2)
		defer l.Release()
		slow := make(chan error, 1)
		go func() {
			_, err := l.Request(w.Context(), kmsg.NewPtrMetadataRequest())
			slow <- err
		}()
		synctest.Wait()
		l.Reconnect()
		synctest.Wait()
		if n := w.net.Open(address(2)); n != 2 {
			t.Errorf("%d connections while the old one drains", n)
		}
		w.after(time.Second)
		if err := <-slow; err != nil {
			t.Errorf("the request in flight: %v", err)
		}
		w.after(5 * time.Second)
		w.wantReady(2)
		if b := w.broker(2); b.Closes[CauseReplaced] != 1 || b.ConsecutiveFailures != 0 || b.References != 2 {
			t.Errorf("after Reconnect: %+v", b.Target)
		}
	})
}

// TestReconnectTwice: who bounces again and again costs nobody a request, and never a third socket.
func TestReconnectTwice(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		w.brokers[2].On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			if r.Request.(*kmsg.MetadataRequest).Topics == nil { // the lease's, not ours
				time.Sleep(3 * time.Second)
			}
			return w.brokers[2].Well(r)
		})
		l := w.acquire(2)
		defer l.Release()
		results := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := l.Request(w.Context(), kmsg.NewPtrMetadataRequest())
				results <- err
			}()
			w.after(100 * time.Millisecond)
			l.Reconnect()
			synctest.Wait()
			if n := w.net.Open(address(2)); n > 2 {
				t.Errorf("%d connections", n)
			}
		}
		w.after(10 * time.Second)
		for range 3 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if b := w.broker(2); b.State != StateReady || b.Closes[CauseReplaced] != 2 {
			t.Errorf("%s, closes %v", b.State, b.Closes)
		}
	})
}

func TestAny(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.cfg.CheckInterval = 0
		w.net.Blackhole(address(1))
		w.net.Listen("10.9.0.1:9092", w.brokers[1].Serve)
		w.cfg.Seeds = w.seeds("10.9.0.1:9092")
		w.start()
		began := time.Now()
		l, err := w.m.Any(w.Context())
		if err != nil || l.State() != StateReady || l.Broker() == 1 || time.Since(began) > 250*time.Millisecond {
			t.Fatalf("Any: %v, %v, after %s", l, err, time.Since(began))
		}
		l.Release()
		synctest.Wait()
		for id := int32(1); id <= 3; id++ {
			if b := w.broker(id); b.References != 0 {
				t.Errorf("broker %d has %d references left", id, b.References)
			}
		}
	})
}

func TestAnyGivesUpWithItsContext(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.net.Refuse(address(1))
		w.start()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if _, err := w.m.Any(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Any: %v", err)
		}
	})
}

func TestLeader(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		asked := 0
		for _, b := range w.brokers {
			b.On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
				topics := r.Request.(*kmsg.MetadataRequest).Topics
				if len(topics) == 1 {
					asked++
				}
				if topics == nil || len(topics) > 1 {
					t.Errorf("metadata of %d topics was asked for", len(topics))
				}
				return b.Well(r)
			})
		}
		w.cluster.Lead("orders", 3)
		w.start()
		for range 3 {
			l, err := w.m.Leader(w.Context(), "orders", 0)
			if err != nil || l.Broker() != 3 {
				t.Fatalf("Leader: %v, %v", l, err)
			}
			l.Release()
		}
		if asked != 1 {
			t.Errorf("the cluster was asked %d times", asked)
		}
		w.cluster.Lead("orders", 2)
		w.m.ForgetLeader("orders", 0)
		if l, err := w.m.Leader(w.Context(), "orders", 0); err != nil || l.Broker() != 2 {
			t.Errorf("after ForgetLeader: %v, %v", l, err)
		} else {
			l.Release()
		}
		if _, err := w.m.Leader(w.Context(), "nothing", 0); err == nil {
			t.Error("a topic that does not exist has a leader")
		}
	})
}
