package wiretest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Listen serves handler on a free loopback port until the test ends, and returns the port.
func Listen(t testing.TB, handler func(net.Conn)) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ServeListener(t, l, handler)
}

// ServeListener serves handler on l until the test ends, and returns its port.
func ServeListener(t testing.TB, l net.Listener, handler func(net.Conn)) int {
	t.Helper()
	s := &server{conns: make(map[net.Conn]bool)}
	s.work.Go(func() { s.accept(l, handler) })
	t.Cleanup(func() {
		_ = l.Close()
		s.closeAll()
		s.work.Wait()
	})
	return l.Addr().(*net.TCPAddr).Port
}

type server struct {
	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	work   sync.WaitGroup
}

func (s *server) accept(l net.Listener, handler func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = true
		closed := s.closed
		s.mu.Unlock()
		if closed {
			_ = conn.Close()
			continue
		}
		s.work.Go(func() {
			defer conn.Close()
			handler(conn)
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		})
	}
}

func (s *server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// Reset is a handler that reads a little and then resets the connection.
func Reset(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 64))
	_ = conn.(interface{ SetLinger(int) error }).SetLinger(0)
}

// ReadAndClose is a handler that reads a little and then closes in an orderly way.
func ReadAndClose(conn net.Conn) { _, _ = conn.Read(make([]byte, 4096)) }

// ClosedPort returns a loopback port at which nothing listens.
func ClosedPort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// BlackholePort returns a loopback port whose SYNs get no answer.
func BlackholePort(t testing.TB) int {
	t.Helper()
	addr, _ := Blackhole(t, "127.0.0.1:0")
	return addr.(*net.TCPAddr).Port
}

// ListenAgain listens at an address where a listener has just been closed. A process that is being started has a copy of all our
// sockets: Linux closes it some time after it has let us go on (begin_new_exec), and until then the address is in use.
func ListenAgain(addr string) (net.Listener, error) {
	patience := time.After(execTime)
	for {
		l, err := net.Listen("tcp", addr)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
		select {
		case <-patience:
			return nil, err
		case <-time.After(time.Millisecond):
		}
	}
}

// execTime is far more than the start of a process takes.
const execTime = 2 * time.Second

// fillTime is far more than a connection on loopback takes.
const fillTime = time.Second

// Blackhole listens at addr and answers no SYN: its accept queue, of length zero, is full. It returns the address and what
// frees it before the test ends. The net package cannot choose the length of the queue, but to listen again changes it.
func Blackhole(t testing.TB, addr string) (at net.Addr, free func()) {
	t.Helper()
	l, err := ListenAgain(addr)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), 0) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	free = sync.OnceFunc(func() { _ = l.Close() })
	if filler, err := net.DialTimeout("tcp", l.Addr().String(), fillTime); err == nil {
		free = sync.OnceFunc(func() { _ = filler.Close(); _ = l.Close() })
	} else if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() { // else somebody has filled the queue already
		t.Fatal(err)
	}
	t.Cleanup(free)
	return l.Addr(), free
}

// Resolver returns a resolver that asks an in-process name server. It answers names with their addresses, every other
// name ending in ".fail" with a server failure, in ".silent" with nothing, and the rest with "no such name".
func Resolver(t testing.TB, names map[string][]string) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pc.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := answerQuery(buf[:n], names); reply != nil {
				_, _ = pc.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

func answerQuery(packet []byte, names map[string][]string) []byte {
	var query dnsmessage.Message
	if query.Unpack(packet) != nil || len(query.Questions) != 1 {
		return nil
	}
	q := query.Questions[0]
	name := q.Name.String()
	name = name[:len(name)-1]
	query.Response, query.Additionals = true, nil
	addrs, known := names[name]
	switch {
	case strings.HasSuffix(name, ".silent"):
		return nil
	case strings.HasSuffix(name, ".fail"):
		query.RCode = dnsmessage.RCodeServerFailure
	case !known:
		query.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addrs {
		if r, ok := resource(q, netip.MustParseAddr(a)); ok {
			query.Answers = append(query.Answers, r)
		}
	}
	reply, err := query.Pack()
	if err != nil {
		return nil
	}
	return reply
}

func resource(q dnsmessage.Question, addr netip.Addr) (dnsmessage.Resource, bool) {
	r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}}
	switch {
	case q.Type == dnsmessage.TypeA && addr.Is4():
		r.Body = &dnsmessage.AResource{A: addr.As4()}
	case q.Type == dnsmessage.TypeAAAA && addr.Is6():
		r.Body = &dnsmessage.AAAAResource{AAAA: addr.As16()}
	default:
		return r, false
	}
	return r, true
}
