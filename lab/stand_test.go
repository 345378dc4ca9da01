package lab

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"kafka_connection_exporter/wire/wiretest"
)

// stand is a listener with a fixed address, and all that can go wrong with it.
type stand struct {
	testing.TB
	addr string

	mu       sync.Mutex
	handler  func(net.Conn)
	l        net.Listener
	conns    map[net.Conn]bool
	accepted int
	killed   bool          // and not opened since
	thawed   chan struct{} // closed unless it is frozen
	work     sync.WaitGroup
}

// newStand listens at addr until the test ends; without one it gets an address that nobody else has.
func newStand(t testing.TB, addr string, handler func(net.Conn)) *stand {
	t.Helper()
	if addr == "" {
		addr = nobody()
	}
	s := &stand{TB: t, addr: addr, handler: handler, conns: make(map[net.Conn]bool), thawed: make(chan struct{})}
	close(s.thawed)
	s.open()
	t.Cleanup(func() { s.kill(false); s.thaw(); s.work.Wait() })
	return s
}

// open listens, at the same address as ever.
func (s *stand) open() {
	s.Helper()
	l, err := wiretest.ListenAgain(s.addr)
	if err != nil {
		s.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.l, s.addr, s.killed = l, l.Addr().String(), false
	s.work.Go(func() { s.accept(l) })
}

func (s *stand) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.killed { // between this connection's end of the queue and here
			s.mu.Unlock()
			_ = conn.Close()
			continue
		}
		s.accepted++
		s.conns[conn] = true
		handler := s.handler
		s.mu.Unlock()
		s.work.Go(func() {
			handler(&freezing{conn.(*net.TCPConn), s})
			_ = conn.Close()
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		})
	}
}

// serve changes what becomes of new connections.
func (s *stand) serve(handler func(net.Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// close refuses new connections; open ones stay.
func (s *stand) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.l.Close()
}

// cut ends the open connections, by FIN or by RST.
func (s *stand) cut(reset bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		if reset {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
	}
}

// kill refuses new connections and ends the open ones.
func (s *stand) kill(reset bool) {
	s.mu.Lock()
	s.killed = true
	s.mu.Unlock()
	s.close()
	s.cut(reset)
}

// freeze is a process that was stopped, or a path that drops everything: the kernel goes on accepting, nobody answers.
func (s *stand) freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thawed = make(chan struct{})
}

func (s *stand) thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.thawed:
	default:
		close(s.thawed)
	}
}

// dials is how many connections it has accepted so far.
func (s *stand) dials() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// connections is how many are open.
func (s *stand) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// freezing is a connection of a stand: while that is frozen, nothing is read or written.
type freezing struct {
	*net.TCPConn
	stand *stand
}

func (f *freezing) wait() {
	f.stand.mu.Lock()
	thawed := f.stand.thawed
	f.stand.mu.Unlock()
	<-thawed
}

func (f *freezing) Read(b []byte) (int, error) {
	n, err := f.TCPConn.Read(b)
	f.wait()
	return n, err
}

func (f *freezing) Write(b []byte) (int, error) {
	f.wait()
	return f.TCPConn.Write(b)
}

// block is 250 hosts on loopback, claimed by a listener that is never closed: several test binaries may run at once.
var block struct {
	sync.Mutex
	prefix string
	used   int
	locks  []net.Listener
}

// nobody is an address on loopback at which nobody listens, and that nobody else gets: a host of its own, and a port that is
// not handed out to clients. A closed port of 127.0.0.1 may be somebody's the next moment.
func nobody() string {
	block.Lock()
	defer block.Unlock()
	for block.prefix == "" || block.used == 250 {
		prefix := fmt.Sprintf("127.%d.%d.", 64+rand.IntN(128), rand.IntN(256))
		if l, err := net.Listen("tcp", prefix+"254:9092"); err == nil {
			block.prefix, block.used, block.locks = prefix, 0, append(block.locks, l)
		}
	}
	block.used++
	return fmt.Sprintf("%s%d:9092", block.prefix, block.used)
}

var ports atomic.Int32

// port is one that nobody has on 127.0.0.1 and ::1, and that is not handed out to clients.
func port(t testing.TB) int32 {
	t.Helper()
	for range 1000 {
		port := 10000 + (int32(os.Getpid())*40+ports.Add(1))%20000
		v4, err4 := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		v6, err6 := net.Listen("tcp", fmt.Sprintf("[::1]:%d", port))
		for _, l := range []net.Listener{v4, v6} {
			if l != nil {
				_ = l.Close()
			}
		}
		if err4 == nil && err6 == nil {
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

func hostOf(addr string) string { host, _, _ := net.SplitHostPort(addr); return host }

// cluster is brokers with the ids 1 to n, each on a stand of its own.
type cluster struct {
	*wiretest.Cluster
	brokers []*wiretest.Broker // brokers[0] has id 1
	stands  []*stand
}

func newCluster(t testing.TB, n int, versions wiretest.Versions) *cluster {
	t.Helper()
	c := &cluster{Cluster: wiretest.NewCluster("cluster-a")}
	for id := 1; id <= n; id++ {
		c.add(t, id, "", versions)
	}
	return c
}

// add adds a broker that listens at addr, or at one of its own, and advertises that.
func (c *cluster) add(t testing.TB, id int, addr string, versions wiretest.Versions) *stand {
	t.Helper()
	b := wiretest.NewBroker(int32(id), c.Cluster, versions)
	s := newStand(t, addr, b.Serve)
	c.brokers, c.stands = append(c.brokers, b), append(c.stands, s)
	c.Set(int32(id), s.addr)
	return s
}

// seeds is the flag with the addresses of brokers.
func (c *cluster) seeds(ids ...int) string {
	flag := "--kafka.seed="
	for i, id := range ids {
		if i > 0 {
			flag += ","
		}
		flag += c.stands[id-1].addr
	}
	return flag
}
