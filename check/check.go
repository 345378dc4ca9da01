// Package check tries once what a client of a Kafka cluster does, for every seed and every broker, and says how far each got, what
// it saw, why it failed and what to do. Run makes a Report, which is a value; the rest writes it for people and programs.
package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/seeds"
	"kafka_connection_exporter/wire"
)

// Target is one cluster to check.
type Target struct {
	Name      string // of the cluster, as the user calls it; may be empty
	Vantage   string // where this runs
	Seeds     seeds.List
	Dialer    *wire.Dialer // whose Turn is Run's to set
	ClusterID string       // pinned; empty: the first one seen is
	Expected  int          // brokers that there should be; 0: unknown

	ConnectRate    float64       // new connections per second
	RequestTimeout time.Duration // for one answer on a finished connection
	RetryInterval  time.Duration // between SASL attempts after a rejection: longer than any check

	Progress func(Progress) // called by one goroutine whenever something was found out; nil: not at all
}

// Progress is how far a check has come.
type Progress struct {
	Cluster      string
	Done, Known  int // brokers
	Seeds, Tried int
	Waiting      []int32 // brokers that are not done, ascending
	Elapsed      time.Duration
}

// String is "7 of 30 brokers, 2 s", and who the rest are once they are few.
func (p Progress) String() string {
	what := fmt.Sprintf("%d of %d brokers", p.Done, p.Known)
	if p.Known == 0 {
		what = fmt.Sprintf("%d of %d seeds", p.Tried, p.Seeds)
	}
	if p.Cluster != "" {
		what = clean(p.Cluster, false) + ": " + what
	}
	what = fmt.Sprintf("%s, %d s", what, int(p.Elapsed.Seconds()))
	if n := len(p.Waiting); n > 0 && n <= mostListed {
		what += ", waiting for " + plural("broker", n) + " " + ranges(p.Waiting)
	}
	return what
}

// Run tries every seed, and every broker that the first good seed names, once. It ends when all is known or ctx ends, and leaves
// no connection behind. What ctx did not leave time for is said to be unfinished.
func Run(ctx context.Context, t Target) Report {
	c := &run{
		target: t, started: time.Now(), gate: manager.NewGate(t.RetryInterval, nil),
		// A check happens once: it may save up two seconds' worth of new connections, and then keeps to the rate.
		pace:     rate.NewLimiter(rate.Limit(t.ConnectRate), max(1, int(2*t.ConnectRate))),
		learned:  make(chan lesson),
		finished: make(chan *outcome),
	}
	gateCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	gateEnded := make(chan struct{})
	go func() { c.gate.Run(gateCtx); close(gateEnded) }()
	c.collect(ctx)
	stop()
	<-gateEnded
	return c.report(context.Cause(ctx))
}

// run is one check under way. Only collect and what it calls write the lists.
type run struct {
	target   Target
	started  time.Time
	gate     *manager.Gate
	pace     *rate.Limiter
	first    atomic.Bool // a seed has answered, and is who is believed
	learned  chan lesson // from that seed, once
	finished chan *outcome

	plan    *lesson // nil while no seed has answered
	seeds   []*outcome
	brokers []*outcome
	running int
}

// lesson is what the first good seed says.
type lesson struct {
	from *outcome
	view wire.View
}

func (c *run) collect(ctx context.Context) {
	for s := range c.target.Seeds.All() {
		o := &outcome{name: s.String(), peer: wire.Peer{Host: s.Host, Port: s.Port, NodeID: -1}}
		c.seeds = append(c.seeds, o)
		c.start(ctx, o)
	}
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for c.running > 0 {
		select {
		case l := <-c.learned:
			c.plan = &l
			for _, b := range l.view.Brokers {
				c.startBroker(ctx, b, false)
			}
		case o := <-c.finished:
			c.running--
			o.done = true
			c.startFenced(ctx, o)
		case <-tick.C:
		}
		c.tell()
	}
}

// progressInterval is how often the time that has passed is told.
const progressInterval = 500 * time.Millisecond

func (c *run) start(ctx context.Context, o *outcome) {
	c.running++
	go func() {
		c.try(ctx, o)
		c.finished <- o
	}()
}

func (c *run) startBroker(ctx context.Context, b wire.BrokerInfo, fenced bool) {
	o := &outcome{name: fmt.Sprintf("broker %d", b.ID), rack: b.Rack, fenced: fenced, inMetadata: !fenced,
		peer: wire.Peer{Host: b.Host, Port: b.Port, NodeID: b.ID, ClusterID: c.plan.view.ClusterID}}
	if c.plan.view.ClusterID == "" {
		o.peer.ClusterID = c.target.ClusterID
	}
	c.brokers = append(c.brokers, o)
	c.start(ctx, o)
}

// startFenced tries the brokers that only DescribeCluster names, as the daemon does: where both name the same addresses for all
// others. Elsewhere its addresses are not those that clients can dial, and the brokers are only shown.
func (c *run) startFenced(ctx context.Context, o *outcome) {
	if o.registry == nil {
		return
	}
	same := len(c.registryDifferences(o)) == 0
	for _, b := range o.registry.Brokers {
		switch {
		case !b.Fenced || c.named(b.ID):
		case same:
			c.startBroker(ctx, b.BrokerInfo, true)
		default:
			c.brokers = append(c.brokers, &outcome{name: fmt.Sprintf("broker %d", b.ID), rack: b.Rack, fenced: true, shownOnly: true, done: true,
				peer: wire.Peer{Host: b.Host, Port: b.Port, NodeID: b.ID}})
		}
	}
}

func (c *run) named(id int32) bool {
	for _, b := range c.plan.view.Brokers {
		if b.ID == id {
			return true
		}
	}
	return false
}

func (c *run) tell() {
	if c.target.Progress == nil {
		return
	}
	p := Progress{Cluster: c.target.Name, Known: len(c.brokers), Seeds: len(c.seeds), Elapsed: time.Since(c.started)}
	for _, o := range c.brokers {
		if o.done {
			p.Done++
		} else {
			p.Waiting = append(p.Waiting, o.peer.NodeID)
		}
	}
	slices.Sort(p.Waiting)
	for _, o := range c.seeds {
		if o.done {
			p.Tried++
		}
	}
	c.target.Progress(p)
}

// cutOff says whether err is our own impatience, and tells nothing about the peer.
func cutOff(ctx context.Context, err *wire.Error) bool {
	return ctx.Err() != nil && (err.Reason == wire.ReasonTimeout || errors.Is(err, context.Canceled))
}
