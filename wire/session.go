package wire

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// session is what a SASL exchange agreed on.
type session struct {
	from     time.Time
	lifetime time.Duration // 0: unlimited
}

func (s *session) expired() bool {
	return s != nil && s.lifetime > 0 && time.Since(s.from) > s.lifetime
}

// Expires returns when the SASL session ends (KIP-368), and false if it does not.
func (c *Conn) Expires() (start time.Time, lifetime time.Duration, ok bool) {
	s := c.session.Load()
	if s == nil || s.lifetime <= 0 {
		return time.Time{}, 0, false
	}
	return s.from, s.lifetime, true
}

// reservation is a line that one caller has for itself until it closes calls.
type reservation struct {
	calls chan *call
	ready chan struct{} // closed when nothing else is in flight
}

// exclusive waits until nothing is in flight and returns a round trip that nobody else's requests come between, until
// finish is called.
func (c *Conn) exclusive(ctx context.Context) (via roundTripper, finish func(), err error) {
	r := reservation{make(chan *call), make(chan struct{})}
	select {
	case c.reserve <- r:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case <-c.ctx.Done():
		return nil, nil, context.Cause(c.ctx)
	}
	select {
	case <-r.ready:
	case <-ctx.Done():
		close(r.calls)
		return nil, nil, context.Cause(ctx)
	case <-c.ctx.Done():
		return nil, nil, context.Cause(c.ctx)
	}
	via = func(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
		frame, err := c.exchange(ctx, req, r.calls)
		if err != nil {
			return nil, err
		}
		return decode(req, frame[headerSize:])
	}
	return via, func() { close(r.calls) }, nil
}

func (c *Conn) serve(r reservation) {
	for c.pending.Load() > 0 {
		select {
		case <-c.answered:
		case <-c.ctx.Done():
			return
		}
	}
	close(r.ready)
	for {
		select {
		case call, more := <-r.calls:
			if !more {
				return
			}
			c.put(call)
		case <-c.ctx.Done():
			return
		}
	}
}
