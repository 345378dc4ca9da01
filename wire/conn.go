package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Why our own side ends a connection. A request that fails with ErrDrained was not sent.
var (
	ErrClosed  = errors.New("the connection was closed by its user")
	ErrDrained = errors.New("the connection was replaced, its last answers have arrived")
)

const (
	maxInFlight  = 64          // requests on the wire before callers wait to send
	closeTimeout = time.Second // for the last words, TLS' close_notify
)

// Conn is one connection to one peer. Requests of many goroutines are pipelined on it in the order in which they come; a
// caller that stops waiting leaves the connection as it is. It ends at the first error, at the peer's end of stream, even
// while idle, or by Close or Drain. Two goroutines serve it: run owns the writing side, read the other; Ended tells when
// both are gone.
type Conn struct {
	Peer        Peer
	Address     netip.AddrPort // the address that was dialed
	TLS         *TLSInfo       // nil for plaintext
	Identity    Identity
	Form        Form  // that the peer was asked in
	APIVersions int16 // version of ApiVersions that it answered in
	versions    versions
	formatter   *kmsg.RequestFormatter

	correlationID int32 // run's

	net      net.Conn
	ctx      context.Context // done when the connection ends; its cause is the first error
	cancel   context.CancelCauseFunc
	session  atomic.Pointer[session] // nil without SASL
	calls    chan *call
	reserve  chan reservation // asks run for the line
	inFlight chan *call
	draining chan time.Duration
	pending  atomic.Int64  // sent and not yet answered
	frames   atomic.Int64  // read so far
	old      atomic.Bool   // the peer is a broker before 0.10
	greeted  atomic.Int64  // frames that ApiVersions took, of a connection without SASL; 0 before or otherwise
	answered chan struct{} // nudges run while it drains
	ended    chan struct{}
}

type call struct {
	payload       []byte
	correlationID int32
	reply         chan []byte // frames; has room for the one answer, so that nobody waits for a caller that left
}

func newConn(nc net.Conn, clientID string) *Conn {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &Conn{
		formatter: kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)),
		net:       nc,
		ctx:       ctx,
		cancel:    cancel,
		calls:     make(chan *call),
		reserve:   make(chan reservation),
		inFlight:  make(chan *call, maxInFlight),
		draining:  make(chan time.Duration, 1),
		answered:  make(chan struct{}, 1),
		ended:     make(chan struct{}),
	}
	go c.run()
	return c
}

// Done is closed when the connection has become useless. Err then tells why.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns what ended the connection: ErrClosed, ErrDrained, an *Error, or nil while it lives.
func (c *Conn) Err() error {
	err := context.Cause(c.ctx)
	if err == nil || errors.Is(err, ErrClosed) || errors.Is(err, ErrDrained) {
		return err
	}
	return AsError(PhaseRequest, err)
}

// Close ends the connection at once; waiting callers get ErrClosed. It does not block; Ended tells when all is over.
func (c *Conn) Close() { c.cancel(ErrClosed) }

// Drain lets no new request in, waits until all that are under way are answered, or for limit, and closes the connection.
// It does not block.
func (c *Conn) Drain(limit time.Duration) {
	select {
	case c.draining <- limit:
	default: // already draining
	}
}

// Ended is closed when the socket is closed and both goroutines are gone.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// run writes requests one after the other until the connection ends, then closes the socket and waits for read.
func (c *Conn) run() {
	defer close(c.ended)
	reader := make(chan struct{})
	go func() {
		defer close(reader)
		c.cancel(c.read())
	}()
	c.write()
	force := time.AfterFunc(closeTimeout, func() { _ = rawConn(c.net).Close() })
	_ = c.net.Close()
	force.Stop()
	<-reader
}

func (c *Conn) write() {
	for c.ctx.Err() == nil {
		select {
		case <-c.ctx.Done():
		case limit := <-c.draining:
			c.drain(limit)
		case r := <-c.reserve:
			c.serve(r)
		case call := <-c.calls:
			c.put(call)
		}
	}
}

// put puts one request on the wire.
func (c *Conn) put(call *call) {
	c.correlationID++
	call.correlationID = c.correlationID
	binary.BigEndian.PutUint32(call.payload[8:], uint32(call.correlationID))
	c.pending.Add(1)
	select {
	case c.inFlight <- call:
	case <-c.ctx.Done():
		return
	}
	if err := c.send(call.payload); err != nil {
		c.cancel(err)
	}
}

// send writes one request; the end of the connection unblocks it.
func (c *Conn) send(payload []byte) error {
	unblocked := make(chan struct{})
	stop := context.AfterFunc(c.ctx, func() {
		defer close(unblocked)
		_ = c.net.SetWriteDeadline(time.Unix(1, 0))
	})
	_, err := c.net.Write(payload)
	if !stop() {
		<-unblocked
	}
	return err
}

func (c *Conn) drain(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for c.pending.Load() > 0 {
		select {
		case <-c.answered:
		case <-timer.C:
			c.cancel(because(ReasonTimeout, "the connection was being replaced and its last answers did not come"))
			return
		case <-c.ctx.Done():
			return
		}
	}
	c.cancel(ErrDrained)
}

// read hands every frame to the oldest request in flight: Kafka answers in order. It runs for the whole life of the
// connection, so that an end of stream is seen at once, also while nobody asks for anything.
func (c *Conn) read() error {
	limit, first := firstFrameLimit, true
	for {
		frame, err := readFrame(c.net, limit, first)
		if err != nil {
			return c.explainEnd(err)
		}
		limit, first = frameLimit, false
		if c.old.Load() {
			limit = oldFrameLimit
		}
		c.frames.Add(1)
		var oldest *call
		select {
		case oldest = <-c.inFlight:
		default:
			return because(ReasonProtocol, "the peer sent %d bytes that nobody asked for", len(frame))
		}
		if got := int32(binary.BigEndian.Uint32(frame)); got != oldest.correlationID {
			return because(ReasonProtocol, "the answer has correlation id %d, expected %d", got, oldest.correlationID)
		}
		oldest.reply <- frame
		c.pending.Add(-1)
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
}

// explainEnd adds to an end of stream what it most likely means. A SASL listener answers ApiVersions to everybody and
// closes at the first request of a client that did not authenticate.
func (c *Conn) explainEnd(err error) error {
	frames := c.frames.Load()
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case frames == 0:
		return fmt.Errorf("the peer closed the connection without a first answer; the listener may expect TLS, or the port is not Kafka's: %w", err)
	case c.session.Load().expired():
		return because(ReasonSessionExpired, "the SASL session ended before it was renewed, and the peer closed the connection: %w", err)
	case frames == c.greeted.Load() && c.pending.Load() > 0:
		return because(ReasonAuthenticationRequired, "the peer answered ApiVersions and closed the connection at the first request; the listener probably expects SASL: %w", err)
	}
	return fmt.Errorf("the peer closed the connection: %w", err)
}

// ClosedByPeer says whether the connection ended by the peer's orderly end of stream.
func (c *Conn) ClosedByPeer() bool { return errors.Is(context.Cause(c.ctx), io.EOF) }

// Request negotiates the version of req, sends it and waits for the answer, until ctx ends or the connection does. Error
// codes inside the answer are the caller's to read. The connection survives a caller that stops waiting. It must not be
// used for requests that have no answer, such as Produce with acks 0.
func (c *Conn) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if err := c.versions.negotiate(req); err != nil {
		return nil, AsError(PhaseRequest, err)
	}
	resp, err := c.roundTrip(ctx, req)
	if err != nil {
		return nil, AsError(PhaseRequest, err)
	}
	return resp, nil
}

// roundTrip sends req in the version that it carries and decodes the answer.
func (c *Conn) roundTrip(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	frame, err := c.exchange(ctx, req, c.calls)
	if err != nil {
		return nil, err
	}
	return decode(req, frame[headerSize:])
}

// headerSize is the size of the correlation id, which every frame begins with.
const headerSize = 4

// exchange sends req and returns the frame of the answer.
func (c *Conn) exchange(ctx context.Context, req kmsg.Request, calls chan<- *call) ([]byte, error) {
	call := &call{payload: c.formatter.AppendRequest(nil, req, 0), reply: make(chan []byte, 1)}
	select {
	case calls <- call:
	case <-ctx.Done():
		return nil, waited(ctx, req)
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
	select {
	case frame := <-call.reply:
		return frame, nil
	case <-ctx.Done():
		return nil, waited(ctx, req)
	case <-c.ctx.Done():
	}
	select { // the answer may have come just before the end
	case frame := <-call.reply:
		return frame, nil
	default:
		return nil, context.Cause(c.ctx)
	}
}

func waited(ctx context.Context, req kmsg.Request) error {
	return fmt.Errorf("no answer to %s: %w", kmsg.NameForKey(req.Key()), context.Cause(ctx))
}
