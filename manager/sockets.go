package manager

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
)

// countSockets wraps a dial function so that open is always the number of its open sockets.
func countSockets(dial func(context.Context, netip.AddrPort) (net.Conn, error), open *atomic.Int64) func(context.Context, netip.AddrPort) (net.Conn, error) {
	return func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		conn, err := dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &countedConn{Conn: conn, open: open}, nil
	}
}

type countedConn struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

func (c *countedConn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}
