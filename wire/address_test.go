package wire_test

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"

	"kafka_connection_exporter/wire"
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
