package lab

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

var soakFor = flag.Duration("lab.soak", 10*time.Second, "how long TestSoak makes trouble")

const (
	fleetSize    = 12
	replacements = 6 // of the whole fleet, in the time
	scrapers     = 4
	soakTick     = 150 * time.Millisecond // between two faults
)

// TestSoak makes trouble without end: connections are cut all at once, brokers come and go, accept and close, freeze, and from
// time to time the whole fleet is replaced, while several scrapers look on. When it is over the exporter must be what it was:
// as many sockets, goroutines and series, and no more memory.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := newSoak(t)
	s.quiet()
	before := s.measure(measure{})
	stop := s.scrape()
	s.churn(*soakFor)
	stop()
	s.quiet()
	after := s.measure(before)
	t.Logf("%s of trouble: %d faults, %d fleets, %d connections, %d scrapes, the slowest took %s", *soakFor, s.faults, s.fleets, s.dials(), s.scrapes.Load(), s.p.slowest)
	t.Logf("before: %s", before)
	t.Logf("after:  %s", after)
	if excess := after.excess(before); excess != "" {
		t.Errorf("the exporter is not what it was before: %s", excess)
	}
}

// soak is an exporter, its brokers, and what is being done to them. One goroutine does it all.
type soak struct {
	testing.TB
	p       *process
	front   *stand // the seed: a load balancer that leads to one of the brokers
	entry   atomic.Pointer[wiretest.Broker]
	fleet   *cluster
	repairs map[*stand]repair
	faults  int
	fleets  int
	past    int // connections to brokers that are gone
	scrapes atomic.Int64
}

// repair ends the fault of a stand.
type repair struct {
	due time.Time
	do  func()
}

func newSoak(t *testing.T) *soak {
	s := &soak{TB: t, repairs: make(map[*stand]repair)}
	s.front = newStand(t, "", s.enter)
	s.replace()
	s.p = start(t, "--kafka.seed="+s.front.addr, "--broker.retention=2s", "--handshake.interval=2s")
	return s
}

func (s *soak) enter(conn net.Conn) { s.entry.Load().Serve(conn) }

// replace puts new brokers with new ids and addresses in the place of all that there are. Every other fleet does not tell
// which brokers are registered, so that the retention has to pass before the old ones are forgotten.
func (s *soak) replace() {
	s.repairAll(time.Time{})
	old := s.fleet
	s.fleets++
	versions := wiretest.Modern
	if s.fleets%2 == 0 {
		versions = wiretest.Common
	}
	s.fleet = &cluster{Cluster: wiretest.NewCluster("cluster-a")}
	for i := range fleetSize {
		s.fleet.add(s, 100*s.fleets+i, "", versions)
	}
	s.entry.Store(s.fleet.brokers[0])
	if old != nil {
		for _, gone := range old.stands {
			gone.kill(rand.IntN(2) == 0)
			s.past += gone.dials()
		}
		s.front.cut(true)
	}
}

// churn makes trouble for as long as d, and ends with every broker of the last fleet in order.
func (s *soak) churn(d time.Duration) {
	tick := time.NewTicker(soakTick)
	defer tick.Stop()
	end := time.Now().Add(d)
	next := time.Now().Add(d / replacements)
	for now := time.Now(); now.Before(end); now = <-tick.C {
		s.repairAll(now)
		if now.After(next) {
			next = next.Add(d / replacements)
			s.replace()
			continue
		}
		s.fault(now)
	}
	s.repairAll(time.Time{})
	if s.fleets%2 == 0 {
		s.replace() // as many series as at the start
	}
}

// repairAll ends the faults that are due by now, the zero time standing for all.
func (s *soak) repairAll(now time.Time) {
	for broken, r := range s.repairs {
		if now.IsZero() || now.After(r.due) {
			r.do()
			delete(s.repairs, broken)
		}
	}
}

// fault does something to one broker that is in order, to the seed, or to all connections.
func (s *soak) fault(now time.Time) {
	s.faults++
	i := rand.IntN(fleetSize)
	victim, well := s.fleet.stands[i], s.fleet.brokers[i].Serve
	if rand.IntN(20) == 0 {
		victim, well = s.front, s.enter
	}
	if _, broken := s.repairs[victim]; broken {
		return
	}
	lasts := time.Duration(100+rand.IntN(1500)) * time.Millisecond
	switch reset := rand.IntN(2) == 0; rand.IntN(8) {
	case 0: // a storm: all connect anew at the same time
		for _, each := range s.fleet.stands {
			each.cut(reset)
		}
	case 1: // the process stands still, or longer than a check waits
		victim.freeze()
		s.repairs[victim] = repair{now.Add(2 * lasts), victim.thaw}
	case 2, 3: // a load balancer without backends
		victim.serve(wiretest.Hangup)
		victim.cut(reset)
		s.repairs[victim] = repair{now.Add(lasts), func() { victim.serve(well) }}
	case 4: // it accepts nobody, those who are in stay
		victim.close()
		s.repairs[victim] = repair{now.Add(lasts), victim.open}
	default: // a restart
		victim.kill(reset)
		s.repairs[victim] = repair{now.Add(lasts), victim.open}
	}
}

// quiet waits until every broker of the fleet is well, and no other is known.
func (s *soak) quiet() {
	s.Helper()
	var ids []int
	for i := range fleetSize {
		ids = append(ids, 100*s.fleets+i)
	}
	s.p.wait(ready(ids...), seedWell(s.front.addr), sums(fleetSize, "broker_in_metadata"), func(m metrics) error {
		if n := len(m.find("broker_in_metadata")); n != fleetSize {
			return fmt.Errorf("%d brokers are known, want %d", n, fleetSize)
		}
		return nil
	})
}

// scrape lets several scrapers look on until stop.
func (s *soak) scrape() (stop func()) {
	var work sync.WaitGroup
	over := make(chan struct{})
	for range scrapers {
		work.Go(func() {
			again := time.NewTicker(4 * soakTick)
			defer again.Stop()
			for {
				select {
				case <-over:
					return
				case <-again.C:
				}
				page, code, err := s.p.fetch("/metrics")
				if err != nil || code != http.StatusOK {
					s.Errorf("scrape: status %d, %v", code, err)
				}
				if m := parse(page); len(m.find("broker_failing", "reason", "other"))+len(m.find("seed_failing", "reason", "other")) > 0 {
					s.Errorf("a failure without a reason:\n%s", m)
				}
				s.scrapes.Add(1)
			}
		})
	}
	return func() { close(over); work.Wait() }
}

func (s *soak) dials() int {
	n := s.past + s.front.dials()
	for _, each := range s.fleet.stands {
		n += each.dials()
	}
	return n
}

// measure is what may leak.
type measure struct{ sockets, goroutines, heap, series int }

// measure measures until two in a row agree and are no more than before, or the patience ends: a handshake under way takes a
// socket and a few goroutines.
func (s *soak) measure(before measure) (now measure) {
	s.Helper()
	poll(patience, func() bool {
		s.p.client.CloseIdleConnections() // each takes a socket and two goroutines of the server
		m := s.p.collectGarbage()
		last := now
		now = measure{s.p.openSockets(), int(m["go_goroutines"]), int(m["go_memstats_heap_alloc_bytes"]), len(m)}
		return now.sockets == last.sockets && now.goroutines == last.goroutines && now.excess(before) == ""
	})
	return now
}

// Figures that may differ by chance: a goroutine that is just ending, and memory that caches keep.
const (
	slackGoroutines = 2
	slackHeap       = 1 << 20
)

// excess names what is more than before, and other series than before. Nothing is in excess of the zero value.
func (m measure) excess(before measure) string {
	var what []string
	for _, c := range []struct {
		name          string
		now, was, may int
	}{
		{"sockets", m.sockets, before.sockets, 0}, {"goroutines", m.goroutines, before.goroutines, slackGoroutines},
		{"bytes of heap", m.heap, before.heap, slackHeap + before.heap/4},
	} {
		if before != (measure{}) && c.now > c.was+c.may {
			what = append(what, fmt.Sprintf("%d %s instead of %d", c.now, c.name, c.was))
		}
	}
	if before != (measure{}) && m.series != before.series {
		what = append(what, fmt.Sprintf("%d series instead of %d", m.series, before.series))
	}
	return strings.Join(what, ", ")
}

// String is for the log of the test.
func (m measure) String() string {
	return fmt.Sprintf("%d sockets, %d goroutines, %d kB of heap, %d series", m.sockets, m.goroutines, m.heap>>10, m.series)
}
