package security

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/sasl"
)

// ticket is GSSAPI with a deadline: gokrb5 knows no context, and gives up on each server of a realm after five seconds.
type ticket struct {
	sasl.Mechanism
	slots   chan struct{}
	destroy func()
}

// begun is what Authenticate returns.
type begun struct {
	session sasl.Session
	first   []byte
	err     error
}

// Authenticate logs in and gets a ticket for the broker at host, a host:port. When ctx ends first, at most maxLogins
// goroutines are left behind until gokrb5 has given up.
func (t ticket) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("waiting for other connections' tickets: %w", context.Cause(ctx))
	}
	done := make(chan begun, 1)
	go func() {
		defer func() { <-t.slots }()
		done <- t.begin(ctx, host)
	}()
	select {
	case b := <-done:
		return b.session, b.first, b.err
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("no ticket from the KDC: %w", context.Cause(ctx))
	}
}

func (t ticket) begin(ctx context.Context, host string) (b begun) {
	defer func() {
		if p := recover(); p != nil {
			b = begun{err: fmt.Errorf("the KDC's answer is malformed: %v", p)}
		}
	}()
	defer t.destroy()
	session, first, err := t.Mechanism.Authenticate(ctx, host)
	if err != nil {
		return begun{err: errors.New(oneLineOf(err.Error()))}
	}
	return begun{session: guarded{session}, first: first}
}

// guarded makes an error of a panic over a malformed token.
type guarded struct {
	sasl.Session
}

// Challenge answers the broker's token.
func (g guarded) Challenge(challenge []byte) (done bool, answer []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			done, answer, err = false, nil, fmt.Errorf("the broker's GSSAPI token is malformed: %v", p)
		}
	}()
	return g.Session.Challenge(challenge)
}
