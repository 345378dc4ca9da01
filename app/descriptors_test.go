package app

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"kafka_connection_exporter/wire"
)

// pipes is a dial function that returns one end of a pipe and counts those that are open.
type pipes struct{ open, most atomic.Int64 }

func (p *pipes) dial(context.Context, netip.AddrPort) (net.Conn, error) {
	n := p.open.Add(1)
	for most := p.most.Load(); n > most && !p.most.CompareAndSwap(most, n); most = p.most.Load() {
	}
	conn, other := net.Pipe()
	_ = other.Close()
	return &piped{Conn: conn, open: &p.open}, nil
}

type piped struct {
	net.Conn
	open *atomic.Int64
}

func (p *piped) Close() error { p.open.Add(-1); return p.Conn.Close() }

func TestDescriptorsComeBack(t *testing.T) {
	var p pipes
	dial := newDescriptors(6).share().dialing(p.dial) // half of 6
	var conns []net.Conn
	for range 3 {
		conn, err := dial(t.Context(), netip.AddrPort{})
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	_, err := dial(t.Context(), netip.AddrPort{})
	if !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "all 3 file descriptors that the limit of 6 leaves for connections of this cluster are in use") {
		t.Fatalf("got %v", err)
	}
	if e := wire.AsError(wire.PhaseDial, err); e.Reason != wire.ReasonOther || e.Phase != wire.PhaseDial {
		t.Errorf("it is classified as %v", e)
	}
	_ = conns[0].Close()
	_ = conns[0].Close() // counts once
	if _, err := dial(t.Context(), netip.AddrPort{}); err != nil {
		t.Errorf("after a close: %v", err)
	}
	if _, err := dial(t.Context(), netip.AddrPort{}); err == nil {
		t.Error("a second close has given a second descriptor back")
	}
}

func TestDescriptorsOfFailuresComeBack(t *testing.T) {
	d := newDescriptors(4).share() // half of it is just what a look-up needs
	broken := d.dialing(func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, syscall.ECONNREFUSED })
	lookup := d.lookingUp(func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no name") })
	for range 3 {
		if _, err := broken(t.Context(), netip.AddrPort{}); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v", err)
		}
		if _, err := lookup(t.Context(), "a"); err == nil || errors.Is(err, syscall.EMFILE) {
			t.Errorf("got %v", err)
		}
	}
}

// TestDescriptorsUnderWay: what is being dialed or looked up has its descriptor already.
func TestDescriptorsUnderWay(t *testing.T) {
	d := newDescriptors(4).share()
	var inner error
	dial := d.dialing(new(pipes).dial)
	lookup := d.lookingUp(func(ctx context.Context, _ string) ([]netip.Addr, error) {
		_, inner = dial(ctx, netip.AddrPort{})
		return nil, nil
	})
	if _, err := lookup(t.Context(), "a"); err != nil || d.all.used.Load() != 0 || !errors.Is(inner, syscall.EMFILE) {
		t.Errorf("got %v and, inside, %v", err, inner)
	}
}

func TestDescriptorsAreLimitedAtOnce(t *testing.T) {
	var p pipes
	dial := newDescriptors(100).share().dialing(p.dial) // but 32
	var work sync.WaitGroup
	for range 200 {
		work.Go(func() {
			for range 50 {
				conn, err := dial(t.Context(), netip.AddrPort{})
				if err != nil {
					continue
				}
				work.Go(func() { _ = conn.Close() })
			}
		})
	}
	work.Wait()
	if p.most.Load() > 68 || p.open.Load() != 0 {
		t.Errorf("%d were open at once, %d are", p.most.Load(), p.open.Load())
	}
}

// TestDescriptorsWithoutLimit: where the system tells none, none is kept, and none is warned of.
func TestDescriptorsWithoutLimit(t *testing.T) {
	var p pipes
	d := newDescriptors(0).share()
	dial := d.dialing(p.dial)
	for range 1000 {
		if _, err := dial(t.Context(), netip.AddrPort{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.all.warnings(); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// TestDescriptorsAreShared: who takes more than a fair part leaves a quarter to the others.
func TestDescriptorsAreShared(t *testing.T) {
	d := newDescriptors(232) // 200 for connections
	greedy, modest := d.share(), d.share()
	if err := modest.take(1); err != nil {
		t.Fatal(err)
	}
	n := 0
	for greedy.take(1) == nil {
		n++
	}
	if n != 149 {
		t.Errorf("one of two has taken %d of 200", n)
	}
	for i := range 49 {
		if err := modest.take(1); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
	}
	modest.give(50)
	for greedy.take(1) == nil {
		n++
	}
	if n != 200 {
		t.Errorf("the only one has %d of 200", n)
	}
}

func TestDescriptorWarning(t *testing.T) {
	for limit, want := range map[int]string{1023: "991", 64: "32", 20: "10", 1024: "", 1 << 20: ""} {
		got := strings.Join(newDescriptors(limit).warnings(), "; ")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d: %q", limit, got)
		}
	}
	if limit := descriptorLimit(); limit < 0 {
		t.Errorf("this system has the limit %d", limit)
	}
}
