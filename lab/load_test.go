package lab

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

// counting adds up what a broker writes.
type counting struct {
	net.Conn
	bytes *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	c.bytes.Add(int64(len(b)))
	return c.Conn.Write(b)
}

// TestCaseC40ManyBrokers: the cost of a refresh grows with brokers, not with topics.
// Done: a cluster of 1,000 brokers, whose seed looks at what it is asked for
// Shows: no request for all topics, nor for any; less than 1 KiB per broker and answer; rounds take milliseconds
func TestCaseC40ManyBrokers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	host := hostOf(nobody())
	for id := int32(2); id <= 1000; id++ {
		c.SetMember(id, wiretest.Member{Host: host, Port: 9092, Rack: "eu-central-1a"})
	}
	var answers, bytes atomic.Int64
	c.brokers[0].On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
		answers.Add(1)
		if topics := r.Request.(*kmsg.MetadataRequest).Topics; topics == nil || len(topics) > 0 {
			t.Errorf("%d topics were asked for, nil is all: %v", len(topics), topics)
		}
		return c.brokers[0].Well(r)
	})
	c.stands[0].serve(func(conn net.Conn) { c.brokers[0].Serve(counting{conn, &bytes}) })
	p := start(t, c.seeds(1), "--connect.rate=2", "--seed.check-interval=0s")
	m := p.wait(ready(1), is(1000, "brokers"), atLeast(4, "metadata_refreshes_total"))
	p.guard(1)
	mean := m["metadata_refresh_duration_seconds_sum"] / m["metadata_refresh_duration_seconds_count"]
	each := bytes.Load() / answers.Load() / 1000
	t.Logf("a round takes %.4f s, an answer %d bytes per broker; the slowest scrape %s", mean, each, p.slowest)
	if mean > 1 || each >= 1024 {
		t.Errorf("a round takes %.4f s, an answer %d bytes per broker", mean, each)
	}
}

// TestCaseC40OldestMetadata: a broker of version 0 knows no way to be asked for brokers only.
// Done: a broker with Metadata 0 answers with 100,000 partitions
// Shows: reachable; the process' memory stays within bounds
func TestCaseC40OldestMetadata(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, wiretest.Versions{3: {0, 0}, 18: {0, 0}})
	topics := make([]kmsg.MetadataResponseTopic, 1000)
	for i := range topics {
		topics[i] = kmsg.NewMetadataResponseTopic()
		topics[i].Topic = kmsg.StringPtr(fmt.Sprintf("a-topic-with-a-name-of-some-length-%d", i))
		topics[i].Partitions = make([]kmsg.MetadataResponseTopicPartition, 100)
		for j := range topics[i].Partitions {
			topics[i].Partitions[j] = kmsg.MetadataResponseTopicPartition{Partition: int32(j), Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2, 3}}
		}
	}
	for _, b := range c.brokers {
		b.On(kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			resp, err := b.Well(r)
			resp.(*kmsg.MetadataResponse).Topics = topics
			return resp, err
		})
	}
	p := start(t, c.seeds(1), "--check.timeout=1m", "--connect.timeout=1m", "--check.interval=1s", "--metadata.refresh-interval=1s", "--seed.check-interval=0s")
	p.wait(ready(1, 2), is(2, "brokers"))
	p.guard(1, 2)
	p.hold(2*time.Second, ready(1, 2))
	t.Logf("up to %d MiB", p.peakMemory()>>20)
	if p.peakMemory() > 600<<20 {
		t.Errorf("the process has needed %d MiB", p.peakMemory()>>20)
	}
}

// TestCaseC42Scrapers: how often and by whom the exporter is scraped is nothing to the brokers.
// Done: four scrapers at once, as fast as they can
// Shows: one connection per broker, made once, and no more requests than the check interval says
func TestCaseC42Scrapers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Common)
	p := start(t, c.seeds(1), "--seed.check-interval=0s", "--check.interval=500ms", "--metadata.refresh-interval=1s", calm)
	p.wait(ready(1, 2, 3))
	p.guard(1, 2, 3)
	dials := []int{c.stands[0].dials(), c.stands[1].dials(), c.stands[2].dials()}
	before := p.scrape()
	began := time.Now()
	var scrapers sync.WaitGroup
	for range 4 {
		scrapers.Go(func() {
			for range 50 {
				if _, code, err := p.fetch("/metrics"); code != 200 || err != nil {
					t.Errorf("scrape: %d, %v", code, err)
				}
			}
		})
	}
	scrapers.Wait()
	after := p.scrape()
	for i, s := range c.stands {
		if s.dials() != dials[i] || s.connections() != 1 {
			t.Errorf("broker %d: %d connections were made meanwhile, %d are open", i+1, s.dials()-dials[i], s.connections())
		}
		sent := after[ofBroker(i+1, "requests_total")] - before[ofBroker(i+1, "requests_total")]
		if most := time.Since(began).Seconds()*2/0.9 + time.Since(began).Seconds() + 3; sent > most {
			t.Errorf("broker %d: %v requests in %s", i+1, sent, time.Since(began))
		}
	}
}

// TestCaseC43DeadTargetsInTheLog: what is dead and stays dead is one line.
// Done: 100 brokers whose names have an address of each family, all refused, dialed over and over
// Shows: one line that each is known and one that it cannot be reached, however many attempts there are
func TestCaseC43DeadTargetsInTheLog(t *testing.T) {
	t.Parallel()
	const targets = 100
	c := newCluster(t, 1, wiretest.Common)
	server := newNameServer(t)
	dead, port := hostOf(nobody()), port(t)
	for id := 2; id < 2+targets; id++ {
		name := fmt.Sprintf("dead-%d.test", id)
		server.set(name, "::1", dead)
		c.SetMember(int32(id), wiretest.Member{Host: name, Port: port})
	}
	p := startEnv(t, server.env(), c.seeds(1), "--backoff.base=100ms", "--backoff.max=100ms")
	p.wait(ready(1), func(m metrics) error {
		for id := 2; id < 2+targets; id++ {
			if err := all(failing(id, "dial", "refused"), atLeast(10, ofBroker(id, "connection_attempts_total")))(m); err != nil {
				return err
			}
		}
		return nil
	})
	lines := strings.Count(p.logged(), "\n")
	t.Logf("%d lines for %v attempts on %d dead targets", lines, p.scrape().sum("broker_connection_attempts_total"), targets)
	if lines > 2*targets+20 {
		t.Errorf("%d lines for %d dead targets:\n%s", lines, targets, tail(p.logged()))
	}
}

// TestCaseC44HandshakesEndWell: a probe must not write into the brokers' logs.
// Done: fresh handshakes five times a second, by TLS; the brokers note who comes and how each connection goes
// Shows: no connection that ends before TLS and ApiVersions are done, or that has no name
func TestCaseC44HandshakesEndWell(t *testing.T) {
	t.Parallel()
	ca := wiretest.NewAuthority()
	c := newCluster(t, 2, wiretest.Modern)
	var complete, incomplete atomic.Int64
	for i, b := range c.brokers {
		b.On(kmsg.ApiVersions, func(r wiretest.Request) (kmsg.Response, error) {
			req := r.Request.(*kmsg.ApiVersionsRequest)
			if r.ClientID != "kafka_connection_exporter" || req.ClientSoftwareName != "kafka-connection-exporter" {
				t.Errorf("somebody by the name of %q, %q", r.ClientID, req.ClientSoftwareName)
			}
			return b.Well(r)
		})
		c.stands[i].serve(behindTLS(ca, hostOf(c.stands[i].addr), nil, func(conn net.Conn) {
			counted := &firstByte{Conn: conn}
			b.Serve(counted)
			if counted.read {
				complete.Add(1)
			} else {
				incomplete.Add(1)
			}
		}))
	}
	p := start(t, append(caFlags(t, ca), c.seeds(1), "--handshake.interval=200ms")...)
	p.wait(ready(1, 2), is(1, ofBroker(1, "accepts_connections")), is(1, ofBroker(2, "accepts_connections")),
		atLeast(8, ofBroker(2, "connection_attempts_total")))
	if complete.Load() < 5 || incomplete.Load() > 0 {
		t.Errorf("%d connections ended well, %d half-way", complete.Load(), incomplete.Load())
	}
}

// firstByte notes whether anything has come.
type firstByte struct {
	net.Conn
	read bool
}

func (f *firstByte) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	f.read = f.read || n > 0
	return n, err
}
