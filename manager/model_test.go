package manager

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

var (
	modelRuns = flag.Uint64("model.runs", 40, "random histories that TestModel goes through")
	modelFrom = flag.Uint64("model.from", 1, "seed of the first one")
)

// TestModel takes the manager through random histories of a cluster: brokers that die or answer badly in seven ways, come back, move, leave,
// return, are new, connections that are cut, leases that come, go, bounce and are impatient. After each event it compares the
// snapshot with a model that knows what was done, and at the end of each history with a cluster in which all is well.
func TestModel(t *testing.T) {
	for seed := *modelFrom; seed < *modelFrom+*modelRuns; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			inWorld(t, 4, func(w *world) { newModel(w, seed).run() })
			if t.Failed() {
				t.Logf("again: go test ./manager -run TestModel -model.runs 1 -model.from %d", seed)
			}
		})
	}
}

// model is what should be true.
type model struct {
	*world
	*rand.Rand
	versions wiretest.Versions
	members  map[int32]*modelBroker
	leases   map[int32][]*Lease
	before   Snapshot
	at       time.Time // when before was taken
	moved    time.Time // when a broker last did
	history  []string
}

// modelBroker is a broker as the model knows it.
type modelBroker struct {
	id      int32
	host    string
	addr    string
	fault   fault
	listed  bool
	since   time.Time // of the last thing that was done to it
	touched bool      // something was done to it at all
}

// fault is a way to be out of order, and what the manager has to say about it.
type fault struct {
	does string
	want []string // phase and reason, once there was time to notice
	make func(m *model, b *modelBroker)
}

var (
	noFault = fault{does: "serves"}
	faults  = []fault{
		{"refuses", []string{"dial refused"}, func(m *model, b *modelBroker) { m.net.Refuse(b.addr) }},
		{"is a blackhole", []string{"dial timeout"}, func(m *model, b *modelBroker) { m.net.Blackhole(b.addr) }},
		{"hangs up", []string{"api_versions closed"}, func(m *model, b *modelBroker) { m.net.Listen(b.addr, wiretest.Hangup) }},
		{"is a tarpit", []string{"api_versions timeout"}, func(m *model, b *modelBroker) { m.net.Listen(b.addr, wiretest.Tarpit) }},
		{"names nobody", []string{"request empty_metadata"}, func(m *model, b *modelBroker) {
			m.net.Listen(b.addr, wiretest.NewBroker(b.id, wiretest.NewCluster("cluster-a"), m.versions).Serve)
		}},
		{"is of another cluster", []string{"identity wrong_cluster"}, func(m *model, b *modelBroker) {
			foreign := wiretest.NewCluster("cluster-b")
			foreign.Set(b.id, b.addr)
			m.net.Listen(b.addr, wiretest.NewBroker(b.id, foreign, m.versions).Serve)
		}},
		// Before Kafka 4.4 the identity phase asks for the list, too.
		{"answers ApiVersions only", []string{"request timeout", "identity timeout"}, func(m *model, b *modelBroker) {
			mute := wiretest.NewBroker(b.id, m.cluster, m.versions)
			for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.DescribeCluster} {
				mute.On(key, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence })
			}
			m.net.Listen(b.addr, mute.Serve)
		}},
	}
)

// seedIDs is the last id of a broker whose name is a seed as well.
const seedIDs = 2

// noticed is the time within which every fault and every repair must show: the longest backoff, an attempt that runs into its
// timeout, and a check.
const noticed = 36*time.Second + 10*time.Second + 15*time.Second

func newModel(w *world, seed uint64) *model {
	m := &model{world: w, Rand: rand.New(rand.NewPCG(seed, 0)), members: make(map[int32]*modelBroker), leases: make(map[int32][]*Lease)}
	m.versions = []wiretest.Versions{wiretest.Common, wiretest.Modern}[seed%2]
	w.cfg.Seeds = w.seeds("b1:9092", "b2:9092")
	w.random, w.shuffle = rand.Float64, rand.Shuffle
	w.cfg.HandshakeInterval = []time.Duration{0, time.Minute}[seed/2%2]
	for id := range w.brokers {
		m.add(id)
	}
	return m
}

// add makes broker id a good one at its own name, listed.
func (m *model) add(id int32) {
	m.addBroker(id, m.versions)
	m.members[id] = &modelBroker{id: id, host: fmt.Sprintf("b%d", id), addr: address(id), listed: true, since: time.Now()}
}

func (m *model) run() {
	m.start()
	m.before, m.at = m.m.Snapshot(), time.Now()
	for range 40 + m.IntN(40) {
		m.step()
		synctest.Wait()
		m.check()
		if m.Failed() {
			break
		}
	}
	if !m.Failed() {
		m.wantRecovery()
	}
	if m.Failed() {
		m.Logf("history: %q", m.history)
	}
	for _, leases := range m.leases {
		for _, l := range leases {
			l.Release()
		}
	}
}

func (m *model) note(format string, args ...any) {
	m.history = append(m.history, fmt.Sprintf(format, args...))
}

// any returns a random modelBroker.
func (m *model) any() *modelBroker {
	ids := make([]int32, 0, len(m.members))
	for id := range m.members {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return m.members[ids[m.IntN(len(ids))]]
}

// step does one random thing.
func (m *model) step() {
	b := m.any()
	switch m.IntN(11) {
	case 0, 1, 2:
		d := time.Duration(m.Int64N(int64([]time.Duration{100 * time.Millisecond, 3 * time.Second, 90 * time.Second}[m.IntN(3)])))
		m.note("%s pass", d)
		time.Sleep(d)
	case 3, 4:
		m.breakIt(b, faults[m.IntN(len(faults))])
	case 5:
		m.repair(b)
	case 6:
		m.note("the connections of %d are cut", b.id)
		m.touch(b)
		m.net.Cut(b.addr)
	case 7:
		m.list(b)
	case 8:
		m.move(b)
	case 9:
		if id := int32(len(m.members) + 1); id <= 7 {
			m.note("%d is new", id)
			m.add(id)
		}
	case 10:
		m.lease(b)
	}
}

func (m *model) touch(b *modelBroker) { b.since, b.touched = time.Now(), true }

func (m *model) breakIt(b *modelBroker, f fault) {
	m.note("%d %s", b.id, f.does)
	m.touch(b)
	b.fault = f
	f.make(m, b)
	m.net.Cut(b.addr)
}

func (m *model) repair(b *modelBroker) {
	m.note("%d serves", b.id)
	m.touch(b)
	b.fault = noFault
	m.net.Listen(b.addr, m.brokers[b.id].Serve)
	m.net.Cut(b.addr)
}

// list takes a broker off the cluster's list, or puts it back. The seeds' brokers stay: somebody must be there to tell.
func (m *model) list(b *modelBroker) {
	if b.id <= seedIDs {
		return
	}
	m.touch(b)
	b.listed = !b.listed
	m.note("%d is listed: %v", b.id, b.listed)
	if b.listed {
		m.cluster.Set(b.id, b.host+":9092")
	} else {
		m.cluster.Remove(b.id)
	}
}

// move gives a broker another name and address, where it serves. Those of the seeds stay.
func (m *model) move(b *modelBroker) {
	if b.id <= seedIDs || !b.listed {
		return
	}
	m.touch(b)
	m.moved = time.Now()
	m.net.Refuse(b.addr)
	m.net.Cut(b.addr)
	generation := m.IntN(1000)
	b.host, b.addr = fmt.Sprintf("b%d-%d", b.id, generation), fmt.Sprintf("10.%d.%d.%d:9092", 1+generation/200, generation%200, b.id)
	m.note("%d moves to %s", b.id, b.host)
	m.net.Name(b.host, b.addr[:len(b.addr)-len(":9092")])
	m.cluster.Set(b.id, b.host+":9092")
	b.fault = noFault
	m.net.Listen(b.addr, m.brokers[b.id].Serve)
}

// lease acquires a lease, or bounces or releases one.
func (m *model) lease(b *modelBroker) {
	held := m.leases[b.id]
	switch {
	case len(held) == 0 || m.IntN(3) == 0:
		if l, err := m.m.Acquire(b.id); err == nil {
			m.note("a lease on %d", b.id)
			m.leases[b.id] = append(held, l)
		}
	case m.IntN(2) == 0:
		m.note("%d is bounced", b.id)
		m.touch(b)
		held[0].Reconnect()
	default:
		m.note("a lease on %d is released", b.id)
		held[0].Release()
		m.leases[b.id] = held[1:]
	}
}
