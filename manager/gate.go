package manager

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"kafka_connection_exporter/wire"
)

// slowExchange is how long a SASL exchange may keep its turn from others once the credentials are known to be good: a
// broker that hangs must not keep the others from authenticating.
const slowExchange = 3 * time.Second

// gate keeps one wrong password from locking an account. All SASL exchanges of a cluster take turns: one at a time until
// one has succeeded, two after that. A definite rejection ends all attempts for the retry interval, or until the
// credentials change; then one tries again. So a rejection costs at most two attempts per interval, however many brokers
// there are.
type gate struct {
	interval time.Duration
	version  func() string // changes with the credentials
	turns    chan struct{} // holds one token while unproven, two while proven, less those that are taken
	proven   atomic.Bool   // the last finished exchange was accepted
	held     atomic.Pointer[hold]
}

// hold is why and for how long nobody may authenticate.
type hold struct {
	until   time.Time
	err     error
	version string // of the rejected credentials
}

var errHeldBack = errors.New("authentication is held back")

func newGate(interval time.Duration, version func() string) *gate {
	if version == nil {
		version = func() string { return "" }
	}
	g := &gate{interval: interval, version: version, turns: make(chan struct{}, 2)}
	g.turns <- struct{}{}
	return g
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

// reopen lifts the hold if the credentials have changed since they were rejected, and says whether it did.
func (g *gate) reopen() bool {
	h := g.held.Load()
	return h != nil && h.version != g.version() && g.held.CompareAndSwap(h, nil)
}

// turn waits for the right to authenticate. The caller reports the outcome exactly once through done.
func (g *gate) turn(ctx context.Context) (done func(error), err error) {
	version := g.version()
	select {
	case <-g.turns:
	case <-ctx.Done():
		return nil, fmt.Errorf("waited for the outcome of other connections' authentication: %w", context.Cause(ctx))
	}
	if refusal := g.refusal(); refusal != nil {
		g.turns <- struct{}{}
		return nil, refusal
	}
	var returned atomic.Bool
	giveBack := func() {
		if returned.CompareAndSwap(false, true) {
			g.turns <- struct{}{} // has room: it is the token taken above
		}
	}
	stop := func() bool { return true }
	if g.proven.Load() {
		stop = time.AfterFunc(slowExchange, giveBack).Stop
	}
	return func(err error) {
		stop()
		g.settle(err, version, giveBack, &returned)
	}, nil
}

// settle draws the conclusion from a finished exchange.
func (g *gate) settle(err error, version string, giveBack func(), returned *atomic.Bool) {
	var typed *wire.Error
	switch {
	case err == nil:
		g.held.Store(nil)
		if g.proven.CompareAndSwap(false, true) {
			g.turns <- struct{}{} // the second token
		}
	case errors.As(err, &typed) && typed.Reason == wire.ReasonCredentialsRejected:
		g.held.Store(&hold{time.Now().Add(g.interval), err, version})
		if g.proven.Load() && returned.CompareAndSwap(false, true) {
			g.proven.Store(false) // and keep the token: one is left
			return
		}
	}
	giveBack()
}
