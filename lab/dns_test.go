package lab

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// nameServer is the exporter's name server, over UDP and TCP. Names have no lifetime: whoever keeps an answer keeps it too long.
type nameServer struct {
	addr string
	stop chan struct{} // closed at the end of the test

	mu    sync.Mutex
	names map[string]record
	asked map[string]int
}

type record struct {
	mode  mode
	addrs []netip.Addr
}

// mode is how a name is answered.
type mode int

const (
	well mode = iota
	notFound
	servFail
	silent
	slow      // well, after slowAnswer
	truncated // over UDP, so that TCP must be asked
)

const slowAnswer = 600 * time.Millisecond

func newNameServer(t testing.TB) *nameServer {
	t.Helper()
	addr := nobody()
	packets, err := net.ListenPacket("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	n := &nameServer{addr: addr, stop: make(chan struct{}), names: make(map[string]record), asked: make(map[string]int)}
	for _, s := range []*dns.Server{{PacketConn: packets, Handler: n}, {Listener: l, Handler: n}} {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		ended := make(chan struct{})
		go func() { _ = s.ActivateAndServe(); close(ended) }()
		<-started
		t.Cleanup(func() { _ = s.Shutdown(); <-ended })
	}
	t.Cleanup(func() { close(n.stop) }) // runs before the shutdowns, which wait for answers under way
	return n
}

// env makes an exporter ask this name server.
func (n *nameServer) env() []string { return []string{nameServerVariable + "=" + n.addr} }

// set gives a name its addresses.
func (n *nameServer) set(name string, addrs ...string) { n.answer(name, well, addrs...) }

// answer says how a name is answered from now on.
func (n *nameServer) answer(name string, m mode, addrs ...string) {
	r := record{mode: m}
	for _, a := range addrs {
		r.addrs = append(r.addrs, netip.MustParseAddr(a))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name+"."] = r
}

// lookups is how many questions about a name have come.
func (n *nameServer) lookups(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[name+"."]
}

// ServeDNS answers one question.
func (n *nameServer) ServeDNS(w dns.ResponseWriter, query *dns.Msg) {
	reply := new(dns.Msg).SetReply(query)
	q := query.Question[0]
	n.mu.Lock()
	r, known := n.names[strings.ToLower(q.Name)]
	n.asked[strings.ToLower(q.Name)]++
	n.mu.Unlock()
	switch {
	case !known || r.mode == notFound:
		reply.Rcode = dns.RcodeNameError
	case r.mode == servFail:
		reply.Rcode = dns.RcodeServerFailure
	case r.mode == silent:
		return
	case r.mode == slow:
		select {
		case <-time.After(slowAnswer):
		case <-n.stop:
			return
		}
	}
	if _, isUDP := w.RemoteAddr().(*net.UDPAddr); isUDP && r.mode == truncated {
		reply.Truncated, r.addrs = true, nil
	}
	for _, a := range r.addrs {
		header := dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET}
		switch {
		case q.Qtype == dns.TypeA && a.Is4():
			reply.Answer = append(reply.Answer, &dns.A{Hdr: header, A: a.AsSlice()})
		case q.Qtype == dns.TypeAAAA && a.Is6():
			reply.Answer = append(reply.Answer, &dns.AAAA{Hdr: header, AAAA: a.AsSlice()})
		}
	}
	_ = w.WriteMsg(reply)
}
