//go:build e2e && nightly

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/kcat"
	"kafka_connection_exporter/e2e/tansu"
)

// TestCaseC53Tansu: a broker of another make hangs up on the newest ApiVersions, if that says which broker it is meant for, and is reached by the one
// before, which shows. kcat cannot read its answers, franz-go can if it is told to be older than it is.
// Done: Tansu, one broker
// Shows: reachable as kadm finds it, `broker_api_versions_version` 4
func TestCaseC53Tansu(t *testing.T) {
	addr := tansu.Start(t)
	older := kgo.MaxVersions(kversion.V3_9_0())
	var named map[int]string
	eventually(t, settleTimeout, func() error {
		var err error
		named, err = listedByKadm(t, addr, older)
		return err
	})
	if len(named) != 1 {
		t.Fatalf("kadm lists %v, want one broker", named)
	}
	_, newest := listedByKadm(t, addr)
	_, kcats := kcat.List(t, addr)
	t.Logf("franz-go as it is: %v; kcat: %v", newest, kcats)
	e := exporter.Start(t, flags([]string{addr})...)
	conditions := []condition{exactly(named), value(1, "up"), value(1, "seed_reachable", "seed", addr)}
	for id := range named {
		conditions = append(conditions, ready(id), brokerIs(4, "broker_api_versions_version", id))
	}
	whole := all(conditions...)
	e.WaitFor(settleTimeout, whole)
	e.Hold(refreshInterval, whole)
}

// listedByKadm is what franz-go lists, if it gets an answer from each broker that is listed.
func listedByKadm(t *testing.T, addr string, opts ...kgo.Opt) (map[int]string, error) {
	t.Helper()
	named := map[int]string{}
	err := with(t, addr, func(ctx context.Context, cl *kgo.Client) error {
		m, err := kadm.NewClient(cl).BrokerMetadata(ctx)
		for _, b := range m.Brokers {
			named[int(b.NodeID)] = fmt.Sprintf("%s:%d", b.Host, b.Port)
			_, asked := cl.Broker(int(b.NodeID)).Request(ctx, brokersOnly())
			err = errors.Join(err, asked)
		}
		if err == nil && len(named) == 0 {
			err = errors.New("no broker is listed")
		}
		return err
	}, opts...)
	return named, err
}
