package manager

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"kafka_connection_exporter/wire"
)

// shortLife is how long a connection must last for its end to be dialed again at once more than once in a row. A peer
// that answers and then closes, over and over, must not become a loop.
const shortLife = 5 * time.Second

type dialResult struct {
	epoch int
	conn  *wire.Conn
	trace wire.Trace
	err   error
}

// connect starts a connection attempt, unless the address must not be dialed or the credentials are known to be bad.
func (t *target) connect() {
	if err := t.forbidden(); err != nil {
		t.failAttempt(err)
		return
	}
	if d := time.Until(t.restUntil); d > 0 {
		t.answer(answer{target: t, err: t.lastError()})
		t.wait(d)
		return
	}
	t.setState(StateConnecting)
	t.now.Attempts++
	pace := t.m.brokerPace
	if t.isSeed() {
		pace = t.m.seedPace
	}
	t.startDial(t.dialed, pace, t.dialer.Timeout, func(dialResult) {})
}

// forbidden returns why the target must not be dialed now: an address that would reach somebody else, such as 0.0.0.0,
// which is our own loopback, or credentials that the cluster has rejected.
func (t *target) forbidden() *wire.Error {
	if !t.isSeed() {
		if err := MustNotDial(t.peer); err != nil {
			return err
		}
	}
	if t.dialer.SASL != nil {
		return t.m.gate.refusal(t.name)
	}
	return nil
}

// MustNotDial returns why nobody may dial what a broker advertises, or nil.
func MustNotDial(p wire.Peer) *wire.Error {
	if !invalidAddress(p.Host, p.Port) {
		return nil
	}
	return &wire.Error{Phase: wire.PhaseResolve, Reason: wire.ReasonInvalidAddress,
		Err: fmt.Errorf("the broker advertises %q, which must not be dialed; set advertised.listeners", p.String())}
}

func invalidAddress(host string, port int) bool {
	if host == "" || port <= 0 || port > 65535 {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().WithZone("").IsUnspecified()
}

// startDial takes a new connection through its phases in a goroutine of its own, within limit, runs before on the outcome and
// reports it. Waiting for the rate limit, if there is one, is no phase.
func (t *target) startDial(to chan<- dialResult, pace *rate.Limiter, limit time.Duration, before func(dialResult)) {
	t.peer.ClusterID = t.m.cluster()
	t.peer.Form = t.forms.next
	r, peer := dialResult{epoch: t.epoch}, t.peer
	t.goWork(func() {
		if pace != nil {
			r.err = pace.Wait(t.ctx)
		}
		if r.err == nil {
			ctx, cancel := context.WithTimeout(t.ctx, limit)
			r.conn, r.trace, r.err = t.dialer.Dial(ctx, peer)
			cancel()
		}
		before(r)
		select {
		case to <- r:
		case <-t.ctx.Done():
			r.discard()
		}
	})
}

// discard ends a connection that nobody wants any more, and waits for its end.
func (r dialResult) discard() {
	if r.conn != nil {
		r.conn.Close()
		<-r.conn.Ended()
	}
}

func (t *target) onDialed(r dialResult) {
	if r.epoch != t.epoch { // the address changed meanwhile
		t.end(r.conn)
		t.setState(StateIdle)
		return
	}
	onlyTried := t.recordTrace(r)
	if r.err != nil {
		err := wire.AsError(wire.PhaseDial, r.err)
		t.countFailure(err)
		if onlyTried {
			t.retreat(err)
			return
		}
		t.failAttempt(err)
		return
	}
	t.conn, t.connSince, t.proven = r.conn, time.Now(), false
	t.setState(StateReady)
	t.scheduleRenewal()
	t.release()
	t.check()
}

// recordTrace keeps what a finished attempt or fresh handshake found out, and its verdict on accepting connections. It returns true
// if the attempt was a mere try of a newer form of ApiVersions, and says nothing else.
func (t *target) recordTrace(r dialResult) (onlyTried bool) {
	err := wire.AsError(wire.PhaseDial, r.err)
	if t.noteForm(r, err) {
		t.scheduleShake()
		return true
	}
	t.now.Trace = r.trace
	t.noteAddress(r)
	for _, step := range r.trace.Steps {
		if step.Err == nil && t.m.cfg.Observer.Phase != nil {
			t.m.cfg.Observer.Phase(step.Phase, step.Duration)
		}
	}
	t.noteQuestion(err)
	t.judgeAccepts(err)
	if err != nil {
		t.noteCertificate(r.trace.NotAfter)
		if err.Reason == wire.ReasonMisrouted || err.Reason == wire.ReasonWrongCluster {
			t.now.Identity = wire.IdentityWrong
		}
		return false
	}
	t.now.Connects.add(r.trace.Duration())
	t.now.TLS, t.now.Identity = r.conn.TLS, r.conn.Identity
	return false
}

// retreat makes the next attempt after a try of a newer form. The verdict stays: by the older form the target could be reached.
func (t *target) retreat(err *wire.Error) {
	t.answer(answer{target: t, err: err})
	t.wait(backoff(t.m.cfg.BackoffBase, t.m.cfg.BackoffMax, 1, t.m.random()))
}

// noteCertificate keeps the end of a certificate that was not accepted, which most often is why.
func (t *target) noteCertificate(end time.Time) {
	if end.IsZero() {
		return
	}
	seen := wire.TLSInfo{NotAfter: end}
	if t.now.TLS != nil {
		seen.Version, seen.Cipher = t.now.TLS.Version, t.now.TLS.Cipher
	}
	t.now.TLS = &seen
}

// countFailure accounts for an attempt that failed, or a connection that was made and did not answer a check.
func (t *target) countFailure(err *wire.Error) {
	t.now.PhaseFailures[err.Phase]++
	t.countRejection(err)
}

// countRejection accounts for a broker's no to the credentials. Being held back is none.
func (t *target) countRejection(err *wire.Error) {
	if err != nil && err.Reason == wire.ReasonCredentialsRejected && !errors.Is(err, errHeldBack) {
		t.now.AuthFailures++
	}
}

// failAttempt is the end of an attempt that brought no usable connection: the verdict is bad, those who wait are told,
// and the next attempt waits.
func (t *target) failAttempt(err *wire.Error) {
	if !t.foundOutNothing(err) {
		t.judge(err)
	}
	t.now.ConsecutiveFailures++
	t.answer(answer{target: t, err: err})
	if t.conn != nil {
		t.doubt(t.conn.Address.Addr())
	}
	t.disconnect(CauseError)
	if t.isSeed() {
		t.scheduleCheck()
	}
	t.wait(backoff(t.m.cfg.BackoffBase, t.m.cfg.BackoffMax, t.now.ConsecutiveFailures, t.m.random()))
}

// foundOutNothing is about a seed that was well when last asked, and now is not asked, because others have rejected the credentials
// or because we have no file descriptor left: there is no reason to say anything else of it. A broker without its connection
// cannot be used, whyever.
func (t *target) foundOutNothing(err *wire.Error) bool {
	return t.isSeed() && t.now.Reachable == VerdictGood && (errors.Is(err, errAllHeldBack) || err.Ours())
}

// wait enters StateBackoff for d, or for as long as the credentials are held back.
func (t *target) wait(d time.Duration) {
	if held := t.m.gate.heldFor(t.name); t.dialer.SASL != nil && held > d {
		d = held + jitter(t.m.cfg.BackoffMax, 0, 1, t.m.random())
	}
	t.setState(StateBackoff)
	t.now.Backoff = d
	t.retryAt.Reset(d)
}

// onLost handles a connection that ended by itself. One that had proven itself is dialed again at once, and that attempt
// decides on the verdict, so that a mere reconnect never flaps it; the end of one that never answered a check is a failed
// attempt.
func (t *target) onLost() {
	conn, lived := t.conn, time.Since(t.connSince)
	cause := CauseError
	switch {
	case t.renewing: // the broker closes the connection of who could not renew
		cause = CauseReauthentication
	case conn.ClosedByPeer():
		cause = CauseRemote
	}
	t.disconnect(cause)
	if t.forms.works != wire.FormIdentified {
		t.tryNewestForm()
	}
	t.m.nudge(t.m.changed)
	if !t.proven {
		err := wire.AsError(wire.PhaseRequest, conn.Err())
		t.countFailure(err)
		t.doubt(conn.Address.Addr())
		t.failAttempt(err)
		return
	}
	if lived >= shortLife {
		t.losses = 0
	}
	t.losses++
	if t.losses == 1 {
		t.setState(StateIdle)
		return
	}
	t.answer(answer{target: t, err: wire.AsError(wire.PhaseRequest, conn.Err())})
	t.wait(backoff(t.m.cfg.BackoffBase, t.m.cfg.BackoffMax, t.losses-1, t.m.random()))
}

// disconnect lets go of the shared connection.
func (t *target) disconnect(cause Cause) {
	if t.conn == nil {
		return
	}
	t.now.Closes[cause]++
	t.end(t.conn)
	t.drop()
}

// drop forgets the shared connection, and what was planned for it.
func (t *target) drop() {
	t.conn, t.checking, t.repeated, t.renewing, t.replace, t.mutedUntil = nil, false, false, false, nil, time.Time{}
	t.renewAt.Stop()
	if !t.isSeed() {
		t.checkAt.Stop()
	}
}

// end closes a connection without waiting for it here; shutdown waits.
func (t *target) end(conn *wire.Conn) {
	if conn == nil {
		return
	}
	conn.Close()
	t.goWork(func() { <-conn.Ended() })
}

var errStopped = errors.New("the connection manager has stopped, or the broker is no longer part of the cluster")

// stopped is the answer of a target that has ended.
func stopped() *wire.Error {
	return &wire.Error{Phase: wire.PhaseRequest, Reason: wire.ReasonClosed, Err: errStopped}
}
