//go:build e2e

package proxy

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"kafka_connection_exporter/e2e/freeport"
)

// Proxy forwards every connection on Addr to its target of that moment. Toxiproxy, which e2e has for bad networks, cannot send new
// connections elsewhere while the old ones stay, as a name or a load balancer does: to change its upstream ends them.
type Proxy struct {
	// Addr is 127.0.0.1 and a port of its own, fixed for the proxy's life.
	Addr string

	mu       sync.Mutex
	target   string
	listener net.Listener
	conns    map[net.Conn]bool
	accepted int
	closed   bool
	wg       sync.WaitGroup
}

// Start opens a proxy to target, which may be empty until SetTarget: until then connections are accepted and closed.
// It is closed when the test ends.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := Open(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Open is Start for a proxy that outlives one test; the caller closes it.
func Open(target string) (*Proxy, error) {
	port, err := freeport.Pick()
	if err != nil {
		return nil, err
	}
	p := &Proxy{Addr: fmt.Sprintf("127.0.0.1:%d", port), target: target, conns: map[net.Conn]bool{}}
	p.listener, err = net.Listen("tcp4", p.Addr)
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", target, err)
	}
	p.wg.Go(p.accept)
	return p, nil
}

// SetTarget sends new connections to addr; open ones stay where they are unless Cut follows.
func (p *Proxy) SetTarget(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// Swap exchanges the targets of two proxies and cuts their connections.
func Swap(a, b *Proxy) {
	ta, tb := a.Target(), b.Target()
	a.SetTarget(tb)
	b.SetTarget(ta)
	a.Cut()
	b.Cut()
}

// Target is where new connections go.
func (p *Proxy) Target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}

// Accepted counts the connections accepted so far.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Cut closes all open connections and goes on accepting.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Close stops listening, so that the port is refused, and cuts all connections. It may be called twice.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Cut()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.accepted++
		p.mu.Unlock()
		p.wg.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer p.forget(client)
	p.remember(client)
	target := p.Target()
	if target == "" {
		return
	}
	server, err := net.Dial("tcp4", target)
	if err != nil {
		return
	}
	defer p.forget(server)
	p.remember(server)
	var both sync.WaitGroup
	both.Go(func() { pipe(client, server) })
	both.Go(func() { pipe(server, client) })
	both.Wait()
}

// pipe copies until one side ends, and then ends both.
func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

func (p *Proxy) remember(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	if p.closed {
		_ = c.Close()
	}
}

func (p *Proxy) forget(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}
