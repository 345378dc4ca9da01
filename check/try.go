package check

import (
	"context"
	"fmt"
	"time"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

// outcome is what became of one target. Its goroutine writes it and then hands it over.
type outcome struct {
	name       string // "broker 2", or a seed's host:port
	peer       wire.Peer
	rack       string
	inMetadata bool
	fenced     bool
	shownOnly  bool // not tried: see startFenced
	done       bool // collect's

	trace       wire.Trace
	err         *wire.Error // nil: well
	unfinished  bool
	tls         *wire.TLSInfo
	identity    wire.Identity
	apiVersions int16 // -1: unknown
	like        string
	form        wire.Form
	answered    bool           // Metadata
	clusterID   string         // in that answer
	differs     string         // how a broker's list differs from the plan's; the list itself is not kept, a thousand of them would be too much
	registry    *wire.Registry // of the first good seed
	registryErr error
	offers      bool // DescribeCluster
}

// try takes the target through all phases once, asks for its view of the cluster and ends the connection.
func (c *run) try(ctx context.Context, o *outcome) {
	conn, err := c.dial(ctx, o)
	if err == nil {
		o.tls, o.identity, o.apiVersions, o.like, o.form = conn.TLS, conn.Identity, conn.APIVersions, conn.Like(), conn.Form
		err = c.ask(ctx, o, conn)
		conn.Close()
		<-conn.Ended()
	}
	if o.err = err; err != nil {
		o.unfinished = o.unfinished || cutOff(ctx, err)
	}
}

// dial makes the connection. A peer that hangs up on the newest form of ApiVersions is asked in older ones, and one that breaks off
// over the question for its id without it, as the daemon's next attempts would.
func (c *run) dial(ctx context.Context, o *outcome) (*wire.Conn, *wire.Error) {
	if o.peer.NodeID >= 0 {
		if err := manager.MustNotDial(o.peer); err != nil {
			o.trace.Steps = []wire.Step{{Phase: err.Phase, Err: err}}
			return nil, err
		}
	}
	dialer := *c.target.Dialer
	dialer.KeepChain, dialer.Turn = true, c.gate.TurnOf(o.name)
	for {
		if err := c.pace.Wait(ctx); err != nil {
			o.unfinished = true
			return nil, notInTime(ctx)
		}
		conn, trace, failed := dialer.Dial(ctx, o.peer)
		o.trace = trace
		err := wire.AsError(wire.PhaseDial, failed)
		switch {
		case err == nil:
			return conn, nil
		case err.HungUp() && trace.Form < wire.FormOldest:
			o.peer.Form = trace.Form + 1
		case err.Question() && !o.peer.NoQuestion:
			o.peer.NoQuestion = true
		default:
			return nil, err
		}
	}
}

// notInTime is about a target that had no turn before ctx ended: the limiter says so ahead of the deadline.
func notInTime(ctx context.Context) *wire.Error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	return &wire.Error{Phase: wire.PhaseResolve, Reason: wire.ReasonTimeout, Err: fmt.Errorf("it had no turn yet: %w", cause)}
}

// ask is the first request on the connection: what the peer says of the cluster.
func (c *run) ask(ctx context.Context, o *outcome, conn *wire.Conn) *wire.Error {
	var known []wire.BrokerInfo
	if o.peer.NodeID >= 0 {
		known = c.plan.view.Brokers
	}
	start := time.Now()
	view, failed := c.describe(ctx, conn, known)
	err := wire.AsError(wire.PhaseRequest, failed)
	o.trace.Steps = append(o.trace.Steps, wire.Step{Phase: wire.PhaseRequest, Duration: time.Since(start), Err: err})
	if err != nil {
		return err
	}
	o.answered, o.clusterID = true, view.ClusterID
	if o.peer.NodeID >= 0 {
		o.differs = list(differences(known, view.Brokers))
	}
	if id := c.target.ClusterID; id != "" && view.ClusterID != "" && view.ClusterID != id {
		return otherCluster(view.ClusterID, id)
	}
	if o.peer.NodeID >= 0 || !c.first.CompareAndSwap(false, true) {
		return nil
	}
	c.learned <- lesson{o, view}
	if o.offers = conn.OffersRegistry(); o.offers {
		c.askRegistry(ctx, o, conn)
	}
	return nil
}

func (c *run) describe(ctx context.Context, conn *wire.Conn, known []wire.BrokerInfo) (wire.View, error) {
	ctx, cancel := context.WithTimeout(ctx, c.target.RequestTimeout)
	defer cancel()
	return conn.Describe(ctx, known)
}

// askRegistry asks what Metadata does not tell. Whatever becomes of it is no verdict.
func (c *run) askRegistry(ctx context.Context, o *outcome, conn *wire.Conn) {
	ctx, cancel := context.WithTimeout(ctx, c.target.RequestTimeout)
	defer cancel()
	registry, err := conn.Registry(ctx)
	if o.registryErr = err; err == nil {
		o.registry = &registry
	}
}

// otherCluster is charged as the daemon does.
func otherCluster(got, want string) *wire.Error {
	return &wire.Error{Phase: wire.PhaseIdentity, Reason: wire.ReasonWrongCluster,
		Err: fmt.Errorf("the peer belongs to cluster %q, not to %q", got, want)}
}
