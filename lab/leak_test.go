package lab

import (
	"cmp"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

var failures = flag.Float64("lab.failures", 10_000, "how often each kind of connection fails in the tests for leaks")

// crowded is how many brokers fail at once, all at one address.
const crowded = 100

// leak is a way to fail. Its brokers are at one stand; spoil makes them fail and returns what mends it.
type leak struct {
	phase, reason string
	timeout       string                                  // of a connection attempt, 3s if empty
	flags         func(t *testing.T, c *cluster) []string // nil for none
	spoil         func(t *testing.T, c *cluster, s *stand) (mend func())
}

// serving replaces what a stand does with new connections, and cuts the old ones.
func serving(handler func(c *cluster) func(net.Conn)) func(*testing.T, *cluster, *stand) func() {
	return func(_ *testing.T, c *cluster, s *stand) func() {
		good := s.handler
		s.serve(handler(c))
		s.cut(false)
		return func() { s.serve(good) }
	}
}

func always(handler func(net.Conn)) func(*cluster) func(net.Conn) {
	return func(*cluster) func(net.Conn) { return handler }
}

// run makes the brokers fail until there are enough failures, mends them, and looks at what is left in the process.
func (l leak) run(t *testing.T, failures float64) {
	t.Helper()
	c := newCluster(t, 1, unverifiable)
	args := []string{"--backoff.base=1ms", "--backoff.max=1ms", "--connect.rate=1000000", "--check.interval=1s",
		"--metadata.refresh-interval=1s", "--seed.check-interval=0s", "--connect.timeout=" + cmp.Or(l.timeout, "3s")}
	if l.flags != nil {
		args = append(args, l.flags(t, c)...)
	}
	crowd := newStand(t, "", c.stands[0].handler)
	ids := []int{1}
	for id := 2; id < 2+crowded; id++ {
		c.Set(int32(id), crowd.addr)
		ids = append(ids, id)
	}
	p := start(t, append(args, c.seeds(1))...)
	p.wait(ready(ids...))
	before, heap := p.collectGarbage(), p.liveHeap()
	mend := l.spoil(t, c, crowd)
	began := time.Now()
	m := p.wait(failing(2, l.phase, l.reason))
	p.always(is(1, ofBroker(1, "reachable")))
	for m.sum("broker_connection_failures_total") < failures { // each wait has its own patience
		next := min(failures, m.sum("broker_connection_failures_total")+failures/10)
		m = p.wait(func(m metrics) error {
			if n := m.sum("broker_connection_failures_total"); n < next {
				return fmt.Errorf("%v failures, waiting for %v", n, next)
			}
			return nil
		})
	}
	took := time.Since(began)
	mend()
	p.wait(ready(ids...))
	if !poll(patience, func() bool { return p.inCloseWait() == 0 }) {
		t.Errorf("%d sockets are in CLOSE_WAIT", p.inCloseWait())
	}
	p.wait(atMost(before["go_goroutines"]+10, "go_goroutines"), atMost(before["process_open_fds"]+5, "process_open_fds"))
	after := p.collectGarbage()
	grown := p.liveHeap() - heap
	t.Logf("%v failures in %s; goroutines %v, %v; descriptors %v, %v; heap grown by %.0f KiB", m.sum("broker_connection_failures_total"), took,
		before["go_goroutines"], after["go_goroutines"], before["process_open_fds"], after["process_open_fds"], grown/1024)
	if grown > 1<<20 {
		t.Errorf("the heap has grown by %.0f KiB", grown/1024)
	}
}

// TestCaseC27ClosedAfterEachAnswer: a peer that ends every connection must not leave one half-closed on our side.
// Done: 100 brokers answer one request each and close, 10,000 times
// Shows: no socket in CLOSE_WAIT and as many descriptors as before
func TestCaseC27ClosedAfterEachAnswer(t *testing.T) {
	if ranPlain(t) {
		return
	}
	leak{phase: "identity", reason: "authentication_required", spoil: serving(func(c *cluster) func(net.Conn) {
		b := wiretest.NewBroker(1, c.Cluster, unverifiable)
		b.On(kmsg.Metadata, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrHang })
		return b.Serve
	})}.run(t, *failures)
}

// TestCaseC28Failures: what fails ten thousand times must leave nothing behind.
// Done: 100 brokers fail 10,000 times in each of six ways: refused, blackhole, closed, TLS, SASL, garbage; then all are well again
// Shows: no socket in CLOSE_WAIT; as many goroutines and descriptors as before, and a heap that has not grown by 1 MiB
func TestCaseC28Failures(t *testing.T) {
	if ranPlain(t) {
		return
	}
	ca := wiretest.NewAuthority()
	for name, l := range map[string]leak{
		"refused": {phase: "dial", reason: "refused", spoil: func(_ *testing.T, _ *cluster, s *stand) func() {
			s.kill(false)
			return s.open
		}},
		"blackhole": {phase: "dial", reason: "timeout", timeout: "60ms", spoil: func(t *testing.T, _ *cluster, s *stand) func() {
			s.kill(false)
			_, free := wiretest.Blackhole(t, s.addr)
			return func() { free(); s.open() }
		}},
		"accepts and closes": {phase: "api_versions", reason: "closed", spoil: serving(always(wiretest.ReadAndClose))},
		"garbage":            {phase: "api_versions", reason: "not_kafka", spoil: serving(always(wiretest.Says([]byte("SSH-2.0-OpenSSH_9.2p1\r\n"))))},
		"TLS": {phase: "tls", reason: "certificate_name_mismatch", flags: func(t *testing.T, c *cluster) []string {
			cert := ca.Issue(time.Now().Add(time.Hour), "kafka.test")
			c.stands[0].serve(behindTLS(ca, "", &tls.Config{Certificates: []tls.Certificate{cert}}, c.brokers[0].Serve))
			return slices.Concat(caFlags(t, ca), []string{"--tls.server-name=kafka.test"})
		}, spoil: serving(func(c *cluster) func(net.Conn) {
			return behindTLS(ca, "other.test", nil, c.brokers[0].Serve)
		})},
		"SASL": {phase: "sasl", reason: "mechanism_unsupported", flags: func(t *testing.T, c *cluster) []string {
			flags, _ := c.require(t, wiretest.NewAccounts("right", 0, 0), "right")
			return flags
		}, spoil: serving(func(c *cluster) func(net.Conn) {
			b := wiretest.NewBroker(1, c.Cluster, unverifiable)
			b.Require(wiretest.NewAccounts("right", 0, 0))
			b.On(kmsg.SASLHandshake, func(r wiretest.Request) (kmsg.Response, error) {
				resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
				resp.ErrorCode = kerr.UnsupportedSaslMechanism.Code
				return resp, nil
			})
			return b.Serve
		})},
	} {
		t.Run(name, func(t *testing.T) { l.run(t, *failures) })
	}
}
