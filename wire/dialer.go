package wire

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
)

// Peer is whom to dial, and who must answer.
type Peer struct {
	Host      string
	Port      int
	NodeID    int32  // -1 for a seed, which has no id
	ClusterID string // empty while unknown

	// NoQuestion leaves out DescribeConfigs, the question for the id of a broker before Kafka 4.4. Brokers and proxies that offer
	// it and break off when it comes serve everybody else.
	NoQuestion bool

	// Form is the newest one that the peer is asked in.
	Form Form

	// Doubtful are addresses of Host where attempts failed after TCP had connected, the longest ago first. They are tried when
	// the others have failed, or have had half of the time: such an address wins every race and helps nobody.
	Doubtful []netip.Addr
}

// String returns host:port.
func (p Peer) String() string { return net.JoinHostPort(p.Host, strconv.Itoa(p.Port)) }

// Dialer opens connections. Its fields are set before the first Dial and never change; the functions are called anew for
// every connection, so that files and tokens are as fresh as the connection. A Dialer may be used by many goroutines.
type Dialer struct {
	Timeout         time.Duration // for all phases of one connection
	AttemptDelay    time.Duration // head start of one address of a name over the next (RFC 8305)
	ClientID        string
	SoftwareVersion string // told to the broker beside the software's name (KIP-511)
	KeepChain       bool   // in the traces; who keeps many traces has no use for it

	Lookup      func(ctx context.Context, host string) ([]netip.Addr, error)
	DialAddress func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	TLS         func(host string) (*tls.Config, error)                         // nil: plaintext
	SASL        func(ctx context.Context, host string) (sasl.Mechanism, error) // nil: no authentication

	// Turn is asked before credentials are shown on a connection, may wait or refuse, and is told the outcome once. nil: always
	// at once.
	Turn func(ctx context.Context, c *Conn) (done func(error), err error)
}

// Dial takes a connection through its phases. It returns the trace in any case, and either a usable connection or an
// *Error that names the phase. Each phase has half of Timeout, except the TCP dial, whose packets may need all of what
// is left. After an error nothing is left behind.
func (d *Dialer) Dial(ctx context.Context, peer Peer) (*Conn, Trace, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	a := &attempt{dialer: d, peer: peer, trace: Trace{Started: time.Now()}}
	if err := a.connect(ctx); err != nil {
		a.abandon()
		return nil, a.trace, err
	}
	return a.conn, a.trace, nil
}

// attempt is one Dial: it collects what its phases find out.
type attempt struct {
	dialer *Dialer
	peer   Peer
	trace  Trace

	addrs   []netip.Addr
	address netip.AddrPort
	raw     net.Conn
	tls     *TLSInfo
	conn    *Conn // takes over raw

	mismatch, confirmed bool // what ApiVersions said about the peer's identity
}

func (a *attempt) connect(ctx context.Context) *Error {
	half := a.dialer.Timeout / 2
	phases := []struct {
		phase Phase
		limit time.Duration
		skip  bool
		run   func(context.Context) error
	}{
		{PhaseResolve, half, false, a.resolve},
		{PhaseDial, a.dialer.Timeout, false, a.dial},
		{PhaseTLS, half, a.dialer.TLS == nil, a.handshake},
		{PhaseAPIVersions, half, false, a.apiVersions},
		{PhaseSASL, a.dialer.Timeout, a.dialer.SASL == nil, a.authenticate},
		{PhaseIdentity, half, a.peer.NodeID < 0, a.identify},
	}
	for _, p := range phases {
		if p.skip {
			continue
		}
		if err := a.step(ctx, p.phase, p.limit, p.run); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) step(ctx context.Context, p Phase, limit time.Duration, run func(context.Context) error) *Error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	err := AsError(p, run(ctx))
	a.trace.Steps = append(a.trace.Steps, Step{Phase: p, Duration: time.Since(start), Err: err})
	return err
}

// abandon ends what a failed attempt has open.
func (a *attempt) abandon() {
	if a.conn != nil {
		a.conn.Close()
		<-a.conn.Ended()
	} else if a.raw != nil {
		_ = a.raw.Close()
	}
}

func (a *attempt) resolve(ctx context.Context) error {
	var addrs []netip.Addr
	if addr, err := netip.ParseAddr(a.peer.Host); err == nil {
		addrs = []netip.Addr{addr}
	} else if addrs, err = a.dialer.Lookup(ctx, a.peer.Host); err != nil {
		return err
	}
	if len(addrs) == 0 {
		return because(ReasonDNSNotFound, "the name %q has no address", a.peer.Host)
	}
	if a.addrs = last(interleave(slices.DeleteFunc(slices.Clone(addrs), nowhere)), a.peer.Doubtful); len(a.addrs) == 0 {
		return because(ReasonInvalidAddress, "%q leads to %s, which is our own host to a client; a name server that blocks a name answers so", a.peer.Host, addrs[0])
	}
	return nil
}

// nowhere is about 0.0.0.0 and ::, with or without a zone. To dial them reaches our own loopback, and whoever listens there.
func nowhere(addr netip.Addr) bool { return addr.Unmap().WithZone("").IsUnspecified() }

func (a *attempt) dial(ctx context.Context) error {
	var err error
	for _, addr := range a.addrs {
		a.trace.Addresses = append(a.trace.Addresses,
			AddressTrace{Addr: netip.AddrPortFrom(addr, uint16(a.peer.Port)), Doubtful: slices.Contains(a.peer.Doubtful, addr)})
	}
	a.raw, a.address, err = a.dialer.race(ctx, a.trace.Addresses)
	return err
}

func (a *attempt) apiVersions(ctx context.Context) error {
	a.conn = newConn(a.raw, a.dialer.ClientID)
	a.conn.Peer, a.conn.Address, a.conn.TLS = a.peer, a.address, a.tls
	var err error
	a.mismatch, a.confirmed, err = a.conn.askVersions(ctx, a.dialer.SoftwareVersion)
	a.trace.Form = a.conn.Form
	if a.dialer.SASL == nil {
		a.conn.greeted.Store(a.conn.frames.Load())
	}
	return hungUp(a.conn, err)
}

func (a *attempt) authenticate(ctx context.Context) error {
	return a.dialer.login(ctx, a.conn)
}

func (a *attempt) identify(ctx context.Context) error {
	return a.conn.identify(ctx, a.mismatch, a.confirmed)
}
