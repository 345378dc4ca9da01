package manager

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
)

// Errors of Acquire, Any and Leader, to be told apart with errors.Is.
var (
	ErrUnknownBroker = errors.New("no metadata has named this broker")
	ErrReleased      = errors.New("the lease has been released")
)

// Lease is a counted reference on a broker's shared connection. While any lease is held the manager keeps the connection
// up, and makes it anew after a loss; the holder keeps the lease. It may be used by many goroutines.
type Lease struct {
	target   *target
	released atomic.Bool
}

// Acquire returns a lease on the broker with this id. It never waits for the network and never dials; the connection may
// still be connecting, which State shows. An id that no metadata has named is ErrUnknownBroker.
func (m *Manager) Acquire(id int32) (*Lease, error) {
	t := m.index.Load().byID[id]
	if t == nil {
		return nil, fmt.Errorf("broker %d: %w", id, ErrUnknownBroker)
	}
	return t.lease()
}

func (t *target) lease() (*Lease, error) {
	if !t.do(func() { t.leases++ }) {
		return nil, fmt.Errorf("%s: %w", t.name, errStopped)
	}
	return &Lease{target: t}, nil
}

// Any returns a lease on some broker, connected at the time of return. It takes one that is ready, or else starts with one
// broker and widens to more whenever the hedge delay passes, until one is ready or ctx ends.
func (m *Manager) Any(ctx context.Context) (*Lease, error) {
	var held []*Lease
	ready := make(chan *Lease, 1)
	var waiters []*waiter // one for each held lease
	defer func() {
		for i, l := range held {
			l.target.do(func() { l.target.forget(waiters[i]) })
			l.Release()
		}
	}()
	tick := time.NewTicker(m.cfg.HedgeDelay)
	defer tick.Stop()
	for {
		if t := m.pickReady(); t != nil {
			return t.lease()
		}
		if l := m.widen(held); l != nil {
			w := &waiter{func() { offer(ready, l) }}
			held, waiters = append(held, l), append(waiters, w)
			l.target.do(func() { l.target.onReady(w) })
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case l := <-ready:
			return l.target.lease()
		case <-tick.C:
		}
	}
}

func offer[T any](to chan<- T, v T) {
	select {
	case to <- v:
	default:
	}
}

// pickReady returns a random broker that is ready, or nil.
func (m *Manager) pickReady() *target {
	brokers := m.index.Load().brokers
	if len(brokers) == 0 {
		return nil
	}
	start := rand.IntN(len(brokers))
	for i := range brokers {
		if t := brokers[(start+i)%len(brokers)]; t.published.Load().conn != nil {
			return t
		}
	}
	return nil
}

// widen leases one more broker that is not yet held, one without a recent failure if there is such.
func (m *Manager) widen(held []*Lease) *Lease {
	taken := make(map[*target]bool, len(held))
	for _, l := range held {
		taken[l.target] = true
	}
	for _, t := range orderCandidates(m.index.Load().brokers, nil, nil, rand.Shuffle) {
		if !taken[t] {
			if l, err := t.lease(); err == nil {
				return l
			}
		}
	}
	return nil
}

// Broker returns the id of the broker that the lease is on.
func (l *Lease) Broker() int32 { return l.target.id }

// State returns the state of the shared connection now, without waiting.
func (l *Lease) State() State { return l.target.published.Load().State }

// Ready waits until the connection is ready, or ctx ends.
func (l *Lease) Ready(ctx context.Context) error {
	_, err := l.conn(ctx)
	return err
}

// Request sends req on the shared connection, in the highest version that both sides know, and waits for the answer. It
// waits for the connection if that is not ready; it does not repeat a request that the connection failed under. When ctx
// ends only the caller stops waiting, the connection stays. A request that a broker answers later than the check timeout
// delays the checks behind it and is taken for silence.
func (l *Lease) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	for {
		conn, err := l.conn(ctx)
		if err != nil {
			return nil, err
		}
		resp, err := conn.Request(ctx, req)
		if errors.Is(err, wire.ErrDrained) {
			continue // it was replaced before the request was sent
		}
		return resp, err
	}
}

func (l *Lease) conn(ctx context.Context) (*wire.Conn, error) {
	for {
		if l.released.Load() {
			return nil, ErrReleased
		}
		if conn := l.target.published.Load().conn; conn != nil && conn.Err() == nil {
			return conn, nil
		}
		ready := make(chan struct{}, 1)
		w := &waiter{func() { offer(ready, struct{}{}) }}
		if !l.target.do(func() { l.target.onReady(w) }) {
			return nil, errStopped
		}
		select {
		case <-ready:
		case <-l.target.ended:
			return nil, errStopped
		case <-ctx.Done():
			l.target.do(func() { l.target.forget(w) })
			return nil, context.Cause(ctx)
		}
	}
}

// Reconnect replaces the shared connection. Requests in flight on the old one finish; other holders keep their leases and
// notice nothing but a new connection. While the broker is not connected there is nothing to replace.
func (l *Lease) Reconnect() {
	if !l.released.Load() {
		l.target.do(func() { l.target.reconnect(CauseReplaced) })
	}
}

// Release gives the reference back. Only the first call counts.
func (l *Lease) Release() {
	if l.released.CompareAndSwap(false, true) {
		l.target.do(func() { l.target.leases-- })
	}
}

// waiter is somebody who wants to know when the connection is ready.
type waiter struct {
	ready func() // called by the owner; must not block
}

// onReady calls w at once if the connection is ready, else when it becomes so. An impatient caller calls forget.
func (t *target) onReady(w *waiter) {
	if t.now.State == StateReady {
		w.ready()
		return
	}
	t.waiters[w] = true
}

func (t *target) forget(w *waiter) { delete(t.waiters, w) }

func (t *target) release() {
	for w := range t.waiters {
		w.ready()
	}
	clear(t.waiters)
}
