package wire_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// dialed returns a connection to a broker of a cluster with enough members for frames that are used again.
func dialed(t testing.TB, versions wiretest.Versions, members int) (*stage, *wire.Conn) {
	t.Helper()
	s := newStage(t)
	b := s.broker(versions)
	for id := range int32(members) {
		s.cluster.SetMember(id+100, wiretest.Member{Host: fmt.Sprintf("broker-%d.kafka.test", id), Port: 9092, Rack: fmt.Sprintf("zone-%d", id%3)})
	}
	s.listen(b.Serve)
	return s, s.dial()
}

func describe(t testing.TB, conn *wire.Conn, known []wire.BrokerInfo) []wire.BrokerInfo {
	t.Helper()
	view, err := conn.Describe(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	return view.Brokers
}

// TestEqualListsAreShared: an answer like the one that is known costs no copy of it, one that differs in anything is new.
func TestEqualListsAreShared(t *testing.T) {
	for name, versions := range map[string]wiretest.Versions{"Kafka 4.4": wiretest.Modern, "Kafka 3.9": wiretest.Common} {
		t.Run(name, func(t *testing.T) {
			s, conn := dialed(t, versions, 200)
			first := describe(t, conn, nil)
			if again := describe(t, conn, first); &again[0] != &first[0] {
				t.Error("an equal list was copied")
			}
			for what, m := range map[string]wiretest.Member{
				"host": {Host: "other.test", Port: 9092, Rack: "zone-0"},
				"port": {Host: "broker-0.kafka.test", Port: 9093, Rack: "zone-0"},
				"rack": {Host: "broker-0.kafka.test", Port: 9092, Rack: "zone-9"},
			} {
				s.cluster.SetMember(100, m)
				if now := describe(t, conn, first); &now[0] == &first[0] || len(now) != len(first) {
					t.Errorf("another %s was not noticed", what)
				}
			}
		})
	}
}

// TestListsAreCleaned: what no list may hold is left out and named, and an answer that is equal to the known one once it is clean
// is shared all the same.
func TestListsAreCleaned(t *testing.T) {
	one, two := wiretest.Member{Host: "one.test", Port: 9092}, wiretest.Member{Host: "two.test", Port: 9092}
	type entry struct {
		id int32
		wiretest.Member
	}
	for name, c := range map[string]struct {
		entries []entry
		want    wire.Anomalies
		first   string
		n       int
	}{
		"equal twice":     {[]entry{{1, one}, {2, two}, {1, one}}, wire.Anomalies{wire.AnomalyDuplicate: true}, "one.test", 2},
		"differing twice": {[]entry{{1, one}, {1, two}}, wire.Anomalies{wire.AnomalyDuplicate: true}, "one.test", 1},
		"negative":        {[]entry{{-1, two}, {1, one}}, wire.Anomalies{wire.AnomalyNegativeID: true}, "one.test", 1},
		"both":            {[]entry{{1, one}, {-5, two}, {1, two}}, wire.Anomalies{wire.AnomalyDuplicate: true, wire.AnomalyNegativeID: true}, "one.test", 1},
		"highest id":      {[]entry{{math.MaxInt32, one}}, wire.Anomalies{}, "one.test", 1},
		"endless host":    {[]entry{{1, wiretest.Member{Host: strings.Repeat("h", 32000), Port: 1}}}, wire.Anomalies{}, strings.Repeat("h", 255) + "…", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.script(wiretest.Modern, kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
				resp := r.ResponseKind().(*kmsg.MetadataResponse)
				for _, e := range c.entries {
					resp.Brokers = append(resp.Brokers, kmsg.MetadataResponseBroker{NodeID: e.id, Host: e.Host, Port: e.Port, Rack: &e.Rack})
				}
				return resp, nil
			})
			conn := s.dial()
			view, err := conn.Describe(t.Context(), nil)
			if err != nil || view.Anomalies != c.want || len(view.Brokers) != c.n || view.Brokers[0].Host != c.first {
				t.Errorf("%+v, %v", view, err)
			}
			if again := describe(t, conn, view.Brokers); &again[0] != &view.Brokers[0] {
				t.Error("an equal list was copied")
			}
		})
	}
}

// TestMostBrokers: an answer cannot make us keep more brokers than any cluster has.
func TestMostBrokers(t *testing.T) {
	s := newStage(t)
	s.script(wiretest.Modern, kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
		resp := r.ResponseKind().(*kmsg.MetadataResponse)
		for id := range int32(100_000) {
			resp.Brokers = append(resp.Brokers, kmsg.MetadataResponseBroker{NodeID: id, Host: "b", Port: 9092})
		}
		return resp, nil
	})
	view, err := s.dial().Describe(t.Context(), nil)
	if err != nil || len(view.Brokers) != 10_000 || view.Anomalies != (wire.Anomalies{wire.AnomalyExcess: true}) {
		t.Errorf("%d brokers, %v, %v", len(view.Brokers), view.Anomalies, err)
	}
}

// TestRegistry: DescribeCluster is a question of its own. Whatever is answered, the connection and Metadata on it are as before.
func TestRegistry(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*kmsg.DescribeClusterResponse)
		raw    wiretest.Raw
		want   string
	}{
		"well":    {answer: func(*kmsg.DescribeClusterResponse) {}, want: "1 brokers, denied false, <nil>"},
		"denied":  {answer: func(r *kmsg.DescribeClusterResponse) { r.ErrorCode = kerr.ClusterAuthorizationFailed.Code }, want: "0 brokers, denied true, <nil>"},
		"failed":  {answer: func(r *kmsg.DescribeClusterResponse) { r.ErrorCode = kerr.UnknownServerError.Code }, want: "kafka_error"},
		"garbage": {raw: wiretest.Raw("\x00\x00\x00\x08\x00\x00\x00\x03\xff\xff\xff\xff"), want: "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			b := s.broker(wiretest.Modern)
			b.On(kmsg.DescribeCluster, func(r wiretest.Request) (kmsg.Response, error) {
				if c.raw != nil {
					return nil, c.raw
				}
				resp, err := b.Well(r)
				c.answer(resp.(*kmsg.DescribeClusterResponse))
				return resp, err
			})
			s.listen(b.Serve)
			conn := s.dial()
			describe(t, conn, nil)
			registry, err := conn.Registry(t.Context())
			if got := fmt.Sprintf("%d brokers, denied %t, %v", len(registry.Brokers), registry.Denied, err); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			describe(t, conn, nil)
		})
	}
}

// TestListsOutliveTheirFrames: frames are used again, and no list may refer to one. Connections that describe different
// clusters at once would show it.
func TestListsOutliveTheirFrames(t *testing.T) {
	var work sync.WaitGroup
	for i := range 4 {
		s, conn := dialed(t, wiretest.Modern, 150+10*i)
		mark := strings.Repeat(string(rune('a'+i)), 12)
		work.Go(func() {
			for round := range 50 {
				host := fmt.Sprintf("%s-%d.test", mark, round)
				s.cluster.SetMember(100, wiretest.Member{Host: host, Port: 9092, Rack: mark})
				list := describe(t, conn, nil)
				describe(t, conn, nil)
				for _, b := range list {
					if b.ID == 100 && (b.Host != host || b.Rack != mark) {
						t.Errorf("broker 100 became %q in rack %q, it was %q in %q", b.Host, b.Rack, host, mark)
					}
				}
			}
		})
	}
	work.Wait()
}

// BenchmarkDescribe is what a check of one broker of a cluster of 1,000 costs, the scripted broker's part included.
func BenchmarkDescribe(b *testing.B) {
	for _, shared := range []bool{false, true} {
		b.Run(fmt.Sprintf("shared=%v", shared), func(b *testing.B) {
			_, conn := dialed(b, wiretest.Modern, 1000)
			var known []wire.BrokerInfo
			if shared {
				known = describe(b, conn, nil)
			}
			b.ReportAllocs()
			for b.Loop() {
				describe(b, conn, known)
			}
		})
	}
}
