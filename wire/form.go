package wire

import (
	"errors"
	"io"
	"syscall"
)

// Form is how a connection begins: in which version ApiVersions, the first request, is asked. Most peers that do not know one
// say so and are asked by version 0 (KIP-511). Some hang up instead; whoever dials them tries an older form the next time.
type Form uint8

// The forms, the newest first.
const (
	FormIdentified Form = iota // version 5, with the ids of cluster and broker (KIP-1242); without ids it is FormPlain
	FormPlain                  // version 4
	FormOldest                 // version 0, which all clients know
)

// Version returns the version of ApiVersions that the form asks in.
func (f Form) Version() int16 { return [...]int16{5, 4, 0}[f] }

// Newest returns the newest form that the peer can be asked in.
func (p Peer) Newest() Form {
	if p.ClusterID == "" || p.NodeID < 0 {
		return FormPlain
	}
	return FormIdentified
}

// form returns the one that a connection to the peer begins with.
func (p Peer) form() Form { return max(p.Form, p.Newest()) }

// HungUp says that the peer ended the connection when ApiVersions was asked, without a byte: it may not know the form, or serve nobody.
func (e *Error) HungUp() bool { return errors.Is(e.Err, errHungUp) }

var errHungUp = errors.New("the peer hung up on ApiVersions")

// hungUp marks the error of an ApiVersions exchange in which the peer has not said a word.
func hungUp(c *Conn, err error) error {
	known := AsError(PhaseAPIVersions, err)
	silent := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	if known == nil || c.frames.Load() > 0 || !silent || known.Phase != PhaseAPIVersions {
		return err
	}
	return &Error{known.Phase, known.Reason, markedError{known.Err}}
}

// markedError is an error that is errHungUp besides, without its words: what the peer did is in the text already.
type markedError struct{ error }

func (m markedError) Unwrap() error        { return m.error }
func (m markedError) Is(target error) bool { return target == errHungUp }
