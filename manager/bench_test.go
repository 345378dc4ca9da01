package manager

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"kafka_connection_exporter/seeds"
	"kafka_connection_exporter/wire"
)

// BenchmarkSnapshot copies what is known about a thousand brokers.
func BenchmarkSnapshot(b *testing.B) {
	list, err := seeds.Parse([]string{"a:9092"}, seeds.Security{})
	if err != nil {
		b.Fatal(err)
	}
	m, err := New(Config{
		Seeds: list, RefreshInterval: time.Minute, HedgeDelay: time.Second, ConnectRate: 1, BackoffBase: time.Second, BackoffMax: time.Second,
		CheckTimeout: time.Second, SASLRetryInterval: time.Second, Retention: time.Hour,
		Dialer: &wire.Dialer{DialAddress: func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, net.ErrClosed }},
	})
	if err != nil {
		b.Fatal(err)
	}
	for id := range int32(1000) {
		t := newTarget(m, "broker", fmt.Sprint(id), wire.Peer{Host: "b", Port: 9092, NodeID: id})
		t.now.Reachable, t.signature = VerdictGood, 1
		t.publish()
		m.brokers[id] = t
	}
	m.reindex()
	m.publish()
	b.ReportAllocs()
	for b.Loop() {
		if s := m.Snapshot(); len(s.Brokers) != 1000 || s.Brokers[999].Agrees != VerdictGood {
			b.Fatal("the snapshot is not whole")
		}
	}
}
