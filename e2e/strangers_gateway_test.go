//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/gateway"
	"kafka_connection_exporter/e2e/kcat"
	"kafka_connection_exporter/e2e/need"
)

// describing are the versions of Kafka that offer DescribeCluster.
var describing = []string{cluster.V44, cluster.V39}

// TestFixtureGateway: the gateway puts its own addresses into Metadata and FindCoordinator, and leaves DescribeCluster as it is.
func TestFixtureGateway(t *testing.T) {
	need.Tool(t, "java", "mvn", "kcat")
	for _, version := range describing {
		t.Run(version, func(t *testing.T) {
			c := shared(t, version)
			g := gateway.Start(t, c.Addrs("PLAINTEXT"))
			listed(t, g.Addrs()[:1], byID(g.Addrs()))
			answering(t, byID(g.Addrs()), c.IDs())
			if inner := described(t, g.Addrs()[0]); !maps.Equal(inner, byID(c.Addrs("PLAINTEXT"))) {
				t.Errorf("DescribeCluster names %v", inner)
			}
			if at := coordinator(t, g.Addrs()[0]); !slices.Contains(g.Addrs(), at) {
				t.Errorf("FindCoordinator names %s, which is none of %v", at, g.Addrs())
			}
			g.Ports[1].Shut()
			kcat.AwaitSilence(t, settleTimeout, g.Addrs()[1])
			g.Ports[1].Open(t)
			answering(t, byID(g.Addrs()), []int{2})
		})
	}
}

// coordinator is where a client that came in at addr finds the coordinator of a group; the cluster makes one when it is first asked.
func coordinator(t *testing.T, addr string) string {
	t.Helper()
	var at string
	eventually(t, settleTimeout, func() error {
		return with(t, addr, func(ctx context.Context, cl *kgo.Client) error {
			found := kadm.NewClient(cl).FindGroupCoordinators(ctx, "strangers")
			for _, f := range found {
				at = fmt.Sprintf("%s:%d", f.Host, f.Port)
			}
			return found.Error()
		})
	})
	return at
}

// TestCaseC50Gateway: behind a gateway that rewrites what clients dial by, and nothing else, its ports are what counts, whatever goes on inside.
// Done: a gateway that rewrites Metadata and FindCoordinator, as kafka-proxy does; then one of its ports is shut
// Shows: the addresses that kcat lists, `broker_describe_cluster_agrees` 0; `dial` `refused` though the broker behind it is well
func TestCaseC50Gateway(t *testing.T) {
	need.Tool(t, "java", "mvn", "kcat")
	for _, version := range describing {
		t.Run(version, func(t *testing.T) {
			c := shared(t, version)
			g := gateway.Start(t, c.Addrs("PLAINTEXT"))
			outer := byID(g.Addrs())
			listed(t, g.Addrs()[:1], outer)
			e := exporter.Start(t, flags(g.Addrs()[:1])...)
			whole := all(exactly(outer), ready(c.IDs()...), brokerIs(0, "broker_describe_cluster_agrees", c.IDs()...), value(1, "up"))
			before := e.WaitFor(settleTimeout, whole)
			e.Hold(refreshInterval, whole)

			start := time.Now()
			g.Ports[1].Shut()
			shut := all(failing(2, []string{"refused"}, "dial"), exactly(outer), ready(1, 3), brokerIs(1, "broker_in_metadata", 2), value(1, "up"))
			e.WaitFor(verdictTimeout, shut)
			t.Logf("red %v after the port was shut", time.Since(start))
			kcat.AwaitSilence(t, settleTimeout, outer[2])
			answering(t, outer, []int{1, 3})
			listed(t, []string{c.Broker(2).Addr("PLAINTEXT")}, byID(c.Addrs("PLAINTEXT")))
			e.Hold(refreshInterval, shut)

			g.Ports[1].Open(t)
			untouched(t, before, e.WaitFor(settleTimeout, whole), 1, 3)
		})
	}
}

// TestNoGateway: asked directly, both answers name the same addresses.
func TestNoGateway(t *testing.T) {
	need.Tool(t, "java", "mvn", "kcat")
	for _, version := range describing {
		t.Run(version, func(t *testing.T) {
			c := shared(t, version)
			inner := byID(c.Addrs("PLAINTEXT"))
			listed(t, c.Addrs("PLAINTEXT")[:1], inner)
			e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"))...)
			e.WaitFor(settleTimeout, all(exactly(inner), ready(c.IDs()...), brokerIs(1, "broker_describe_cluster_agrees", c.IDs()...)))
		})
	}
}
