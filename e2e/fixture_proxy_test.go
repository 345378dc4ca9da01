//go:build e2e

package e2e

import (
	"context"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/proxy"
)

const proxied = "PROXIED" // PLAINTEXT, each broker advertises a proxy

// proxiedCluster is a cluster of two brokers that advertise proxies, in the order of their ids.
func proxiedCluster(t *testing.T, version string) (*cluster.Cluster, []*proxy.Proxy) {
	t.Helper()
	proxies := []*proxy.Proxy{proxy.Start(t, ""), proxy.Start(t, "")}
	c := cluster.Start(t, cluster.Options{
		Version: version, Brokers: len(proxies),
		Listeners: []cluster.Listener{{Name: proxied, Protocol: "PLAINTEXT", Advertise: func(id, _ int) string { return proxies[id-1].Addr }}},
	})
	for i, b := range c.Brokers {
		proxies[i].SetTarget(b.Addr(proxied))
	}
	return c, proxies
}

// TestFixtureMisrouting: swapped proxies lead to the other broker, and a proxy can lead into another cluster.
func TestFixtureMisrouting(t *testing.T) {
	second := beside(t, cluster.V39)
	c, proxies := proxiedCluster(t, cluster.V44)
	behind := func(want int) {
		t.Helper()
		if err := describesSelf(t, proxies[0].Addr, strconv.Itoa(want)); err != nil {
			t.Errorf("the first proxy does not lead to broker %d: %v", want, err)
		}
		if err := describesSelf(t, proxies[0].Addr, strconv.Itoa(3-want)); err == nil {
			t.Errorf("the first proxy leads to broker %d", 3-want)
		}
	}
	behind(1)
	proxy.Swap(proxies[0], proxies[1])
	behind(2)

	seed := proxy.Start(t, c.Broker(1).Addr("PLAINTEXT"))
	if id := clusterID(t, seed.Addr); id != c.ID {
		t.Errorf("cluster id by the proxy is %s, want %s", id, c.ID)
	}
	seed.SetTarget(second.Broker(1).Addr("PLAINTEXT"))
	seed.Cut()
	if id := clusterID(t, seed.Addr); id != second.ID {
		t.Errorf("cluster id by the proxy is %s, want that of the second cluster, %s", id, second.ID)
	}
}

func clusterID(t *testing.T, seed string) string {
	t.Helper()
	var id string
	if err := with(t, seed, func(ctx context.Context, cl *kgo.Client) error {
		m, err := kadm.NewClient(cl).BrokerMetadata(ctx)
		id = m.Cluster
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return id
}
