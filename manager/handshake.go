package manager

import (
	"context"
	"errors"
	"time"

	"kafka_connection_exporter/wire"
)

// scheduleShake plans the next fresh handshake. Every finished connection attempt is one, so it starts the clock anew.
func (t *target) scheduleShake() {
	if interval := t.m.cfg.HandshakeInterval; interval > 0 && !t.isSeed() {
		t.shakeAt.Reset(jitter(interval, 0.8, 1, t.m.random()))
	}
}

// onShakeDue makes a fresh connection beside the shared one, through all phases: an old connection can hide a broker
// that accepts no new ones. There is never more than one socket beside the shared connection.
func (t *target) onShakeDue() {
	if t.now.State != StateReady || t.open.Load() > 1 || t.shaking || t.forbidden() != nil {
		t.scheduleShake()
		return
	}
	if !t.m.mayShake() {
		t.shakeAt.Reset(jitter(shakeDelay, 0.5, 1.5, t.m.random()))
		return
	}
	if t.forms.tryAgain() {
		t.tryNewestForm()
	}
	t.shaking = true
	t.now.Attempts++
	t.startDial(t.shaken, nil, t.dialer.Timeout, dialResult.discard)
}

// probe finds out by a fresh connection whether a broker lives that throttles the shared one and so does not answer there (KIP-219).
// It takes the place of a check: within the check's timeout, and no later than one would be.
func (t *target) probe() {
	t.scheduleCheck()
	if !t.shaking && (t.open.Load() > 1 || t.forbidden() != nil) {
		return
	}
	t.probing = true
	if t.shaking {
		return // that one tells as well
	}
	t.shaking = true
	t.now.Attempts++
	t.startDial(t.shaken, nil, t.m.cfg.CheckTimeout, dialResult.discard)
}

// dead is about an attempt that no living broker would have let fail.
func dead(err *wire.Error) bool {
	switch err.Reason {
	case wire.ReasonRefused, wire.ReasonTimeout, wire.ReasonUnreachable, wire.ReasonReset, wire.ReasonClosed:
		return err.Phase == wire.PhaseDial || err.Phase == wire.PhaseTLS || err.Phase == wire.PhaseAPIVersions
	}
	return false
}

// shakeDelay is how long a handshake waits that the rate of new connections leaves no room for.
const shakeDelay = 2 * time.Second

// mayShake takes a new connection off the rate for a handshake, if half of what can be saved up is left: a lost connection must not
// queue behind the handshakes of a large cluster.
func (m *Manager) mayShake() bool {
	return m.brokerPace.Tokens() > float64(m.brokerPace.Burst())/2 && m.brokerPace.Allow()
}

func (t *target) onShaken(r dialResult) {
	t.shaking = false
	t.replaceNow()
	if r.epoch != t.epoch {
		return
	}
	probed := t.probing
	t.probing = false
	onlyTried := t.recordTrace(r)
	if r.err == nil {
		return
	}
	err := wire.AsError(wire.PhaseDial, r.err)
	t.countFailure(err)
	if probed && !onlyTried && dead(err) && t.now.State == StateReady {
		t.failAttempt(err)
	}
}

// judgeAccepts sets the verdict on fresh connections; nil is the good one.
func (t *target) judgeAccepts(err *wire.Error) {
	t.scheduleShake()
	if err != nil && err.Ours() && t.now.Accepts != VerdictUnknown {
		return
	}
	before, beforeFailure := t.now.Accepts, t.now.AcceptFail
	if err == nil {
		t.now.Accepts, t.now.AcceptFail = VerdictGood, nil
		if before == VerdictBad {
			t.emitAccepts(EventAccepts)
		}
		return
	}
	t.now.Accepts, t.now.AcceptFail = VerdictBad, failure(err)
	if !t.now.AcceptFail.same(beforeFailure) {
		t.emitAccepts(EventRefuses)
	}
}

// emitAccepts reports the verdict on fresh connections only where it differs, or has differed, from the one on the shared connection.
func (t *target) emitAccepts(kind EventKind) {
	if t.now.State == StateReady || kind == EventAccepts && t.now.Reachable == VerdictGood {
		t.emit(kind, t.now.AcceptFail)
	}
}

// shortestSession is the shortest that is renewed in time. A broker that grants less gets no more exchanges for it.
const shortestSession = time.Second

type renewResult struct {
	conn *wire.Conn
	err  error
}

// scheduleRenewal plans the re-authentication of KIP-368 at 85 to 95 % of the session's lifetime, as many clients of a
// broker should not come back together.
func (t *target) scheduleRenewal() {
	if start, lifetime, ok := t.conn.Expires(); ok {
		due := time.Until(start.Add(jitter(lifetime, 0.85, 0.95, t.m.random())))
		t.renewAt.Reset(max(due, shortestSession))
	}
}

func (t *target) onRenewDue() {
	if t.conn == nil || t.renewing {
		return
	}
	t.renewing = true
	conn := t.conn
	t.goWork(func() {
		ctx, cancel := context.WithTimeout(t.ctx, t.dialer.Timeout/2)
		defer cancel()
		select {
		case t.renewed <- renewResult{conn, t.dialer.Reauthenticate(ctx, conn)}:
		case <-t.ctx.Done():
		}
	})
}

// onRenewed goes on with the renewed session, or replaces the connection: an end of the session is not a failure of the
// broker, and whether the credentials still are good is for the new connection to find out.
func (t *target) onRenewed(r renewResult) {
	err := wire.AsError(wire.PhaseSASL, r.err)
	t.countRejection(err) // also when the broker has closed the connection, as it does after a rejection
	if r.conn != t.conn {
		return
	}
	t.renewing = false
	switch {
	case err == nil:
		t.scheduleRenewal()
	case (err.Reason == wire.ReasonTokenUnavailable || errors.Is(err, errHeldBack)) && t.sessionLeft() > lastChance:
		t.renewAt.Reset(t.sessionLeft() / 2)
	default:
		t.reconnect(CauseReauthentication)
	}
}

// lastChance is what must be left of a session for another try: a token endpoint that fails for a moment, or credentials that
// others have rejected, are no reason to give up a good connection.
const lastChance = time.Second

func (t *target) sessionLeft() time.Duration {
	start, lifetime, _ := t.conn.Expires()
	return time.Until(start.Add(lifetime))
}
