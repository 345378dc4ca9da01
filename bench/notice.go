package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// faults are what may happen to a connection that is ready and idle. For the first two the broker's port closes as well.
var faults = []struct {
	name   string
	strike func(f *fake, l net.Listener)
}{
	{"RST", func(f *fake, l net.Listener) { hangUp(f, l, true) }},
	{"FIN", func(f *fake, l net.Listener) { hangUp(f, l, false) }},
	{"silence", func(f *fake, _ net.Listener) { f.silence() }},
}

func hangUp(f *fake, l net.Listener, reset bool) {
	_ = l.Close()
	for _, conn := range f.open() {
		if reset {
			_ = conn.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// watched are a client's connections, seen between the client and its sockets: the one place where all four can be watched
// alike. A client has noticed when a call of its own on the connection has failed.
type watched struct {
	mu     sync.Mutex
	conns  map[*watchedConn]bool
	armed  bool
	events chan event
}

// event is the first that a client did on a connection after the fault: a call that failed, or closing it by itself.
type event struct {
	at     time.Time
	closed bool
}

type watchedConn struct {
	net.Conn
	all   *watched
	known bool // was open when the fault struck; guarded by all.mu
}

func newWatched() *watched {
	return &watched{conns: make(map[*watchedConn]bool), events: make(chan event, 64)}
}

func (w *watched) dial(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &watchedConn{Conn: nc, all: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c] = true
	return c, nil
}

// arm marks the connections that are open now.
func (w *watched) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = true
	for c := range w.conns {
		c.known = true
	}
}

func (c *watchedConn) happened(closed bool) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	delete(c.all.conns, c)
	if c.all.armed && c.known {
		c.known = false
		c.all.events <- event{time.Now(), closed}
	}
}

// Read implements net.Conn.
func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.happened(false)
	}
	return n, err
}

// Write implements net.Conn.
func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		c.happened(false)
	}
	return n, err
}

// Close implements net.Conn.
func (c *watchedConn) Close() error {
	c.happened(true)
	return c.Conn.Close()
}

// outcome is what one fault led to.
type outcome struct {
	noticed time.Duration // 0: not within the time
	closed  bool          // the client has closed the connection before any call on it failed
	verdict time.Duration // when the client's state says that the broker is not there; 0: not within the time
	mute    bool          // the client has no such state
}

func notice(s *stage, p plan, out io.Writer) {
	section(out, "Faults of an idle connection", fmt.Sprintf(`Each client is connected to one broker and has nothing to do; then the broker resets the connection and closes its port (RST),
closes both in order (FIN), or answers nothing any more (silence). Measured is when a read or a write of the client on that
connection has failed, or the client has closed it, at most %s later; "state" is when its public state says so
(broker_reachable 0; sarama's Broker.Connected; franz-go's OnBrokerDisconnect; kafka-go tells nobody). Requests that a client sends
by itself count: this exporter's checks every 10 s, kafka-go's metadata every 0 to 6 s. Median and maximum of %d.`, p.idle, p.faults))
	results := make([][][]outcome, len(faults))
	var mu sync.Mutex
	var work sync.WaitGroup
	for i := range faults {
		results[i] = make([][]outcome, len(idlers))
		for range p.faults {
			for j := range idlers {
				work.Go(func() {
					o := strike(s, p, i, j)
					mu.Lock()
					defer mu.Unlock()
					results[i][j] = append(results[i][j], o)
				})
			}
		}
	}
	work.Wait()
	columns := []string{"fault"}
	for _, c := range idlers {
		columns = append(columns, c.name)
	}
	t := newTable(out, columns...)
	for i, f := range faults {
		row := []string{f.name}
		for _, outcomes := range results[i] {
			row = append(row, describeAll(outcomes, p.idle))
		}
		t.row(row...)
	}
}

// strike lets one fault happen to one client.
func strike(s *stage, p plan, fault, of int) outcome {
	s = s.nested()
	defer s.close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	defer l.Close()
	f := newFake()
	f.be(l)
	go f.accept(l)
	w := newWatched()
	gone, stop, err := idlers[of].start(w, l.Addr().String())
	if err != nil {
		s.Fatal(fmt.Sprintf("%s: %v", idlers[of].name, err))
	}
	defer stop()
	<-time.After(time.Second) // what a start brings with it is over
	w.arm()
	began := time.Now()
	faults[fault].strike(f, l)
	verdict := make(chan time.Duration, 1)
	go func() {
		if gone != nil && eventually(p.idle, gone) {
			verdict <- time.Since(began)
			return
		}
		verdict <- 0
	}()
	o := outcome{mute: gone == nil}
	select {
	case e := <-w.events:
		o.noticed, o.closed = e.at.Sub(began), e.closed
	case <-time.After(p.idle):
	}
	o.verdict = <-verdict
	return o
}

func describeAll(outcomes []outcome, limit time.Duration) string {
	var noticed, verdicts figures
	closed := 0
	for _, o := range outcomes {
		if o.noticed > 0 {
			noticed = append(noticed, o.noticed)
		}
		if o.verdict > 0 {
			verdicts = append(verdicts, o.verdict)
		}
		if o.closed {
			closed++
		}
	}
	text := summary(noticed, len(outcomes), limit)
	if closed > 0 {
		text += fmt.Sprintf(" (%d by closing it)", closed)
	}
	if outcomes[0].mute {
		return text
	}
	return text + "; state: " + summary(verdicts, len(outcomes), limit)
}

func summary(f figures, of int, limit time.Duration) string {
	if len(f) == 0 {
		return fmt.Sprintf("not within %s", limit)
	}
	text := fmt.Sprintf("%s (max %s)", short(f.median()), short(slices.Max(f)))
	if len(f) < of {
		text += fmt.Sprintf(" in %d of %d", len(f), of)
	}
	return text
}
