package wire_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

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
	conn, _, err := s.dialer.Dial(t.Context(), s.peer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); <-conn.Ended() })
	return s, conn
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
	for name, versions := range map[string]wiretest.Versions{"DescribeCluster": wiretest.Modern, "Metadata": wiretest.Common} {
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
