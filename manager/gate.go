package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"kafka_connection_exporter/wire"
)

const (
	// slowExchange is how long a SASL exchange may keep its turn from others once the credentials are known to be good: a
	// broker that hangs must not keep the others from authenticating.
	slowExchange = 3 * time.Second
	// quickExchange is the same for the moment after these credentials were accepted for the first time, in which they can hardly
	// be wrong: at the start, many brokers come at once, and those that hang must not be in the way of the others. Later it would be
	// too short for a broker that takes its time to say no.
	quickExchange = 25 * time.Millisecond
	// fresh is how long that moment lasts.
	fresh = 500 * time.Millisecond
	// credentialPoll is how often the credentials are looked at for a change while they are held back.
	credentialPoll = 5 * time.Second
)

// gate keeps one wrong password from locking an account. All SASL exchanges of a cluster take turns: one at a time until
// one has succeeded, two after that; who was slow before takes turns of its own, and so is in nobody's way. A definite rejection
// holds all back for the retry interval, or until the credentials change; then one tries again. Where others have accepted the same
// credentials, a rejection holds back only who rejected, for that broker may be the one that is wrong; a second one, without anybody
// accepting in between, holds back all but those who have accepted, and when one of these rejects, all. So a wrong password costs at
// most two attempts per interval, however many brokers there are, if these answer within slowExchange. run owns the state;
// everybody may read what is held back.
type gate struct {
	interval time.Duration
	version  func() string // changes with the credentials
	enter    chan *exchange
	leave    chan departure
	reopened chan struct{} // capacity 1: the credentials have changed
	ended    chan struct{}
	held     atomic.Pointer[hold]

	// Owned by run.
	accepted        map[string]string // names of targets that accept the credentials, and their addresses
	acceptedVersion string            // of these credentials
	provenAt        time.Time         // when one did first
	vindicated      bool              // one has since the last rejection
	hung            map[string]bool   // names of targets whose last exchange was slow
	running         []*exchange
	waiting         []*exchange
}

// exchange is one caller's wish to authenticate.
type exchange struct {
	granted chan error // has room for the one answer
	began   time.Time  // when it got its turn
	hung    bool       // the target's last one was slow: it takes turns of its own
	who     []string   // the target's name, and the address that it is connected to
	urgent  bool       // a session that ends
	version string     // of the credentials, when it asked
}

// departure tells the owner what became of an exchange.
type departure struct {
	of   *exchange
	kind departureKind
	err  error // of a finished one
}

type departureKind uint8

const (
	finished  departureKind = iota // the broker has answered, or the connection failed
	gaveUp                         // the caller stopped waiting for its turn
	lingering                      // it still runs after quickExchange
	slow                           // it still runs, and takes long
)

func newGate(interval time.Duration, version func() string) *gate {
	if version == nil {
		version = func() string { return "" }
	}
	return &gate{interval: interval, version: version, enter: make(chan *exchange), leave: make(chan departure),
		reopened: make(chan struct{}, 1), ended: make(chan struct{}),
		accepted: make(map[string]string), hung: make(map[string]bool)}
}

// turnOf returns what a target asks for its turn: see wire.Dialer.Turn.
func (g *gate) turnOf(name string) func(context.Context, *wire.Conn) (func(error), error) {
	return func(ctx context.Context, conn *wire.Conn) (func(error), error) {
		_, _, ends := conn.Expires()
		return g.turn(ctx, &exchange{who: []string{name, conn.Address.String()}, urgent: ends})
	}
}

// turn waits for the right to authenticate. The caller reports the outcome exactly once through done.
func (g *gate) turn(ctx context.Context, x *exchange) (done func(error), err error) {
	x.granted, x.version = make(chan error, 1), g.version()
	select {
	case g.enter <- x:
	case <-g.ended:
		return nil, errStopped
	}
	select {
	case err := <-x.granted:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		g.tell(departure{of: x, kind: gaveUp})
		return nil, fmt.Errorf("waited for the outcome of other connections' authentication: %w", context.Cause(ctx))
	case <-g.ended:
		return nil, errStopped
	}
	linger := time.AfterFunc(quickExchange, func() { g.tell(departure{of: x, kind: lingering}) })
	timer := time.AfterFunc(slowExchange, func() { g.tell(departure{of: x, kind: slow}) })
	return func(err error) {
		linger.Stop()
		timer.Stop()
		g.tell(departure{of: x, kind: finished, err: err})
	}, nil
}

func (g *gate) tell(d departure) {
	select {
	case g.leave <- d:
	case <-g.ended:
	}
}

// run is the owner. It ends with ctx.
func (g *gate) run(ctx context.Context) {
	defer close(g.ended)
	poll := time.NewTicker(credentialPoll)
	defer poll.Stop()
	for {
		g.admit()
		select {
		case <-ctx.Done():
			return
		case x := <-g.enter:
			g.await(x)
		case d := <-g.leave:
			g.onDeparture(d)
		case <-poll.C:
			g.lookForChange()
		}
	}
}

// await puts x in the queue. Sessions that end go first: they have been accepted before, and have no time to lose.
func (g *gate) await(x *exchange) {
	x.hung = g.hung[x.who[0]]
	i := slices.IndexFunc(g.waiting, func(other *exchange) bool { return !other.urgent })
	if !x.urgent || i < 0 {
		i = len(g.waiting)
	}
	g.waiting = slices.Insert(g.waiting, i, x)
}

// admit answers those who wait: a refusal to those who are held back, or a turn to as many as may run, one at an address.
func (g *gate) admit() {
	g.waiting = slices.DeleteFunc(g.waiting, func(x *exchange) bool {
		if refusal := g.refusal(x.who...); refusal != nil {
			g.extend(x.who)
			x.granted <- refusal
			return true
		}
		if !g.mayRun(x) {
			return false
		}
		x.began = time.Now()
		g.running = append(g.running, x)
		x.granted <- nil
		return true
	})
}

// mayRun says whether there is a turn for x: one at an address, and as many as its kind has. Each that runs may be rejected, and two
// rejections per interval is all that there may be.
func (g *gate) mayRun(x *exchange) bool {
	same := 0
	for _, other := range g.running {
		if overlap(other.who, x.who) {
			return false
		}
		if other.hung == x.hung {
			same++
		}
	}
	switch {
	case !g.proven(x):
		return len(g.running) == 0
	case x.hung || g.held.Load().active():
		return same == 0
	}
	return same < 2
}

// proven says whether somebody has accepted the same credentials.
func (g *gate) proven(x *exchange) bool { return len(g.accepted) > 0 && g.acceptedVersion == x.version }

func (g *gate) onDeparture(d departure) {
	switch d.kind {
	case lingering:
		if time.Since(g.provenAt) > fresh {
			return
		}
		fallthrough
	case slow:
		if !g.proven(d.of) {
			return // one at a time, however slow, while nobody knows whether the credentials are good
		}
		g.hung[d.of.who[0]] = true
	case finished:
		if d.of.began.Add(slowExchange).After(time.Now()) {
			delete(g.hung, d.of.who[0])
		}
	}
	is := func(x *exchange) bool { return x == d.of }
	g.waiting = slices.DeleteFunc(g.waiting, is)
	g.running = slices.DeleteFunc(g.running, is)
	if d.kind != finished {
		return
	}
	var typed *wire.Error
	switch {
	case d.err == nil:
		g.accept(d.of)
	case errors.As(d.err, &typed) && typed.Reason == wire.ReasonCredentialsRejected:
		g.reject(d)
	}
}

// accept notes who accepts the credentials. Exchanges that linger get out of the way of the others.
func (g *gate) accept(x *exchange) {
	if x.version != g.acceptedVersion {
		clear(g.accepted)
	}
	if len(g.accepted) == 0 {
		g.provenAt = time.Now()
	}
	g.accepted[x.who[0]], g.acceptedVersion = x.who[len(x.who)-1], x.version
	g.vindicate(x)
	if time.Since(g.provenAt) > fresh {
		return
	}
	g.running = slices.DeleteFunc(g.running, func(other *exchange) bool {
		lingers := g.proven(other) && time.Since(other.began) >= quickExchange
		if lingers {
			g.hung[other.who[0]] = true
		}
		return lingers
	})
}
