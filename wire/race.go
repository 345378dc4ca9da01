package wire

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
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

// last moves the doubtful addresses to the end, in their order.
func last(addrs, doubtful []netip.Addr) []netip.Addr {
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int {
		return slices.Index(doubtful, a) - slices.Index(doubtful, b) // -1: not doubtful
	})
	return addrs
}

// race dials the addresses one after the other, each with a head start of AttemptDelay over the next, a failure starting
// the next at once; before the doubtful ones the others must have failed, or have had half of the time. The first connection
// wins; the others are cancelled, and race waits for them, so that no socket is left. It notes in addrs how each went. The error
// is the last address' own when all failed, or a time-out.
func (d *Dialer) race(ctx context.Context, addrs []AddressTrace) (net.Conn, netip.AddrPort, error) {
	r := &race{dialer: d, delay: d.attemptDelay(ctx, len(addrs)), traces: addrs, outcomes: make(chan outcome, len(addrs))}
	ctx, cancel := context.WithCancel(ctx)
	winner, err := r.run(ctx)
	cancel()
	r.reap()
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	addrs[winner.index].Connected = true
	return winner.conn, addrs[winner.index].Addr, nil
}

type race struct {
	dialer   *Dialer
	delay    time.Duration
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
	r.start(ctx)
	timer := time.NewTimer(r.headStart(ctx))
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
			if r.running > 0 && r.nextIsDoubtful() {
				continue
			}
		}
		r.start(ctx)
		timer.Reset(r.headStart(ctx))
	}
	if lastErr == nil { // the time was over before the first attempt
		lastErr = context.Cause(ctx)
	}
	if ctx.Err() != nil && len(r.traces) > 1 {
		lastErr = fmt.Errorf("none of %d addresses answered: %w", len(r.traces), lastErr)
	}
	return outcome{}, lastErr
}

// nextIsDoubtful says whether the addresses that are not doubtful have all been started.
func (r *race) nextIsDoubtful() bool {
	return 0 < r.started && r.started < len(r.traces) && r.traces[r.started].Doubtful && !r.traces[r.started-1].Doubtful
}

// headStart is how much later than the last address the next one is dialed: r.delay, and for the first that is doubtful half of
// what is left.
func (r *race) headStart(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok && r.nextIsDoubtful() {
		return max(r.delay, time.Until(deadline)/2)
	}
	return r.delay
}

// attemptDelay is AttemptDelay, or less for a name with so many addresses that the last would not get its turn.
func (d *Dialer) attemptDelay(ctx context.Context, addrs int) time.Duration {
	delay := d.AttemptDelay
	if deadline, ok := ctx.Deadline(); ok {
		delay = min(delay, time.Until(deadline)/time.Duration(addrs+1))
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
