// Package wiretest holds scripted brokers and an in-memory network, for tests only. The network runs inside a
// testing/synctest bubble: its connections are pipes and its clock is the bubble's.
package wiretest

import (
	"context"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// Network connects wire.Dialers with handlers, by address, without any socket.
type Network struct {
	mu       sync.Mutex
	names    map[string][]netip.Addr
	handlers map[netip.AddrPort]func(net.Conn)
	silent   map[netip.AddrPort]bool
	conns    map[net.Conn]netip.AddrPort // server ends that are open
	dials    map[netip.AddrPort]int
	lookups  map[string]int
	work     sync.WaitGroup
}

// NewNetwork returns a network in which every dial is refused and no name resolves.
func NewNetwork() *Network {
	return &Network{
		names:    make(map[string][]netip.Addr),
		handlers: make(map[netip.AddrPort]func(net.Conn)),
		silent:   make(map[netip.AddrPort]bool),
		conns:    make(map[net.Conn]netip.AddrPort),
		dials:    make(map[netip.AddrPort]int),
		lookups:  make(map[string]int),
	}
}

// Name makes host resolve to addrs from now on; without addrs it no longer resolves.
func (n *Network) Name(host string, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[host] = nil
	for _, a := range addrs {
		n.names[host] = append(n.names[host], netip.MustParseAddr(a))
	}
}

// Listen serves every connection to addr with handler, in a goroutine of its own.
func (n *Network) Listen(addr string, handler func(net.Conn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.handlers[netip.MustParseAddrPort(addr)] = handler
	delete(n.silent, netip.MustParseAddrPort(addr))
}

// Refuse makes every new dial of addr fail. Open connections stay.
func (n *Network) Refuse(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.handlers, netip.MustParseAddrPort(addr))
	delete(n.silent, netip.MustParseAddrPort(addr))
}

// Blackhole makes every new dial of addr wait for its deadline. Open connections stay.
func (n *Network) Blackhole(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent[netip.MustParseAddrPort(addr)] = true
}

// Cut closes the open connections of addr from its side.
func (n *Network) Cut(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for conn, at := range n.conns {
		if at == netip.MustParseAddrPort(addr) {
			_ = conn.Close()
		}
	}
}

// Open returns how many connections to addr its side has open.
func (n *Network) Open(addr string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	open := 0
	for _, at := range n.conns {
		if at == netip.MustParseAddrPort(addr) {
			open++
		}
	}
	return open
}

// Dials returns how often addr was dialed, successfully or not.
func (n *Network) Dials(addr string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials[netip.MustParseAddrPort(addr)]
}

// Lookups returns how often host was looked up.
func (n *Network) Lookups(host string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lookups[host]
}

// Wait blocks until all handlers have returned.
func (n *Network) Wait() { n.work.Wait() }

// Lookup has the form of wire.Dialer.Lookup.
func (n *Network) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookups[host]++
	if addrs := n.names[host]; len(addrs) > 0 {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// DialAddress has the form of wire.Dialer.DialAddress.
func (n *Network) DialAddress(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	n.dials[addr]++
	handler, silent := n.handlers[addr], n.silent[addr]
	n.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: context.Cause(ctx)}
	}
	if handler == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	client, server := net.Pipe()
	n.mu.Lock()
	n.conns[server] = addr
	n.mu.Unlock()
	n.work.Go(func() {
		handler(server)
		_ = server.Close()
		n.mu.Lock()
		delete(n.conns, server)
		n.mu.Unlock()
	})
	return client, nil
}

// Tarpit is a handler that accepts, reads and never answers.
func Tarpit(conn net.Conn) {
	buf := make([]byte, 1024)
	for {
		if _, err := conn.Read(buf); err != nil {
			return
		}
	}
}

// Hangup is a handler that closes at once.
func Hangup(net.Conn) {}

// Says returns a handler that reads the first bytes of the client, answers with these and waits for the end.
func Says(answer []byte) func(net.Conn) {
	return func(conn net.Conn) {
		buf := make([]byte, 4096)
		if _, err := conn.Read(buf); err != nil {
			return
		}
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := conn.Write(answer); err != nil {
			return
		}
		Tarpit(conn)
	}
}
