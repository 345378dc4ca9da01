package app

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
)

const (
	reserve       = 32   // descriptors that are not for brokers: listeners, scrapes, files, token endpoints, the runtime's own
	comfortable   = 1024 // below this limit there is a warning
	lookupSockets = 2    // one each for the question for A and that for AAAA
)

// descriptors keeps the sockets to brokers and name servers below the limit of file descriptors, by the reserve. Without it
// a big cluster takes all of them, and no scrape could be accepted that tells so.
type descriptors struct {
	limit  int // of the process, 0: none
	ours   int64
	used   atomic.Int64
	shares atomic.Int64 // that have sockets open
}

// share is what one cluster uses of them. Beyond its fair part it leaves a quarter of all to the others: one with ten thousand dead
// brokers must not keep another from its three.
type share struct {
	all  *descriptors
	used atomic.Int64
}

func (d *descriptors) share() *share { return &share{all: d} }

func newDescriptors(limit int) *descriptors {
	return &descriptors{limit: limit, ours: int64(limit - min(reserve, limit/2))}
}

// take takes n descriptors, or none and returns an error.
func (s *share) take(n int64) error {
	d := s.all
	before := s.used.Add(n) - n
	if before == 0 {
		d.shares.Add(1)
	}
	limit := d.ours
	if others := d.shares.Load(); others > 1 && before+n > d.ours/others {
		limit -= d.ours / 4
	}
	for used := d.used.Load(); used+n <= limit || d.limit == 0; used = d.used.Load() {
		if d.used.CompareAndSwap(used, used+n) {
			return nil
		}
	}
	s.forget(n)
	return fmt.Errorf("all %d file descriptors that the limit of %d leaves for connections of this cluster are in use; raise ulimit -n / LimitNOFILE: %w",
		limit, d.limit, syscall.EMFILE)
}

// give gives n descriptors back.
func (s *share) give(n int64) {
	s.all.used.Add(-n)
	s.forget(n)
}

func (s *share) forget(n int64) {
	if s.used.Add(-n) == 0 {
		s.all.shares.Add(-1)
	}
}

type (
	dialFunc   = func(context.Context, netip.AddrPort) (net.Conn, error)
	lookupFunc = func(context.Context, string) ([]netip.Addr, error)
)

// dialing returns dial with a limit. A connection has its descriptor from before it is dialed until it is closed.
func (s *share) dialing(dial dialFunc) dialFunc {
	return func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		if err := s.take(1); err != nil {
			return nil, err
		}
		conn, err := dial(ctx, addr)
		if err != nil {
			s.give(1)
			return nil, err
		}
		return &counted{Conn: conn, back: sync.OnceFunc(func() { s.give(1) })}, nil
	}
}

// lookingUp returns lookup with the same limit.
func (s *share) lookingUp(lookup lookupFunc) lookupFunc {
	return func(ctx context.Context, host string) ([]netip.Addr, error) {
		if err := s.take(lookupSockets); err != nil {
			return nil, err
		}
		defer s.give(lookupSockets)
		return lookup(ctx, host)
	}
}

// warnings says that the limit is low.
func (d *descriptors) warnings() []string {
	if d.limit == 0 || d.limit >= comfortable {
		return nil
	}
	return []string{fmt.Sprintf("the limit of %d file descriptors leaves %d for connections, and a broker needs two at times; raise ulimit -n / LimitNOFILE",
		d.limit, d.ours)}
}

// counted is a connection that gives its descriptor back once.
type counted struct {
	net.Conn
	back func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.back() // after the descriptor is free
	return c.Conn.Close()
}
