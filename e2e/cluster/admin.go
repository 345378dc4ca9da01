//go:build e2e

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/e2e/pki"
)

const adminTimeout = 20 * time.Second

// Named asks this broker alone, over a connection of its own, which brokers its metadata names: the second opinion of every scenario. The
// ids are sorted.
func (b *Broker) Named(t testing.TB) []int {
	t.Helper()
	ids, err := b.named(adminTimeout)
	check(t, err)
	return ids
}

// AwaitNamed returns when this broker's metadata names exactly ids.
func (b *Broker) AwaitNamed(t testing.TB, timeout time.Duration, ids ...int) {
	t.Helper()
	var last []int
	var err error
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if last, err = b.named(adminTimeout); err == nil && slices.Equal(last, ids) {
			return
		}
	}
	t.Fatalf("after %v broker %d names %v, want %v (%v)", timeout, b.ID, last, ids, err)
}

// AwaitFenced returns when exactly these of the registered brokers are fenced, as this broker says (DescribeCluster version 2, Kafka 4.0 and
// later).
func (b *Broker) AwaitFenced(t testing.TB, timeout time.Duration, ids ...int) {
	t.Helper()
	var last []int
	var err error
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if last, err = b.fenced(); err == nil && slices.Equal(last, ids) {
			return
		}
	}
	t.Fatalf("after %v broker %d says that %v are fenced, want %v (%v)", timeout, b.ID, last, ids, err)
}

func (b *Broker) fenced() ([]int, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = true
	var fenced []int
	err := b.ask(adminTimeout, func(ctx context.Context, cl *kgo.Client) error {
		resp, err := req.RequestWith(ctx, cl)
		if err != nil {
			return err
		}
		for _, node := range resp.Brokers {
			if node.IsFenced {
				fenced = append(fenced, int(node.NodeID))
			}
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	slices.Sort(fenced)
	return fenced, err
}

// Unregister removes a broker that is down from the cluster's memory (KRaft only).
func (c *Cluster) Unregister(t testing.TB, id int) {
	t.Helper()
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = int32(id)
	check(t, c.alive(t).ask(adminTimeout, func(ctx context.Context, cl *kgo.Client) error {
		resp, err := req.RequestWith(ctx, cl)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	}))
}

// RotateCertificate gives one listener of a running broker another certificate, of any CA. Common name and hosts must be those of the old
// one, Kafka refuses any other.
func (b *Broker) RotateCertificate(t testing.TB, listener string, ca *pki.CA, leaf pki.Leaf) {
	t.Helper()
	pair, err := ca.Issue(leaf)
	check(t, err)
	check(t, writePair(b.keystore(listener), pair))
	key := "listener.name." + strings.ToLower(listener) + ".ssl.keystore.location"
	check(t, b.ask(adminTimeout, func(ctx context.Context, cl *kgo.Client) error {
		location := b.keystore(listener)
		change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &location}}
		responses, err := kadm.NewClient(cl).AlterBrokerConfigs(ctx, change, int32(b.ID))
		if err != nil {
			return err
		}
		_, err = responses.On(fmt.Sprint(b.ID), func(r *kadm.AlterConfigsResponse) error { return r.Err })
		return err
	}))
}

// SetPassword changes the password of a user for both kinds of SCRAM.
func (c *Cluster) SetPassword(t testing.TB, u User) {
	t.Helper()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		change := kadm.UpsertSCRAM{User: u.Name, Mechanism: mechanism, Iterations: 4096, Password: u.Password}
		check(t, c.alive(t).ask(adminTimeout, func(ctx context.Context, cl *kgo.Client) error {
			answers, err := kadm.NewClient(cl).AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{change})
			if err != nil {
				return err
			}
			return answers.Error()
		}))
	}
}

// learnID asks for the cluster id, which ZooKeeper clusters choose for themselves.
func (c *Cluster) learnID() error {
	return c.Brokers[0].ask(adminTimeout, func(ctx context.Context, cl *kgo.Client) error {
		m, err := kadm.NewClient(cl).BrokerMetadata(ctx)
		if err == nil && c.ID != "" && m.Cluster != c.ID {
			err = fmt.Errorf("cluster id is %q, want %q", m.Cluster, c.ID)
		}
		c.ID = m.Cluster
		return err
	})
}

func (c *Cluster) alive(t testing.TB) *Broker {
	t.Helper()
	for _, b := range c.Brokers {
		if b.Running() && !b.paused {
			return b
		}
	}
	t.Fatal("no broker is running")
	return nil
}

func (b *Broker) named(timeout time.Duration) ([]int, error) {
	var ids []int
	err := b.ask(timeout, func(ctx context.Context, cl *kgo.Client) error {
		m, err := kadm.NewClient(cl).BrokerMetadata(ctx)
		for _, node := range m.Brokers {
			ids = append(ids, int(node.NodeID))
		}
		return err
	})
	slices.Sort(ids)
	return ids, err
}

// ask runs f with a new client that knows only this broker and tries once.
func (b *Broker) ask(timeout time.Duration, f func(context.Context, *kgo.Client) error) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr(Plaintext)), kgo.RequestRetries(0), kgo.DialTimeout(timeout))
	if err != nil {
		return fmt.Errorf("client of broker %d: %w", b.ID, err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := f(ctx, cl); err != nil {
		return errors.Join(fmt.Errorf("ask broker %d", b.ID), err)
	}
	return nil
}

func containsAll(set, subset []int) bool {
	return !slices.ContainsFunc(subset, func(id int) bool { return !slices.Contains(set, id) })
}
