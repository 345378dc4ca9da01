package lab

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

func mute(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence }

// TestCaseC02ScrapesDoNotWait: a scrape reads what is known and asks nobody.
// Done: one of three brokers is stopped, another one swallows every SYN; 100 scrapes, 20 at a time
// Shows: every scrape is fast and complete, with the healthy broker untouched and the two others unreachable
func TestCaseC02ScrapesDoNotWait(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, wiretest.Common)
	blackhole := nobody()
	wiretest.Blackhole(t, blackhole)
	c.Set(3, blackhole)
	p := start(t, c.seeds(1), "--connect.timeout=8s", "--check.timeout=8s", "--check.interval=100ms")
	p.wait(ready(1, 2), is(1, ofBroker(3, "connection_state", "state", "connecting")))
	p.guard(1)
	c.stands[1].freeze()
	p.wait(atLeast(1, ofBroker(3, "connection_failures_total", "phase", "dial")), is(0, ofBroker(3, "reachable")))
	p.mu.Lock()
	p.slowest = 0
	p.mu.Unlock()
	var scrapers sync.WaitGroup
	for range 20 {
		scrapers.Go(func() {
			for range 5 {
				body, code, err := p.fetch("/metrics")
				if missing := all(ready(1), atLeast(0, ofBroker(2, "reachable")), is(0, ofBroker(3, "reachable")))(parse(body)); missing != nil || code != 200 || err != nil {
					t.Errorf("status %d, %v, %v", code, err, missing)
				}
			}
		})
	}
	scrapers.Wait()
	t.Logf("the slowest of 100 scrapes took %s", p.slowest)
	if p.slowest > 4*time.Second { // half of what a broker has time for
		t.Errorf("a scrape took %s", p.slowest)
	}
	p.wait(is(0, ofBroker(2, "reachable")))
	c.stands[1].thaw()
	p.wait(ready(1, 2))
}

// TestCaseC04SilentDrop: nobody says that the connection is gone.
// Done: a broker's process is stopped while it is connected: its kernel accepts and acknowledges, nothing answers
// Shows: `request`, `timeout` within check interval and timeout, then `api_versions`, `timeout`; ready again when it goes on
func TestCaseC04SilentDrop(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Common)
	p := start(t, c.seeds(1), "--check.timeout=1s")
	p.wait(ready(1, 2, 3))
	p.guard(1, 3)
	c.stands[1].freeze()
	began := time.Now()
	p.wait(failing(2, "request", "timeout"), is(1, ofBroker(2, "connection_closes_total", "cause", "error")))
	t.Logf("the verdict came after %s", time.Since(began))
	p.wait(failing(2, "api_versions", "timeout"), is(1, ofBroker(2, "request_failures_total", "reason", "timeout")))
	c.stands[1].thaw()
	p.wait(ready(1, 2, 3))
}

// TestCaseC04LostConnection: a connection ends, by FIN or by RST, alone or with the broker.
// Done: the connection is cut; later the broker dies; later it is back
// Shows: a cut alone is a close and a new connection, never a bad verdict; a dead broker is `dial`, `refused` until it is back
func TestCaseC04LostConnection(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		t.Run(fmt.Sprintf("reset=%t", reset), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 3, wiretest.Common)
			p := start(t, c.seeds(1))
			p.wait(ready(1, 2, 3))
			p.guard(1, 3)
			poll(6*time.Second, func() bool { return false }) // it ends young otherwise, and backoff would apply
			p.hold(0, is(1, ofBroker(2, "connection_attempts_total")))
			c.stands[1].cut(reset)
			alive := func(m metrics) error { return is(1, ofBroker(2, "reachable"))(m) }
			poll(patience, func() bool {
				m := p.hold(0, alive)
				return all(ready(2), sums(1, "broker_connection_closes_total", "broker_id", "2"), is(2, ofBroker(2, "connection_attempts_total")))(m) == nil
			})
			p.hold(200*time.Millisecond, alive, is(2, ofBroker(2, "connection_attempts_total")))
			c.stands[1].kill(reset)
			p.wait(failing(2, "dial", "refused"))
			p.hold(500*time.Millisecond, failing(2, "dial", "refused"))
			c.stands[1].open()
			p.wait(ready(1, 2, 3))
		})
	}
}

// TestCaseC05AcceptsNothingNew: the acceptor is dead, those who are connected are served.
// Done: new connections are refused, then swallowed, then accepted and ignored; the old one is served all the time
// Shows: `broker_reachable` 1, `broker_accepts_connections` 0, and why: `dial` `refused`, `dial` `timeout`, `api_versions` `timeout`
func TestCaseC05AcceptsNothingNew(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, wiretest.Common)
	p := start(t, c.seeds(1), "--handshake.interval=300ms", "--connect.timeout=2s")
	accepts := is(1, ofBroker(2, "accepts_connections"))
	p.wait(ready(1), accepts)
	p.always(is(1, ofBroker(1, "reachable")), is(1, ofBroker(2, "reachable")), is(1, ofBroker(1, "accepts_connections")),
		is(1, ofBroker(2, "connection_state_changes_total", "state", "ready")))
	broker := c.stands[1]
	broker.close()
	p.wait(refusing(2, "dial", "refused"))
	_, free := wiretest.Blackhole(t, broker.addr)
	p.wait(refusing(2, "dial", "timeout"))
	free()
	broker.open()
	p.wait(accepts, absent("broker_failing"))
	broker.serve(wiretest.Tarpit)
	p.wait(refusing(2, "api_versions", "timeout"))
	broker.serve(c.brokers[1].Serve)
	p.wait(accepts, absent("broker_failing"))
}

// TestCaseC16AcceptsAndIsSilent: a kernel that accepts is not Kafka.
// Done: a seed and a broker accept and read, and never answer; another broker answers ApiVersions and nothing else
// Shows: `api_versions` `timeout` for the first two, `identity` `timeout` for the third, and next to no CPU time meanwhile
func TestCaseC16AcceptsAndIsSilent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Common)
	seed := newStand(t, "", wiretest.Tarpit)
	c.stands[1].serve(wiretest.Tarpit)
	c.brokers[2].On(kmsg.Metadata, mute)
	p := start(t, c.seeds(1)+","+seed.addr, "--connect.timeout=3s")
	p.wait(ready(1), seedFailing(seed.addr, "api_versions", "timeout"), failing(2, "api_versions", "timeout"), failing(3, "identity", "timeout"))
	p.guard(1)
	before := p.scrape()["process_cpu_seconds_total"]
	poll(3*time.Second, func() bool { return false })
	used := p.scrape()["process_cpu_seconds_total"] - before
	t.Logf("%.3f s of CPU time in 3 s", used)
	if used > 1 {
		t.Errorf("%.3f s of CPU time in 3 s", used)
	}
	seed.serve(c.brokers[0].Serve)
	c.stands[1].serve(c.brokers[1].Serve)
	c.brokers[2].On(kmsg.Metadata, nil)
	p.wait(ready(1, 2, 3), seedWell(seed.addr))
}

// TestCaseC26AcceptsAndCloses: a load balancer without backends accepts everybody and closes at once.
// Done: the broker's address and a seed accept and close, with the backoff of the defaults
// Shows: `api_versions` `closed`; few attempts, ever further apart; ready again when there is a backend
func TestCaseC26AcceptsAndCloses(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, wiretest.Common)
	seed := newStand(t, "", wiretest.ReadAndClose)
	c.stands[1].serve(wiretest.ReadAndClose)
	p := start(t, c.seeds(1)+","+seed.addr, "--backoff.base=250ms", "--backoff.max=30s", "--seed.check-interval=1m", calm)
	p.wait(ready(1), failing(2, "api_versions", "closed"))
	p.guard(1)
	p.hold(4*time.Second, failing(2, "api_versions", "closed"))
	if n := c.stands[1].dials(); n < 3 || n > 8 { // after 0, 0.25, 0.75, 1.75, 3.75, 7.75 s …
		t.Errorf("the broker was dialed %d times", n)
	}
	if n := seed.dials(); n > 3 {
		t.Errorf("the seed was dialed %d times", n)
	}
	c.stands[1].serve(c.brokers[1].Serve)
	p.wait(ready(1, 2))
}

// TestStoppedExporter: what runs out while the exporter itself does not run says nothing about the brokers.
func TestStoppedExporter(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Common)
	for _, b := range c.brokers { // so slow that a check is under way most of the time
		b.On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			<-time.After(100 * time.Millisecond)
			return b.Well(r)
		})
	}
	p := start(t, c.seeds(1), "--check.timeout=1s", "--check.interval=100ms", calm)
	p.wait(ready(1, 2, 3))
	p.guard(1, 2, 3)
	for range 2 {
		p.signal(syscall.SIGSTOP)
		poll(3*time.Second, func() bool { return false })
		p.signal(syscall.SIGCONT)
		p.hold(time.Second, is(1, "up"))
	}
}
