package wire_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// TestNamesThatLeadNowhere: 0.0.0.0 and ::, with which name servers block a name, would reach our own loopback: a false "up".
func TestNamesThatLeadNowhere(t *testing.T) {
	for name, c := range map[string]struct {
		host  string
		addrs []string
		good  bool
	}{
		"blocked":            {"kafka", []string{"0.0.0.0"}, false},
		"blocked, IPv6":      {"kafka", []string{"::", "0.0.0.0"}, false},
		"with a zone":        {"::%lo", nil, false},
		"one of two is good": {"kafka", []string{"0.0.0.0", "10.0.0.1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, d := pipes()
				n.Name(c.host, c.addrs...)
				conn, _, err := d.Dial(t.Context(), wire.Peer{Host: c.host, Port: 9092, NodeID: 1, ClusterID: "c"})
				if conn != nil {
					conn.Close()
					<-conn.Ended()
				}
				if typed := wire.AsError(wire.PhaseDial, err); c.good != (err == nil) || err != nil && (typed.Phase != wire.PhaseResolve || typed.Reason != wire.ReasonInvalidAddress) {
					t.Error(err)
				}
				n.Wait()
			})
		})
	}
}

// TestNameWithManyAddresses: the last of them gets its turn within the connect timeout.
func TestNameWithManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, d := pipes()
		addrs := make([]string, 99)
		for i := range addrs {
			addrs[i] = fmt.Sprintf("10.1.0.%d", i)
			n.Blackhole(netip.AddrPortFrom(netip.MustParseAddr(addrs[i]), 9092).String())
		}
		n.Name("kafka", append(addrs, "10.0.0.1")...)
		conn, _, err := d.Dial(t.Context(), wire.Peer{Host: "kafka", Port: 9092, NodeID: 1, ClusterID: "c"})
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		<-conn.Ended()
		n.Wait()
	})
}

const firstAddress, secondAddress = "10.0.0.1", "10.0.0.2"

var doubtfulCases = []struct {
	name     string
	doubtful []string
	spoil    func(n *wiretest.Network, d *wire.Dialer)
	want     string
	after    time.Duration
}{
	{"none", nil, nil, firstAddress, 0},
	{"the first", []string{firstAddress}, nil, secondAddress, 0},
	{"both, the first most recently", []string{secondAddress, firstAddress}, nil, secondAddress, 0},
	{"the second, and the first refuses", []string{secondAddress}, func(n *wiretest.Network, _ *wire.Dialer) { n.Refuse(firstAddress + ":9092") }, secondAddress, 0},
	{"the second, and the first swallows all", []string{secondAddress}, func(n *wiretest.Network, _ *wire.Dialer) { n.Blackhole(firstAddress + ":9092") }, secondAddress, 5 * time.Second},
	{"the second, and the first is far away", []string{secondAddress}, func(_ *wiretest.Network, d *wire.Dialer) {
		dial := d.DialAddress
		d.DialAddress = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			if addr.Addr().String() == firstAddress {
				time.Sleep(time.Second)
			}
			return dial(ctx, addr)
		}
	}, firstAddress, time.Second},
}

// TestDoubtfulAddresses: they are dialed when the others have failed or have had half of the time, so that none wins because it is
// the nearest.
func TestDoubtfulAddresses(t *testing.T) {
	for _, c := range doubtfulCases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, d := pipes()
				n.Name("kafka", firstAddress, secondAddress)
				for _, addr := range []string{firstAddress, secondAddress} {
					n.Listen(addr+":9092", wiretest.NewBroker(1, wiretest.NewCluster("c"), wiretest.Common).Serve)
				}
				if c.spoil != nil {
					c.spoil(n, d)
				}
				peer := wire.Peer{Host: "kafka", Port: 9092, NodeID: -1}
				for _, addr := range c.doubtful {
					peer.Doubtful = append(peer.Doubtful, netip.MustParseAddr(addr))
				}
				conn, trace, err := d.Dial(t.Context(), peer)
				if err != nil {
					t.Fatal(err)
				}
				if got := trace.Duration(); got != c.after || trace.Reached().String() != c.want {
					t.Errorf("connected to %s after %s, want %s after %s", trace.Reached(), got, c.want, c.after)
				}
				conn.Close()
				<-conn.Ended()
				n.Wait()
			})
		})
	}
}
