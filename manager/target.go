package manager

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kafka_connection_exporter/wire"
)

// target is a seed or a broker. Its run goroutine owns every field below the line; others send it functions to run and
// read what it published.
type target struct {
	m         *Manager
	id        int32         // of the broker; -1 for a seed
	key       string        // "a:9092" of a seed, "3" of a broker
	name      string        // "seed a:9092" or "broker 3", for events
	dialer    wire.Dialer   // the manager's, counting this target's sockets
	open      atomic.Int64  // sockets open now
	commands  chan func()   // run by the owner
	ended     chan struct{} // closed when the owner has gone
	published atomic.Pointer[published]
	stop      context.CancelFunc // set by whoever starts the owner

	// Owned by run.
	ctx  context.Context
	work sync.WaitGroup // goroutines of the owner: dials, checks, look-ups, drains
	peer wire.Peer
	now  Broker // what is published; a seed uses the Target part

	conn       *wire.Conn
	connSince  time.Time
	proven     bool      // a check has succeeded on conn
	epoch      int       // of the address; a result of an older one is stale
	losses     int       // proven connections in a row that lived too short
	questions  int       // attempts in a row that broke off over the question for the broker's id
	moves      int       // changes of the address that came soon after one another
	movedAt    time.Time // the last one
	restUntil  time.Time // no connection before
	leases     int
	asks       []chan<- answer  // rounds that wait for an answer
	waiters    map[*waiter]bool // lease holders that wait for a connection
	mutedUntil time.Time        // the broker throttles conn until then
	repeated   bool             // the check under way repeats one that proved nothing
	checking   bool             // a check is under way
	retryAt    *time.Timer      // ends StateBackoff
	checkAt    *time.Timer
	shakeAt    *time.Timer // fresh handshake
	renewAt    *time.Timer // SASL session
	renewing   bool
	shaking    bool
	probing    bool   // the fresh handshake under way stands for a check
	draining   bool   // a connection that was replaced still finishes its requests
	replace    *Cause // why the shared connection is to be replaced after the handshake or the draining; nil: it is not
	resolving  bool
	resolvedAt time.Time
	list       []wire.BrokerInfo // of the last answer, if it is the one that all share
	signature  uint64            // of the last answer's list; 0 before there is one
	asking     bool              // DescribeCluster is being asked
	forms      forms             // in which ApiVersions is asked
	toldForm   wire.Form         // the one that the last event about it named

	registryBreaks int // connections in a row that broke over DescribeCluster

	dialed   chan dialResult
	checked  chan checkResult
	shaken   chan dialResult
	renewed  chan renewResult
	resolved chan resolveResult
	drained  chan struct{}

	registered chan registryResult
}

// published is what readers see of a target.
type published struct {
	Broker
	conn      *wire.Conn // nil unless ready
	signature uint64
}

func newTarget(m *Manager, kind, key string, peer wire.Peer) *target {
	t := &target{
		m: m, id: peer.NodeID, key: key, name: kind + " " + key, dialer: *m.cfg.Dialer, peer: peer,
		commands: make(chan func()), ended: make(chan struct{}),
		dialed: make(chan dialResult, 1), checked: make(chan checkResult, 1), shaken: make(chan dialResult, 1),
		renewed: make(chan renewResult, 1), resolved: make(chan resolveResult, 1),
		drained: make(chan struct{}, 1), registered: make(chan registryResult, 1),
		waiters: make(map[*waiter]bool),
		retryAt: stoppedTimer(), checkAt: stoppedTimer(), shakeAt: stoppedTimer(), renewAt: stoppedTimer(),
	}
	t.now.ID, t.now.Host, t.now.Port, t.now.APIVersions = peer.NodeID, peer.Host, peer.Port, -1
	t.now.StateChanges[StateIdle] = 1
	t.dialer.DialAddress = countSockets(m.cfg.Dialer.DialAddress, &t.open)
	t.dialer.Turn = m.gate.turnOf(t.name)
	t.publish()
	return t
}

func stoppedTimer() *time.Timer {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return timer
}

func (t *target) isSeed() bool { return t.id < 0 }

// run is the owner. One turn handles one event, then brings the connection in line with what is wanted, then publishes.
func (t *target) run(ctx context.Context) {
	t.ctx = ctx
	defer close(t.ended)
	defer t.shutdown()
	t.firstCheck()
	for {
		t.settle()
		t.publish()
		select {
		case <-ctx.Done():
			return
		case command := <-t.commands:
			command()
		case r := <-t.dialed:
			t.onDialed(r)
		case <-t.connDone():
			t.onLost()
		case r := <-t.checked:
			t.onChecked(r)
		case r := <-t.shaken:
			t.onShaken(r)
		case r := <-t.renewed:
			t.onRenewed(r)
		case r := <-t.resolved:
			t.onResolved(r)
		case r := <-t.registered:
			t.onRegistry(r)
		case <-t.drained:
			t.onDrained()
		case <-t.retryAt.C:
			t.setState(StateIdle)
		case <-t.checkAt.C:
			t.onCheckDue()
		case <-t.shakeAt.C:
			t.onShakeDue()
		case <-t.renewAt.C:
			t.onRenewDue()
		}
	}
}

// settle is the rule that every turn ends with: a connection that is wanted is made, one that nobody wants is closed.
func (t *target) settle() {
	wanted := t.references() > 0 || t.asking && t.isSeed()
	switch {
	case wanted && t.now.State == StateIdle:
		t.connect()
	case !wanted && t.now.State == StateReady:
		t.disconnect(CauseIdle)
		t.setState(StateIdle)
	}
	if t.now.State == StateReady && len(t.asks) > 0 {
		t.check()
	}
}

// references counts who holds the shared connection: the checker of a broker, leases, and rounds that wait.
func (t *target) references() int {
	n := t.leases + len(t.asks)
	if !t.isSeed() && !t.now.Hidden && t.m.cfg.CheckInterval > 0 && t.now.State != StateClosed {
		n++
	}
	return n
}

// setState is the only place where the state changes.
func (t *target) setState(s State) {
	if s == t.now.State {
		return
	}
	if !legal[t.now.State][s] {
		panic(fmt.Sprintf("manager: %s: illegal change of state from %s to %s", t.name, t.now.State, s))
	}
	t.now.State = s
	t.now.StateChanges[s]++
	if s != StateBackoff {
		t.retryAt.Stop()
		t.now.Backoff = 0
	}
}

func (t *target) publish() {
	now := t.now
	now.References = t.references()
	var conn *wire.Conn
	if now.State == StateReady {
		conn = t.conn
	}
	t.published.Store(&published{Broker: now, conn: conn, signature: t.signature})
}

// do lets the owner run f in its next turn. It reports false when the owner has gone.
func (t *target) do(f func()) bool {
	select {
	case t.commands <- f:
		return true
	case <-t.ended:
		return false
	}
}

// shutdown ends everything that the owner started and waits for it.
func (t *target) shutdown() {
	t.disconnect(CauseShutdown)
	t.setState(StateClosed)
	for _, timer := range []*time.Timer{t.retryAt, t.checkAt, t.shakeAt, t.renewAt} {
		timer.Stop()
	}
	t.answer(answer{target: t, err: stopped()})
	t.work.Wait()
	for _, results := range []chan dialResult{t.dialed, t.shaken} {
		select {
		case r := <-results:
			r.discard()
		default:
		}
	}
	t.leases = 0
	t.publish()
}

// goWork runs f in a goroutine that shutdown waits for.
func (t *target) goWork(f func()) { t.work.Go(f) }

// connDone tells that the shared connection has ended, but not before the result of a check on it is there, which its end makes
// come at once: an answer that arrived just before the end is a good one.
func (t *target) connDone() <-chan struct{} {
	if t.conn == nil || t.checking {
		return nil
	}
	return t.conn.Done()
}

// failure copies an error for the snapshot.
func failure(err *wire.Error) *Failure {
	text := err.Err.Error()
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return &Failure{Phase: err.Phase, Reason: err.Reason, Text: text, Time: time.Now()}
}

// longestText bounds what is kept and logged of an error in bytes: peers put into it what they like.
const longestText = 1000

func (f *Failure) same(g *Failure) bool {
	return f == nil && g == nil || f != nil && g != nil && f.Phase == g.Phase && f.Reason == g.Reason
}
