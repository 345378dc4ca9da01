package lab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

// sends writes a beginning and then piece after piece, with pauses, for as long as it is read.
func sends(beginning string, pause time.Duration, piece []byte) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := conn.Read(make([]byte, 4096)); err != nil {
			return
		}
		_, err := conn.Write([]byte(beginning))
		for err == nil && len(piece) > 0 {
			if pause > 0 {
				<-time.After(pause)
			}
			_, err = conn.Write(piece)
		}
		wiretest.Tarpit(conn)
	}
}

// length is a frame's length and what follows of it.
func length(n uint32, rest ...byte) string {
	return string(append(binary.BigEndian.AppendUint32(nil, n), rest...))
}

// late is a broker that answers ApiVersions and is hostile after that.
func late(c *cluster, script wiretest.Script) func(net.Conn) {
	b := wiretest.NewBroker(1, c.Cluster, wiretest.Common)
	b.On(kmsg.Metadata, script)
	return b.Serve
}

// TestHostilePeers: whatever a peer sends ends at its deadline with a reason, and costs no more memory than a frame may have.
func TestHostilePeers(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20 // of the first frame
	c := newCluster(t, 1, wiretest.Common)
	zeros := make([]byte, 64<<10)
	good := func(*stand) func(net.Conn) { return c.brokers[0].Serve }
	peers := []peer{
		{sends(length(256), 50*time.Millisecond, []byte{0}), "api_versions", "timeout"}, // a byte now and then
		{sends("\x00\x00", 0, nil), "api_versions", "timeout"},                          // half a length
		{sends(length(limit, zeros...), 0, nil), "api_versions", "timeout"},             // a part of the largest frame
		{sends(length(100<<10), 0, zeros), "api_versions", "protocol"},                  // a frame, and more without an end
		{sends(length(limit+1), 0, zeros), "api_versions", "frame_too_large"},           // a byte too long
		{sends("\x7f\xff\xff\xff", 0, zeros), "api_versions", "frame_too_large"},        // without an end
		{sends("\x80\x00\x00\x00", 0, zeros), "api_versions", "not_kafka"},              // negative
		{sends("GARBAGE!", 0, bytes.Repeat([]byte("garbage!"), 8<<10)), "api_versions", "not_kafka"},
		{sends(length(0), 0, zeros), "api_versions", "not_kafka"},
		{sends(length(3, 0, 0, 0), 0, zeros), "api_versions", "not_kafka"},
		{late(c, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.Raw(length(1<<31-1, 0, 0, 0, 2)) }), "request", "frame_too_large"},
		{late(c, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.Raw(length(7<<20, 0, 0, 0, 2)) }), "request", "timeout"},
	}
	p, stands, mend := startPeers(t, c, good, peers, "--connect.timeout=2s", "--check.timeout=2s", "--backoff.max=100ms")
	before, memory := p.collectGarbage(), p.peakMemory()
	var more []condition
	for _, s := range stands {
		more = append(more, atLeast(before[ofSeed(s.addr, "connection_attempts_total")]+4, ofSeed(s.addr, "connection_attempts_total")))
	}
	m := p.wait(append(more, atMost(before["process_open_fds"]+float64(len(peers)), "process_open_fds"))...)
	grown := p.peakMemory() - memory
	t.Logf("%v attempts; the peak of memory has grown from %d MiB by %d KiB", m.sum("seed_connection_attempts_total"), memory>>20, grown>>10)
	if grown > 4*len(peers)*limit {
		t.Errorf("the peak of memory has grown by %d KiB", grown>>10)
	}
	mend()
}

// TestRandomPeers: any bytes at all are a reason, and never the one that says that we do not know.
func TestRandomPeers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	random := rand.New(rand.NewPCG(1, 2))
	seeds := c.seeds(1)
	var named []condition
	for i := range 60 {
		answer := make([]byte, 4+random.IntN(400))
		for j := range answer {
			answer[j] = byte(random.Uint32())
		}
		if i%2 == 0 { // a frame that fits
			binary.BigEndian.PutUint32(answer, uint32(len(answer)-4))
		}
		if i%4 == 0 && len(answer) >= 8 { // which answers our request
			binary.BigEndian.PutUint32(answer[4:], 1)
		}
		s := newStand(t, "", wiretest.Says(answer))
		seeds += "," + s.addr
		named = append(named, is(0, ofSeed(s.addr, "reachable")), sums(1, "seed_failing", "seed", s.addr), absent("seed_failing", "reason", "other"))
	}
	p := start(t, seeds, "--connect.timeout=1s")
	p.wait(append(named, ready(1))...)
	p.guard(1)
	m := p.hold(time.Second, named...)
	reasons := make(map[string]int)
	for _, s := range m.find("seed_failing") {
		reasons[s[:len(s)-len(`,seed="127.100.0.10:9092"}`)]]++
	}
	t.Log(fmt.Sprint(reasons))
}
