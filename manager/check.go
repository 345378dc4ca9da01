package manager

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"kafka_connection_exporter/wire"
)

// firstSeedCheck is the time within which every seed gets its first check, so that all verdicts are there soon after the
// start, also those of the seeds that the first round did not need.
const firstSeedCheck = 2 * time.Second

type checkResult struct {
	conn *wire.Conn
	view wire.View
	ping bool // the broker was not asked for its view
	err  error
	took time.Duration
}

// answer is what a target tells a round that asked it.
type answer struct {
	target *target
	view   wire.View
	err    *wire.Error
}

func (t *target) firstCheck() {
	if t.isSeed() && t.m.cfg.SeedCheckInterval > 0 {
		t.checkAt.Reset(jitter(firstSeedCheck, 0, 1, t.m.random()))
	}
}

// scheduleCheck plans the next check. Jitter only shortens the wait: the interval is a promise about how soon a silent
// broker shows.
func (t *target) scheduleCheck() {
	interval := t.m.cfg.CheckInterval
	if t.isSeed() {
		interval = t.m.cfg.SeedCheckInterval
	}
	if interval > 0 {
		due := jitter(interval, 0.9, 1, t.m.random())
		if muted := time.Until(t.mutedUntil); muted > 0 {
			due = min(due, muted)
		}
		t.checkAt.Reset(due)
	}
}

// onCheckDue checks a broker's connection if there is one. A seed has none: it asks itself as a round would.
func (t *target) onCheckDue() {
	if t.isSeed() {
		t.ask(make(chan answer, 1))
		return
	}
	if t.conn != nil && time.Now().Before(t.mutedUntil) {
		t.probe()
		return
	}
	t.check()
}

// ask makes the target send one answer to reply, which has room for it: its own check serves as the request, a missing
// connection is made. A broker in backoff keeps its own clock and answers with its last failure; a seed has no other
// clock than its rounds and checks.
func (t *target) ask(reply chan<- answer) {
	if t.now.State == StateBackoff && !t.isSeed() {
		reply <- answer{target: t, err: t.lastError()}
		return
	}
	t.asks = append(t.asks, reply)
	t.retryNow()
}

// answer tells all rounds that wait.
func (t *target) answer(a answer) {
	for _, reply := range t.asks {
		reply <- a // has room
	}
	t.asks = nil
}

// check asks the broker for its view of the cluster, once at a time, with a deadline: it is the heartbeat, the refresh
// and the proof of a new connection alike. A broker that throttles us answers nothing before that is over (KIP-219), so it
// is not asked. In a large cluster most checks only ask for a sign of life.
func (t *target) check() {
	if t.conn == nil || t.checking || t.conn.Err() != nil || time.Now().Before(t.mutedUntil) {
		return
	}
	t.checking = true
	t.now.Requests++
	r := checkResult{conn: t.conn, ping: t.onlyPing()}
	ask := t.mayAskRegistry()
	t.asking = t.asking || ask
	t.goWork(func() {
		ctx, cancel := context.WithTimeout(t.ctx, t.m.cfg.CheckTimeout)
		defer cancel()
		start := time.Now()
		if r.ping {
			r.view.Throttle, r.err = r.conn.Ping(ctx)
		} else {
			r.view, r.err = r.conn.Describe(ctx, t.m.lastList())
		}
		r.took = time.Since(start)
		select {
		case t.checked <- r:
		case <-t.ctx.Done():
		}
		if ask {
			t.registered <- t.askRegistry(r) // has room for the one
		}
	})
}

// viewsPerSecond is how many lists of brokers all checks together ask for. Each of n brokers names all n, so that without a limit
// the cost would grow with n². At the default interval, up to 250 brokers are asked for their list with every check.
const viewsPerSecond = 25

// onlyPing says whether a sign of life will do: nobody waits for the list, there is no verdict to revise, and others ask enough.
func (t *target) onlyPing() bool {
	spare := t.m.viewPace.Allow()
	return !spare && t.proven && t.now.Reachable == VerdictGood && len(t.asks) == 0 && t.conn.CanPing()
}

// longestMute is for how long a broker is believed that it will not answer, also in what is added up. Kafka's quotas throttle for some seconds; one that
// says days would otherwise not be looked at for days.
const longestMute = time.Minute

// stall is how late a deadline must come for the process itself to be suspected, not the broker: stopped, starved, or on a
// machine that was moved.
const stall = time.Second

// stalled says whether a check ran into its deadline while this process did not run. It proves nothing, and is repeated once.
func (t *target) stalled(r checkResult) bool {
	late := errors.Is(r.err, context.DeadlineExceeded) && r.took >= t.m.cfg.CheckTimeout+stall
	t.repeated = late && !t.repeated
	return t.repeated
}

func (t *target) onChecked(r checkResult) {
	if r.conn == t.conn && t.stalled(r) {
		t.checking = false
		t.check()
		return
	}
	err := t.verify(r)
	if err != nil {
		t.now.RequestFailures[err.Reason]++
	}
	if r.conn != t.conn {
		return // replaced meanwhile; the new connection has its own check
	}
	t.checking = false
	t.mutedUntil = time.Now().Add(min(r.view.Throttle, longestMute))
	t.scheduleCheck()
	switch {
	case err == nil:
		t.onGoodCheck(r)
	case t.conn.Err() != nil && !nonsense(err.Reason):
		// The connection ended under the check; onLost decides what that means.
	case t.conn.Err() != nil:
		t.now.ConsecutiveFailures++
		t.judge(err)
	case keepsConnection(err.Reason):
		t.now.ConsecutiveFailures++
		t.judge(err)
		t.answer(answer{target: t, err: err})
	default:
		t.countFailure(err)
		t.failAttempt(err)
	}
}

// verify returns what is wrong with an answer: the error, or a cluster that is not ours.
func (t *target) verify(r checkResult) *wire.Error {
	err := wire.AsError(wire.PhaseRequest, r.err)
	if err == nil && !t.m.belongs(r.view.ClusterID) {
		err = &wire.Error{Phase: wire.PhaseIdentity, Reason: wire.ReasonWrongCluster,
			Err: fmt.Errorf("it belongs to cluster %q, not to %q", r.view.ClusterID, t.m.cluster())}
	}
	if err != nil && (err.Reason == wire.ReasonWrongCluster || err.Reason == wire.ReasonEmptyMetadata) {
		t.m.rejected[err.Reason].Add(1)
		t.emit(EventAnswerRejected, failure(err))
	}
	return err
}

// nonsense is about answers that end their connection and are an answer all the same: a check has finished, and was bad.
func nonsense(r wire.Reason) bool {
	return r == wire.ReasonProtocol || r == wire.ReasonFrameTooLarge
}

// keepsConnection is about answers that are bad news and yet prove that the connection works.
func keepsConnection(r wire.Reason) bool {
	return r == wire.ReasonEmptyMetadata || r == wire.ReasonKafkaError || r == wire.ReasonUnsupportedVersion
}

func (t *target) onGoodCheck(r checkResult) {
	t.proven = true
	t.now.ConsecutiveFailures = 0
	t.now.RoundTrips.add(r.took)
	t.now.LastSuccess = time.Now()
	t.now.Throttled += min(r.view.Throttle, longestMute)
	if !t.isSeed() && t.m.cfg.Observer.Request != nil {
		t.m.cfg.Observer.Request(t.now.ID, r.took)
	}
	t.judge(nil)
	if !r.ping { // who asked meanwhile waits for the next check, which follows at once
		t.noteAnomalies(r.view.Anomalies)
		t.noteView(r.view)
		t.answer(answer{target: t, view: r.view})
	}
	t.resolveAgain()
}

// judge sets the verdict on reaching the target; nil is the good one. A change is an event, and news for the rounds.
func (t *target) judge(err *wire.Error) {
	before, beforeFailure := t.now.Reachable, t.now.Failure
	if err == nil {
		t.now.Reachable, t.now.Failure = VerdictGood, nil
		if before != VerdictGood {
			t.emit(EventReachable, nil)
			t.m.nudge(t.m.recovered)
		}
		return
	}
	t.now.Reachable, t.now.Failure = VerdictBad, failure(err)
	if !t.now.Failure.same(beforeFailure) {
		t.emit(EventUnreachable, t.now.Failure)
	}
	if before == VerdictGood {
		t.m.nudge(t.m.changed)
	}
}

// lastError returns the failure that keeps the target in backoff.
func (t *target) lastError() *wire.Error {
	if f := t.now.Failure; f != nil {
		return &wire.Error{Phase: f.Phase, Reason: f.Reason, Err: fmt.Errorf("%s", f.Text)}
	}
	return &wire.Error{Phase: wire.PhaseRequest, Reason: wire.ReasonClosed, Err: fmt.Errorf("the connection was lost and is about to be made again")}
}

func (t *target) emit(kind EventKind, f *Failure) {
	if t.m.cfg.OnEvent != nil {
		t.m.cfg.OnEvent(Event{Kind: kind, Target: t.name, Address: t.peer.String(), Failure: f})
	}
}

// resolveAgain looks the name up, at most once per refresh interval, to find out whether the connection still leads to
// where the name points.
func (t *target) resolveAgain() {
	_, notName := netip.ParseAddr(t.peer.Host)
	if t.isSeed() || notName == nil || t.resolving || time.Since(t.resolvedAt) < t.m.cfg.RefreshInterval {
		return
	}
	t.resolving, t.resolvedAt = true, time.Now()
	host, epoch := t.peer.Host, t.epoch
	t.goWork(func() {
		ctx, cancel := context.WithTimeout(t.ctx, t.m.cfg.CheckTimeout)
		defer cancel()
		addrs, _ := t.dialer.Lookup(ctx, host) // a name server that fails is no news about the connection
		select {
		case t.resolved <- resolveResult{epoch, addrs}:
		case <-t.ctx.Done():
		}
	})
}

type resolveResult struct {
	epoch int
	addrs []netip.Addr
}

func (t *target) onResolved(r resolveResult) {
	t.resolving = false
	if r.epoch != t.epoch || len(r.addrs) == 0 || t.conn == nil {
		return
	}
	if !slices.ContainsFunc(r.addrs, func(a netip.Addr) bool { return a.Unmap() == t.conn.Address.Addr() }) {
		t.reconnect(CauseReplaced)
	}
}
