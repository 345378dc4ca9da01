package manager

import (
	"time"

	"kafka_connection_exporter/wire"
)

// reconnect replaces the shared connection. Requests in flight on the old one finish; new ones go to the new one. While a
// fresh handshake has a socket of its own, or the one before is still finishing, it waits for that to end: there are never more
// than two.
func (t *target) reconnect(cause Cause) {
	if t.now.State != StateReady {
		return
	}
	if t.shaking || t.draining {
		t.replace = &cause
		return
	}
	old := t.conn
	t.now.Closes[cause]++
	t.drop()
	t.setState(StateIdle)
	t.draining = true
	old.Drain(t.m.cfg.CheckTimeout)
	t.goWork(func() {
		select {
		case <-old.Ended():
			t.drained <- struct{}{} // has room for the one
		case <-t.ctx.Done():
			old.Close()
			<-old.Ended()
		}
	})
}

func (t *target) onDrained() {
	t.draining = false
	t.replaceNow()
}

// replaceNow does what had to wait for another socket.
func (t *target) replaceNow() {
	if cause := t.replace; cause != nil {
		t.replace = nil
		t.reconnect(*cause)
	}
}

// rest is how long a target must stay where it is for its next move to be followed at once.
const rest = time.Minute

// move gives the target a new address. The old connection is replaced even if it works: it leads to another place. A target that
// moves to and fro, as brokers disagree about it, is followed with backoff.
func (t *target) move(host string, port int) {
	if host == t.peer.Host && port == t.peer.Port {
		return
	}
	if time.Since(t.movedAt) >= rest {
		t.moves = 0
	}
	t.moves++
	t.movedAt, t.restUntil = time.Now(), time.Time{}
	if t.moves > 1 {
		t.restUntil = t.movedAt.Add(backoff(t.m.cfg.BackoffBase, t.m.cfg.BackoffMax, t.moves-1, t.m.random()))
	}
	t.peer.Host, t.peer.Port, t.peer.Doubtful, t.peer.NoQuestion, t.questions = host, port, nil, false, 0
	t.now.Host, t.now.Port = host, port
	t.now.Accepts, t.now.AcceptFail, t.now.Identity = VerdictUnknown, nil, wire.IdentityUnknown // they are about the old address
	t.now.TLS, t.now.Trace, t.now.APIVersions = nil, wire.Trace{}, -1
	t.forms, t.registryBreaks = forms{}, 0
	t.epoch++
	t.losses = 0
	if t.draining && t.now.State == StateReady { // there is no socket to spare, and this one leads astray
		t.disconnect(CauseReplaced)
		t.setState(StateIdle)
	}
	t.reconnect(CauseReplaced)
	t.retryNow()
}

// retryNow cuts a wait short.
func (t *target) retryNow() {
	if t.now.State == StateBackoff {
		t.setState(StateIdle)
	}
}
