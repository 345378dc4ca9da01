package manager

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/wire"
)

func TestBackoff(t *testing.T) {
	const base, limit = 250 * time.Millisecond, 30 * time.Second
	for failures, want := range map[int]time.Duration{
		0: base, 1: base, 2: 2 * base, 3: 4 * base, 7: 16 * time.Second, 8: limit, 9: limit, 37: limit, 64: limit, math.MaxInt: limit,
	} {
		if got := backoff(base, limit, failures, 0.5); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
		low, high := backoff(base, limit, failures, 0), backoff(base, limit, failures, math.Nextafter(1, 0))
		if low != want*8/10 || high <= want || high > want*12/10 {
			t.Errorf("after %d failures: jitter from %s to %s around %s", failures, low, high, want)
		}
	}
	if got := backoff(time.Minute, time.Second, 5, 0.5); got != time.Second {
		t.Errorf("a base above the limit: %s", got)
	}
}

// TestStateTable: every state but the closed one can be left, and only along the arrows that are documented.
func TestStateTable(t *testing.T) {
	for from := range State(NumStates) {
		if next := legal[from]; (len(next) == 0) != (from == StateClosed) || from != StateClosed && !next[StateClosed] || next[from] {
			t.Errorf("from %s: %v", from, next)
		}
	}
	if legal[StateReady][StateConnecting] || legal[StateIdle][StateReady] || legal[StateBackoff][StateReady] {
		t.Error("ready is reached from connecting only, and left before a new attempt")
	}
}

func TestIllegalChangeOfStateIsLoud(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.start()
		defer func() {
			if recover() == nil {
				t.Error("idle became ready without an attempt")
			}
		}()
		w.m.now.seeds[0].setState(StateReady)
	})
}

func TestOrderOfCandidates(t *testing.T) {
	at := func(second int) *Failure { return &Failure{Time: time.Unix(int64(second), 0)} }
	make1 := func(name string, state State, f *Failure) *target {
		id := int32(-1)
		if name[0] == 'b' {
			id = 1
		}
		tg := &target{name: name, id: id}
		tg.published.Store(&published{Broker: Broker{Target: Target{State: state, Failure: f}}})
		return tg
	}
	brokers := []*target{
		make1("b-backoff", StateBackoff, at(1)), make1("b-connecting", StateConnecting, nil), make1("b-ready", StateReady, nil),
		make1("b-ready-but-failing", StateReady, at(30)), make1("b-closed", StateClosed, nil), make1("b-retrying", StateConnecting, at(10)),
	}
	all := []*target{make1("s-new", StateIdle, nil), make1("s-failed-first", StateIdle, at(5)), make1("s-failed-last", StateBackoff, at(40))}
	var got []string
	for _, tg := range orderCandidates(brokers, all, nil, func(int, func(i, j int)) {}) {
		got = append(got, tg.name)
	}
	want := []string{"b-ready", "b-connecting", "s-new", "s-failed-first", "b-retrying", "b-ready-but-failing", "s-failed-last"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestInvalidAddress(t *testing.T) {
	for _, c := range []struct {
		host string
		port int
		want bool
	}{
		{"0.0.0.0", 9092, true}, {"::", 9092, true}, {"::ffff:0.0.0.0", 9092, true}, {"::%lo", 9092, true}, {"0:0:0:0:0:0:0:0%eth0", 9092, true}, {"", 9092, true}, {"a", 0, true},
		{"a", -1, true}, {"a", 65536, true}, {"a", 65535, false}, {"127.0.0.1", 1, false}, {"::1", 9092, false},
	} {
		if got := invalidAddress(c.host, c.port); got != c.want {
			t.Errorf("invalidAddress(%q, %d) = %t", c.host, c.port, got)
		}
	}
}

// TestSignature: the order does not matter, the members do.
func TestSignature(t *testing.T) {
	list := func(brokers ...wire.BrokerInfo) []wire.BrokerInfo { return brokers }
	a, b := wire.BrokerInfo{ID: 1, Host: "a", Port: 1}, wire.BrokerInfo{ID: 2, Host: "b", Port: 2}
	moved := wire.BrokerInfo{ID: 2, Host: "b", Port: 3}
	base := signatureOf(list(a, b))
	for _, c := range []struct {
		list []wire.BrokerInfo
		same bool
	}{{list(b, a), true}, {list(a), false}, {list(a, moved), false}} {
		if got := signatureOf(c.list); (got == base) != c.same {
			t.Errorf("%v: same is %t", c.list, got == base)
		}
	}
}

// TestMajority: without one, nobody is said to be right.
func TestMajority(t *testing.T) {
	for name, c := range map[string]struct {
		signatures []uint64
		dead       int // index, or -1
		want       []Verdict
	}{
		"one is wrong":      {[]uint64{7, 7, 3}, -1, []Verdict{VerdictGood, VerdictGood, VerdictBad}},
		"one against one":   {[]uint64{7, 3}, -1, []Verdict{VerdictBad, VerdictBad}},
		"two against two":   {[]uint64{7, 3, 3, 7}, -1, []Verdict{VerdictBad, VerdictBad, VerdictBad, VerdictBad}},
		"not asked":         {[]uint64{7, 0}, -1, []Verdict{VerdictGood, VerdictUnknown}},
		"dead ones, no say": {[]uint64{7, 3}, 1, []Verdict{VerdictGood, VerdictUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			brokers := make([]Broker, len(c.signatures))
			for i := range brokers {
				brokers[i].Reachable = VerdictGood
				if i == c.dead {
					brokers[i].Reachable = VerdictBad
				}
			}
			judgeViews(brokers, c.signatures)
			for i, b := range brokers {
				if b.Agrees != c.want[i] {
					t.Errorf("broker %d: %v, want %v", i, b.Agrees, c.want[i])
				}
			}
		})
	}
}

// TestSeedIsNoWitness: a seed may be the broker that has already said that another is no longer registered.
func TestSeedIsNoWitness(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		m, err := New(w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		for id := int32(1); id <= 3; id++ {
			b := newTarget(m, "broker", address(id), wire.Peer{Host: "b", Port: 9092, NodeID: id})
			b.now.State, b.stop = StateReady, func() {}
			b.publish()
			m.brokers[id] = b
		}
		gone := m.brokers[3]
		m.noteUnregistered(gone, m.brokers[1])
		m.noteUnregistered(gone, m.now.seeds[0])
		if m.brokers[3] == nil {
			t.Error("forgotten on the word of a broker and a seed")
		}
		m.noteUnregistered(gone, m.brokers[2])
		if m.brokers[3] != nil {
			t.Error("not forgotten on the word of two brokers")
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	_, err := New(Config{})
	if err == nil {
		t.Fatal("an empty configuration is accepted")
	}
	for _, name := range []string{"no seeds", "no dialer", "RefreshInterval", "HedgeDelay", "BackoffBase", "CheckTimeout", "ConnectRate"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
}
