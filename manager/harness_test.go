package manager

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kafka_connection_exporter/seeds"
	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// world is a manager, a network and a cluster inside a synctest bubble. Its randomness is fixed: seeds and brokers keep
// their order, a backoff is exactly its nominal value, and a check comes at 95 % of its interval.
type world struct {
	*testing.T
	net     *wiretest.Network
	cluster *wiretest.Cluster
	brokers map[int32]*wiretest.Broker
	cfg     Config
	m       *Manager
	cancel  context.CancelFunc
	done    chan error
	events  eventLog
	random  func() float64
	shuffle func(n int, swap func(i, j int))
}

type eventLog struct {
	mu   sync.Mutex
	list []Event
}

func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

func (l *eventLog) count(kind EventKind, target string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, e := range l.list {
		if e.Kind == kind && e.Target == target {
			n++
		}
	}
	return n
}

// inWorld runs f in a bubble with n good brokers, ids 1 to n, at b1:9092 (10.0.0.1), b2:9092 and so on. The first broker is
// the only seed; f may change all of it before start.
func inWorld(t *testing.T, n int, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, net: wiretest.NewNetwork(), cluster: wiretest.NewCluster("cluster-a"), brokers: make(map[int32]*wiretest.Broker),
			random: func() float64 { return 0.5 }, shuffle: func(int, func(int, int)) {}}
		for id := int32(1); id <= int32(n); id++ {
			w.addBroker(id, wiretest.Common)
		}
		w.cfg = Config{
			Seeds: w.seeds("b1:9092"),
			Dialer: &wire.Dialer{Timeout: 10 * time.Second, AttemptDelay: 250 * time.Millisecond, ClientID: "test", SoftwareVersion: "1",
				Lookup: w.net.Lookup, DialAddress: w.net.DialAddress},
			RefreshInterval: 30 * time.Second, HedgeDelay: 250 * time.Millisecond, ConnectRate: 50,
			BackoffBase: 250 * time.Millisecond, BackoffMax: 30 * time.Second, CheckInterval: 10 * time.Second,
			CheckTimeout: 5 * time.Second, SeedCheckInterval: time.Minute, SASLRetryInterval: 5 * time.Minute,
			Retention: 24 * time.Hour, OnEvent: w.events.add,
		}
		f(w)
		w.stop()
	})
}

func (w *world) seeds(entries ...string) seeds.List {
	list, err := seeds.Parse(entries, seeds.Security{})
	if err != nil {
		w.Fatal(err)
	}
	return list
}

func address(id int32) string { return fmt.Sprintf("10.0.0.%d:9092", id) }

func (w *world) addBroker(id int32, versions wiretest.Versions) *wiretest.Broker {
	b := wiretest.NewBroker(id, w.cluster, versions)
	w.brokers[id] = b
	host := fmt.Sprintf("b%d", id)
	w.net.Name(host, fmt.Sprintf("10.0.0.%d", id))
	w.cluster.Set(id, host+":9092")
	w.net.Listen(address(id), b.Serve)
	return b
}

// start starts the manager and lets it settle without time passing.
func (w *world) start() {
	m, err := New(w.cfg)
	if err != nil {
		w.Fatal(err)
	}
	m.random, m.shuffle = w.random, w.shuffle
	ctx, cancel := context.WithCancel(context.Background())
	w.m, w.cancel, w.done = m, cancel, make(chan error, 1)
	go func() { w.done <- m.Run(ctx) }()
	synctest.Wait()
}

// stop ends the manager; the bubble refuses to end if anything is left.
func (w *world) stop() {
	if w.cancel == nil {
		return
	}
	w.cancel()
	if err := <-w.done; err != nil {
		w.Errorf("Run returned %v", err)
	}
	w.cancel = nil
	for _, b := range w.m.Snapshot().Brokers {
		if b.OpenConnections != 0 || b.References != 0 || b.State != StateClosed {
			w.Errorf("broker %d after Run: %d sockets, %d references, %s", b.ID, b.OpenConnections, b.References, b.State)
		}
	}
	w.net.Wait()
}

// after lets time pass and everything settle.
func (w *world) after(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

func (w *world) broker(id int32) Broker {
	w.Helper()
	for _, b := range w.m.Snapshot().Brokers {
		if b.ID == id {
			return b
		}
	}
	w.Fatalf("broker %d is not known", id)
	return Broker{}
}

func (w *world) seed(name string) Seed {
	w.Helper()
	for _, s := range w.m.Snapshot().Seeds {
		if s.Name == name {
			return s
		}
	}
	w.Fatalf("seed %s is not known", name)
	return Seed{}
}

// wantReady asserts that brokers are reachable, ready and have one socket each.
func (w *world) wantReady(ids ...int32) {
	w.Helper()
	for _, id := range ids {
		b := w.broker(id)
		if b.Reachable != VerdictGood || b.State != StateReady || b.OpenConnections != 1 || w.net.Open(address(id)) != 1 {
			w.Errorf("broker %d: verdict %d, %s, %d sockets, %d at the broker, failure %+v",
				id, b.Reachable, b.State, b.OpenConnections, w.net.Open(address(id)), b.Failure)
		}
	}
}

// wantFailing asserts that a verdict is bad, for "phase reason".
func wantFailing(t *testing.T, what string, v Verdict, f *Failure, want string) {
	t.Helper()
	got := "none"
	if f != nil {
		got = strings.Join([]string{f.Phase.String(), f.Reason.String()}, " ")
	}
	if v != VerdictBad || got != want {
		t.Errorf("%s: verdict %d, failing with %s, want %s", what, v, got, want)
	}
}

func (w *world) wantBrokerFailing(id int32, want string) {
	w.Helper()
	b := w.broker(id)
	wantFailing(w.T, fmt.Sprintf("broker %d", id), b.Reachable, b.Failure, want)
}

func (w *world) wantSeedFailing(name, want string) {
	w.Helper()
	s := w.seed(name)
	wantFailing(w.T, "seed "+name, s.Reachable, s.Failure, want)
}
