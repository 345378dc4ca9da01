package wire_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// TestCaseC19AddressRace: a dead first address, of either family, costs the attempt delay and no more.
// Done: names with up to four addresses, of both families, dead ones first
// Shows: a connection after the attempt delay at most, 0.25 s per dead address of one family
func TestCaseC19AddressRace(t *testing.T) {
	const good = "10.0.0.1"
	for _, c := range []struct {
		addrs []string
		dead  map[string]bool // true: blackhole, false: refused
		want  time.Duration
	}{
		{[]string{good}, nil, 0},
		{[]string{"10.0.0.2", good}, map[string]bool{"10.0.0.2": false}, 0},
		{[]string{"10.0.0.2", good}, map[string]bool{"10.0.0.2": true}, 250 * time.Millisecond},
		{[]string{"::2", good}, map[string]bool{"::2": true}, 250 * time.Millisecond},
		{[]string{"::2", "::3", "::4", good}, map[string]bool{"::2": true, "::3": true, "::4": true}, 250 * time.Millisecond},
		{[]string{"10.0.0.2", "10.0.0.3", good}, map[string]bool{"10.0.0.2": true, "10.0.0.3": false}, 250 * time.Millisecond},
		{[]string{"10.0.0.2", "10.0.0.3", good}, map[string]bool{"10.0.0.2": true, "10.0.0.3": true}, 500 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(c.addrs), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, d := pipes()
				n.Name("kafka", c.addrs...)
				for addr, blackhole := range c.dead {
					if blackhole {
						n.Blackhole(netip.AddrPortFrom(netip.MustParseAddr(addr), 9092).String())
					}
				}
				conn, trace, err := d.Dial(t.Context(), wire.Peer{Host: "kafka", Port: 9092, NodeID: 1, ClusterID: "c"})
				if err != nil {
					t.Fatal(err)
				}
				if got := trace.Duration(); got != c.want || conn.Address.Addr().String() != good {
					t.Errorf("connected to %s after %s, want %s", conn.Address, got, c.want)
				}
				if len(trace.Addresses) != len(c.addrs) {
					t.Errorf("the trace has %d addresses of %d", len(trace.Addresses), len(c.addrs))
				}
				conn.Close()
				<-conn.Ended()
				n.Wait()
			})
		})
	}
}

// TestAllAddressesDead: the verdict of each address is in the trace, the slowest decides on the reason.
func TestAllAddressesDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, d := pipes()
		n.Name("kafka", "10.0.0.2", "10.0.0.3")
		n.Blackhole("10.0.0.2:9092")
		_, trace, err := d.Dial(t.Context(), wire.Peer{Host: "kafka", Port: 9092, NodeID: -1})
		if typed := wire.AsError(wire.PhaseRequest, err); typed.Phase != wire.PhaseDial || typed.Reason != wire.ReasonTimeout {
			t.Errorf("got %v", err)
		}
		var reasons []string
		for _, a := range trace.Addresses {
			reasons = append(reasons, a.Err.Reason.String())
		}
		if !slices.Equal(reasons, []string{"timeout", "refused"}) {
			t.Errorf("verdicts of the addresses: %v", reasons)
		}
	})
}

// TestCaseC11PhaseDeadlines: a peer that hangs in one phase does not use up the time of the whole attempt.
// Done: a peer accepts and is silent; an address swallows every SYN
// Shows: `api_versions` `timeout` after half the connect timeout, `dial` `timeout` after all of it
func TestCaseC11PhaseDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, d := pipes()
		n.Listen("10.0.0.1:9092", wiretest.Tarpit)
		began := time.Now()
		_, _, err := d.Dial(t.Context(), wire.Peer{Host: "10.0.0.1", Port: 9092, NodeID: -1})
		if typed := wire.AsError(wire.PhaseRequest, err); typed.Phase != wire.PhaseAPIVersions || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		began = time.Now()
		n.Blackhole("10.0.0.1:9092")
		_, _, err = d.Dial(t.Context(), wire.Peer{Host: "10.0.0.1", Port: 9092, NodeID: -1})
		if typed := wire.AsError(wire.PhaseRequest, err); typed.Phase != wire.PhaseDial || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestDialEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, d := pipes()
		n.Listen("10.0.0.1:9092", wiretest.Tarpit)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, _, err := d.Dial(ctx, wire.Peer{Host: "10.0.0.1", Port: 9092, NodeID: -1}); err == nil || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		n.Wait()
	})
}

// TestDialAfterItsContext: whatever ended before the dial began is an error, and no connection.
func TestDialAfterItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d := pipes()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if conn, _, err := d.Dial(ctx, wire.Peer{Host: "10.0.0.1", Port: 9092, NodeID: -1}); err == nil || conn != nil {
			t.Errorf("got a connection %v and the error %v", conn, err)
		}
	})
}

// pipes returns a network with one good broker, id 1 of cluster c, at 10.0.0.1:9092, and a dialer for it.
func pipes() (*wiretest.Network, *wire.Dialer) {
	n, cluster := wiretest.NewNetwork(), wiretest.NewCluster("c")
	cluster.Set(1, "kafka:9092")
	n.Listen("10.0.0.1:9092", wiretest.NewBroker(1, cluster, wiretest.Modern).Serve)
	return n, &wire.Dialer{Timeout: 10 * time.Second, AttemptDelay: 250 * time.Millisecond, ClientID: "test", SoftwareVersion: "1",
		Lookup: n.Lookup, DialAddress: n.DialAddress}
}
