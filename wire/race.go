package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// interleave orders the addresses of a name for the race: the resolver's order within each family, the families taking
// turns, so that a family without a route costs one delay and not one for each of its addresses (RFC 8305 section 4).
func interleave(addrs []netip.Addr) []netip.Addr {
	var first, second []netip.Addr
	for _, addr := range addrs {
		addr = addr.Unmap()
		if len(first) == 0 || addr.Is4() == first[0].Is4() {
			first = append(first, addr)
		} else {
			second = append(second, addr)
		}
	}
	mixed := make([]netip.Addr, 0, len(addrs))
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			mixed = append(mixed, first[i])
		}
		if i < len(second) {
			mixed = append(mixed, second[i])
		}
	}
	return mixed
}

// race dials the addresses one after the other, each with a head start of AttemptDelay over the next, a failure starting
// the next at once. The first connection wins; the others are cancelled, and race waits for them, so that no socket is
// left. The error is the last address' own when all failed, or a time-out.
func (d *Dialer) race(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, netip.AddrPort, []AddressTrace, error) {
	r := &race{dialer: d, outcomes: make(chan outcome, len(addrs))}
	for _, addr := range addrs {
		r.traces = append(r.traces, AddressTrace{Addr: netip.AddrPortFrom(addr, port)})
	}
	ctx, cancel := context.WithCancel(ctx)
	winner, err := r.run(ctx)
	cancel()
	r.reap()
	if err != nil {
		return nil, netip.AddrPort{}, r.traces, err
	}
	r.traces[winner.index].Connected = true
	return winner.conn, r.traces[winner.index].Addr, r.traces, nil
}

type race struct {
	dialer   *Dialer
	traces   []AddressTrace
	outcomes chan outcome // has room for all
	started  int
	running  int
}

type outcome struct {
	index int
	conn  net.Conn
	err   error
}

func (r *race) run(ctx context.Context) (outcome, error) {
	var lastErr error
	delay := r.delay(ctx)
	r.start(ctx)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for r.running > 0 {
		select {
		case <-timer.C:
		case done := <-r.outcomes:
			r.running--
			if done.err == nil {
				return done, nil
			}
			lastErr = done.err
			r.traces[done.index].Err = AsError(PhaseDial, done.err)
		}
		r.start(ctx)
		timer.Reset(delay)
	}
	if lastErr == nil { // the time was over before the first attempt
		lastErr = context.Cause(ctx)
	}
	if ctx.Err() != nil && len(r.traces) > 1 {
		lastErr = fmt.Errorf("none of %d addresses answered: %w", len(r.traces), lastErr)
	}
	return outcome{}, lastErr
}

// delay is the head start: shorter than AttemptDelay for a name with so many addresses that the last would not get its turn.
func (r *race) delay(ctx context.Context) time.Duration {
	delay := r.dialer.AttemptDelay
	if deadline, ok := ctx.Deadline(); ok {
		delay = min(delay, time.Until(deadline)/time.Duration(len(r.traces)+1))
	}
	return max(delay, time.Millisecond)
}

// start dials the next address, if there is one.
func (r *race) start(ctx context.Context) {
	if r.started == len(r.traces) || ctx.Err() != nil {
		return
	}
	index := r.started
	r.traces[index].Tried = true
	r.started++
	r.running++
	go func() {
		conn, err := r.dialer.DialAddress(ctx, r.traces[index].Addr)
		r.outcomes <- outcome{index, conn, err}
	}()
}

// reap waits for the losers and closes what they may still have opened.
func (r *race) reap() {
	for ; r.running > 0; r.running-- {
		if late := <-r.outcomes; late.conn != nil {
			_ = late.conn.Close()
		}
	}
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
