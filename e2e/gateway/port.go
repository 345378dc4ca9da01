//go:build e2e

package gateway

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"kafka_connection_exporter/e2e/freeport"
)

// Port leads to one broker while it is open.
type Port struct {
	// Addr is where clients come in, fixed for the port's life.
	Addr string

	gateway *Gateway
	inner   string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	open     bool
	work     sync.WaitGroup
}

func newPort(g *Gateway, inner string) (*Port, error) {
	port, err := freeport.Pick()
	if err != nil {
		return nil, err
	}
	return &Port{Addr: fmt.Sprintf("127.0.0.1:%d", port), gateway: g, inner: inner, conns: map[net.Conn]bool{}}, nil
}

// Open lets clients in.
func (p *Port) Open(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp4", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener, p.open = l, true
	p.work.Go(func() { p.accept(l) })
}

// Shut refuses new clients and ends the connections of those that are in. It may be called twice.
func (p *Port) Shut() {
	p.mu.Lock()
	p.open = false
	_ = p.listener.Close()
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
}

func (p *Port) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.serve(client) })
	}
}

func (p *Port) serve(client net.Conn) {
	defer p.forget(client)
	p.remember(client)
	broker, err := net.Dial("tcp4", p.inner)
	if err != nil {
		return
	}
	defer p.forget(broker)
	p.remember(broker)
	s := session{gateway: p.gateway, asked: map[int32]request{}}
	var both sync.WaitGroup
	both.Go(func() { pump(broker, client, s.note) })
	both.Go(func() { pump(client, broker, s.rewrite) })
	both.Wait()
}

// pump moves frames, each through f, until one side ends, and then ends both.
func pump(to, from net.Conn, f func(frame []byte) ([]byte, error)) {
	defer to.Close()
	defer from.Close()
	for {
		frame, err := readFrame(from)
		if err == nil {
			frame, err = f(frame)
		}
		if err == nil {
			err = writeFrame(to, frame)
		}
		if err != nil {
			return
		}
	}
}

func (p *Port) remember(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	if !p.open {
		_ = c.Close()
	}
}

func (p *Port) forget(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}
