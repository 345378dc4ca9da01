package security

import (
	"context"
	"fmt"
	"time"
)

// usableShare is how much of its life a token or a key is used for.
const usableShare = 0.8

// shortHold is how long a failure that may pass is handed on to others, so that a cluster of connections does not storm
// the server that just failed.
const shortHold = time.Second

// cached holds what a server gave, until most of its life is over. One caller at a time asks the server; the others wait
// for the answer as long as their own context lets them.
type cached[T any] struct {
	turn    chan struct{} // holds one item while somebody is inside
	version string        // of the credentials that it was obtained with
	value   T
	err     error
	until   time.Time // the value, or the error, is as good as new
}

// obtained is an answer: a value that ends at expiry (zero: do not keep it), or an error that need not be provoked again
// for hold.
type obtained[T any] struct {
	value  T
	expiry time.Time
	err    error
	hold   time.Duration
}

func newCached[T any]() *cached[T] { return &cached[T]{turn: make(chan struct{}, 1)} }

// get returns what is cached for version, or else calls obtain.
func (c *cached[T]) get(ctx context.Context, version string, obtain func(context.Context) obtained[T]) (T, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("waiting for another connection's request: %w", context.Cause(ctx))
	}
	now := time.Now()
	if c.version == version && now.Before(c.until) {
		return c.value, c.err
	}
	got := obtain(ctx)
	c.version, c.value, c.err, c.until = version, got.value, got.err, time.Time{}
	switch {
	case got.err == nil && !got.expiry.IsZero():
		c.until = now.Add(time.Duration(usableShare * float64(got.expiry.Sub(now))))
	case got.err != nil && ctx.Err() == nil:
		c.until = time.Now().Add(got.hold)
	}
	return got.value, got.err
}

// forget drops a value that turned out to be of no use. It does not wait for who is just asking for a new one.
func (c *cached[T]) forget() {
	select {
	case c.turn <- struct{}{}:
		c.until = time.Time{}
		<-c.turn
	default:
	}
}
