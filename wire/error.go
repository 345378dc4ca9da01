package wire

import (
	"errors"
	"fmt"
	"syscall"
)

// Error is what every failure of a connection is returned as: where, why, and the cause as a person wants to read it.
type Error struct {
	Phase  Phase
	Reason Reason
	Err    error // never nil; holds no secret
}

// Error returns "phase: reason: cause".
func (e *Error) Error() string {
	return e.Phase.String() + ": " + e.Reason.String() + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Ours says that this process has no file descriptor left, so that nothing was found out about the peer.
func (e *Error) Ours() bool {
	return errors.Is(e.Err, syscall.EMFILE) || errors.Is(e.Err, syscall.ENFILE)
}

// Question says that the peer broke off when it was asked for its id, which no other client asks for. Peer.NoQuestion leaves that out.
func (e *Error) Question() bool { return errors.Is(e.Err, errQuestion) }

var errQuestion = errors.New("asked for its id by DescribeConfigs")

// AsError returns err as an *Error. One that is not yet typed is classified and charged to phase p; nil stays nil.
func AsError(p Phase, err error) *Error {
	if err == nil {
		return nil
	}
	var typed *Error
	if errors.As(err, &typed) {
		return typed
	}
	var known *reasoned
	if errors.As(err, &known) {
		return &Error{Phase: p, Reason: known.reason, Err: err}
	}
	reason, phase := classify(err, p)
	return &Error{Phase: phase, Reason: reason, Err: err}
}

// reasoned is an error whose reason is known where it occurs and whose phase only the caller knows.
type reasoned struct {
	reason Reason
	err    error
}

func (r *reasoned) Error() string { return r.err.Error() }
func (r *reasoned) Unwrap() error { return r.err }

// because returns an error with reason r and a formatted text.
func because(r Reason, format string, args ...any) error {
	return &reasoned{reason: r, err: fmt.Errorf(format, args...)}
}
