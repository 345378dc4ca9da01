package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// TestCaseC04LostConnection: the end of a proven connection never flaps the verdict by itself; the redial decides.
// Done: a connection is cut; later it is cut and the port is closed
// Shows: no bad verdict in the first case; `dial` `refused` at once in the second; ready after one backoff
func TestCaseC04LostConnection(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		w.after(time.Minute)
		w.net.Cut(address(2))
		synctest.Wait()
		w.wantReady(2)
		b := w.broker(2)
		if b.ConsecutiveFailures != 0 || b.Closes[CauseRemote] != 1 || w.events.count(EventUnreachable, "broker 2") != 0 {
			t.Errorf("after a mere reconnect: %+v", b.Target)
		}
		w.after(time.Minute)
		w.net.Refuse(address(2))
		w.net.Cut(address(2))
		synctest.Wait()
		w.wantBrokerFailing(2, "dial refused")
		if b := w.broker(2); b.State != StateBackoff || b.Backoff != 250*time.Millisecond {
			t.Errorf("state %s, backoff %s", b.State, b.Backoff)
		}
		w.net.Listen(address(2), w.brokers[2].Serve)
		w.after(250 * time.Millisecond)
		w.wantReady(1, 2)
	})
}

// TestConnectRate: many brokers at once are connected at the configured rate, after a burst of one second's worth.
func TestConnectRate(t *testing.T) {
	inWorld(t, 100, func(w *world) {
		w.cfg.ConnectRate = 10
		w.start()
		dials := func() (n int) {
			for id := int32(2); id <= 100; id++ { // the first is the seed as well
				n += w.net.Dials(address(id))
			}
			return n
		}
		for second := range 9 {
			if n := dials(); n < 10*second+9 || n > 10*second+10 {
				t.Errorf("%d connections after %d s", n, second)
			}
			w.after(time.Second)
		}
		w.after(time.Minute)
		w.wantReady(2, 50, 100)
	})
}

// TestCaseC26FlappingConnection: a peer that answers everything and then closes, over and over.
// Done: every connection is cut as soon as it is ready, 1,000 times in a minute
// Shows: reachable all the time, and no more than 12 attempts
func TestCaseC26FlappingConnection(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		for range 1000 {
			w.net.Cut(address(2))
			w.after(60 * time.Millisecond)
		}
		if n := w.net.Dials(address(2)); n > 12 {
			t.Errorf("%d dials in a minute", n)
		}
		if w.events.count(EventUnreachable, "broker 2") != 0 {
			t.Error("every attempt succeeded, yet the verdict became bad")
		}
	})
}

// TestCaseC04SilentBroker: it shows within check interval + timeout, and comes back.
// Done: a broker stops answering on an open connection
// Shows: `request` `timeout` within check interval and timeout, then `api_versions` `timeout`; ready again when it answers
func TestCaseC04SilentBroker(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		silent := func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence }
		w.brokers[2].On(kmsg.Metadata, silent)
		w.brokers[2].On(kmsg.ApiVersions, silent)
		w.after(15 * time.Second)
		w.wantBrokerFailing(2, "request timeout")
		w.after(10 * time.Second)
		w.wantBrokerFailing(2, "api_versions timeout")
		if b := w.broker(2); b.Closes[CauseError] != 1 || b.RequestFailures[wire.ReasonTimeout] != 1 || b.PhaseFailures[wire.PhaseAPIVersions] == 0 {
			t.Errorf("counters: %+v", b.Target)
		}
		w.brokers[2].On(kmsg.Metadata, nil)
		w.brokers[2].On(kmsg.ApiVersions, nil)
		w.after(10 * time.Second)
		w.wantReady(1, 2)
	})
}

// TestStalledProcess: after this process was stopped, a deadline that came far too late says nothing about the broker. A
// second one in a row does.
func TestStalledProcess(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start()
		target := w.m.index.Load().byID[2]
		late := func() {
			err := wire.AsError(wire.PhaseRequest, context.DeadlineExceeded)
			target.do(func() { target.onChecked(checkResult{conn: target.conn, err: err, took: time.Minute}) })
			synctest.Wait()
		}
		late()
		w.wantReady(2)
		silent := func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence }
		w.brokers[2].On(kmsg.Metadata, silent)
		late()
		late()
		w.wantBrokerFailing(2, "request timeout")
	})
}

// TestCaseC28TenThousandFailures: no more sockets, goroutines or waiters than at the start.
// Done: a broker accepts and closes 10,000 times while a lease waits for it
// Shows: one socket at most, no reference too many, nobody left waiting
func TestCaseC28TenThousandFailures(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.cfg.BackoffBase, w.cfg.BackoffMax = time.Millisecond, time.Millisecond
		w.cfg.ConnectRate = 1e6
		w.net.Listen(address(2), wiretest.Hangup)
		w.start()
		lease, err := w.m.Acquire(2)
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release()
		for w.broker(2).Attempts < 10_000 {
			ctx, cancel := context.WithTimeout(w.Context(), 100*time.Millisecond)
			if err := lease.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Ready: %v", err)
			}
			cancel()
		}
		synctest.Wait()
		if b := w.broker(2); b.OpenConnections > 1 || b.References != 2 {
			t.Errorf("after %d failures: %d sockets, %d references", b.Attempts, b.OpenConnections, b.References)
		}
		asked := make(chan int, 1)
		target := w.m.index.Load().byID[2]
		target.do(func() { asked <- len(target.waiters) })
		if n := <-asked; n != 0 {
			t.Errorf("%d waiters are left", n)
		}
	})
}
