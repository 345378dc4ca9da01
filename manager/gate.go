package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"kafka_connection_exporter/wire"
)

const (
	// slowExchange is how long a SASL exchange may keep its turn from others once the credentials are known to be good: a
	// broker that hangs must not keep the others from authenticating.
	slowExchange = 3 * time.Second
	// credentialPoll is how often the credentials are looked at for a change while they are held back.
	credentialPoll = 5 * time.Second
)

// gate keeps one wrong password from locking an account. All SASL exchanges of a cluster take turns: one at a time until
// one has succeeded, two after that. A definite rejection ends all attempts for the retry interval, or until the
// credentials change; then one tries again. So a rejection costs at most two attempts per interval, however many brokers
// there are. run owns the state; everybody may read what is held back.
type gate struct {
	interval time.Duration
	version  func() string // changes with the credentials
	enter    chan *exchange
	leave    chan departure
	reopened chan struct{} // capacity 1: the credentials have changed
	ended    chan struct{}
	held     atomic.Pointer[hold]

	// Owned by run.
	proven  bool // the last finished exchange was accepted
	running int
	waiting []*exchange
}

// hold is why and for how long nobody may authenticate.
type hold struct {
	until   time.Time
	err     error
	version string // of the rejected credentials
}

// exchange is one caller's wish to authenticate.
type exchange struct {
	granted chan error // has room for the one answer
	version string     // of the credentials, when it asked
	counted bool       // the owner's: it is among the running ones
}

// departure tells the owner what became of an exchange.
type departure struct {
	of   *exchange
	kind departureKind
	err  error // of a finished one
}

type departureKind uint8

const (
	finished departureKind = iota // the broker has answered, or the connection failed
	gaveUp                        // the caller stopped waiting for its turn
	slow                          // it still runs, and takes long
)

var errHeldBack = errors.New("authentication is held back")

func newGate(interval time.Duration, version func() string) *gate {
	if version == nil {
		version = func() string { return "" }
	}
	return &gate{interval: interval, version: version, enter: make(chan *exchange), leave: make(chan departure),
		reopened: make(chan struct{}, 1), ended: make(chan struct{})}
}

// refusal returns why no attempt may start now, or nil.
func (g *gate) refusal() *wire.Error {
	h := g.held.Load()
	if h == nil || !time.Now().Before(h.until) {
		return nil
	}
	return &wire.Error{Phase: wire.PhaseSASL, Reason: wire.ReasonCredentialsRejected,
		Err: fmt.Errorf("%w until %s, so that the account is not locked, or until the credential file changes: %w",
			errHeldBack, h.until.UTC().Format(time.RFC3339), h.err)}
}

// heldFor returns how long no attempt may start.
func (g *gate) heldFor() time.Duration {
	if h := g.held.Load(); h != nil {
		return time.Until(h.until)
	}
	return 0
}

// turn waits for the right to authenticate. The caller reports the outcome exactly once through done.
func (g *gate) turn(ctx context.Context) (done func(error), err error) {
	x := &exchange{granted: make(chan error, 1), version: g.version()}
	select {
	case g.enter <- x:
	case <-g.ended:
		return nil, errStopped
	}
	select {
	case err := <-x.granted:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		g.tell(departure{of: x, kind: gaveUp})
		return nil, fmt.Errorf("waited for the outcome of other connections' authentication: %w", context.Cause(ctx))
	case <-g.ended:
		return nil, errStopped
	}
	timer := time.AfterFunc(slowExchange, func() { g.tell(departure{of: x, kind: slow}) })
	return func(err error) {
		timer.Stop()
		g.tell(departure{of: x, kind: finished, err: err})
	}, nil
}

func (g *gate) tell(d departure) {
	select {
	case g.leave <- d:
	case <-g.ended:
	}
}

// run is the owner. It ends with ctx.
func (g *gate) run(ctx context.Context) {
	defer close(g.ended)
	poll := time.NewTicker(credentialPoll)
	defer poll.Stop()
	for {
		g.admit()
		select {
		case <-ctx.Done():
			return
		case x := <-g.enter:
			g.waiting = append(g.waiting, x)
		case d := <-g.leave:
			g.onDeparture(d)
		case <-poll.C:
			g.lookForChange()
		}
	}
}

// admit answers those who wait: a refusal to all, or a turn to as many as may run.
func (g *gate) admit() {
	limit := 1
	if g.proven {
		limit = 2
	}
	refusal := g.refusal()
	for len(g.waiting) > 0 && (refusal != nil || g.running < limit) {
		x := g.waiting[0]
		g.waiting = g.waiting[1:]
		if refusal != nil {
			x.granted <- refusal
			continue
		}
		x.counted = true
		g.running++
		x.granted <- nil
	}
}

func (g *gate) onDeparture(d departure) {
	if d.kind == slow && !g.proven {
		return // one at a time, however slow, while nobody knows whether the credentials are good
	}
	g.waiting = slices.DeleteFunc(g.waiting, func(x *exchange) bool { return x == d.of })
	if d.of.counted {
		d.of.counted = false
		g.running--
	}
	if d.kind != finished {
		return
	}
	var typed *wire.Error
	switch {
	case d.err == nil:
		g.proven = true
		g.held.Store(nil)
	case errors.As(d.err, &typed) && typed.Reason == wire.ReasonCredentialsRejected:
		g.proven = false
		g.held.Store(&hold{time.Now().Add(g.interval), d.err, d.of.version})
	}
}

// lookForChange lifts the hold if the credentials have changed since they were rejected.
func (g *gate) lookForChange() {
	if h := g.held.Load(); h != nil && h.version != g.version() {
		g.held.Store(nil)
		offer(g.reopened, struct{}{})
	}
}
