//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/kcat"
)

// The tests in the files strangers*_test.go put parts that nobody here wrote between the exporter and a cluster, or in its place. What
// another client (kcat, or franz-go where kcat cannot) is told there, and which broker it gets an answer from, is what the exporter must show.

// listed is what kcat -L lists from the seeds, which must be these brokers.
func listed(t *testing.T, seeds []string, want map[int]string, options ...string) {
	t.Helper()
	kcat.AwaitList(t, settleTimeout, strings.Join(seeds, ","), want, options...)
}

// answering wants kcat to get an answer from each of these brokers by itself.
func answering(t *testing.T, named map[int]string, ids []int, options ...string) {
	t.Helper()
	for _, id := range ids {
		kcat.AwaitList(t, settleTimeout, named[id], named, options...)
	}
}

// exactly wants the exporter to know exactly these brokers, by these addresses.
func exactly(named map[int]string) condition {
	return func(m exporter.Metrics) error {
		got := map[int]string{}
		for _, s := range m.Find("broker_info") {
			id, err := strconv.Atoi(s.Labels["broker_id"])
			if err != nil {
				return err
			}
			got[id] = s.Labels["address"]
		}
		if !maps.Equal(got, named) {
			return fmt.Errorf("broker_info has %v, other clients are told %v", got, named)
		}
		return nil
	}
}

// byID gives the addresses their ids, which start at 1.
func byID(addrs []string) map[int]string {
	named := map[int]string{}
	for i, addr := range addrs {
		named[i+1] = addr
	}
	return named
}

func idsOf(named map[int]string) []int { return slices.Sorted(maps.Keys(named)) }

// eventually asks again and again until f has no complaint.
func eventually(t *testing.T, timeout time.Duration, f func() error) {
	t.Helper()
	up, again := time.After(timeout), time.NewTicker(100*time.Millisecond)
	defer again.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-up:
			t.Fatalf("after %v: %v", timeout, err)
		}
	}
}

// described is what DescribeCluster names to a client that asks at addr.
func described(t *testing.T, addr string, opts ...kgo.Opt) map[int]string {
	t.Helper()
	named := map[int]string{}
	if err := with(t, addr, func(ctx context.Context, cl *kgo.Client) error {
		resp, err := kmsg.NewPtrDescribeClusterRequest().RequestWith(ctx, cl)
		if err != nil {
			return err
		}
		for _, b := range resp.Brokers {
			named[int(b.NodeID)] = fmt.Sprintf("%s:%d", b.Host, b.Port)
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	}, opts...); err != nil {
		t.Fatal(err)
	}
	return named
}
