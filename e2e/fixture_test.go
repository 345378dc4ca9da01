//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/e2e/cluster"
)

// The tests in the files fixture_*_test.go prove the fixture with franz-go as the client, so that a scenario that fails can blame the exporter.

// named connects with the options and returns the brokers that the metadata names.
func named(t *testing.T, seed string, opts ...kgo.Opt) ([]int, error) {
	t.Helper()
	var ids []int
	err := with(t, seed, func(ctx context.Context, cl *kgo.Client) error {
		m, err := kadm.NewClient(cl).BrokerMetadata(ctx)
		for _, b := range m.Brokers {
			ids = append(ids, int(b.NodeID))
		}
		return err
	}, opts...)
	slices.Sort(ids)
	return ids, err
}

// with runs f with a client that knows the seed only and tries once.
func with(t *testing.T, seed string, f func(context.Context, *kgo.Client) error, opts ...kgo.Opt) error {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(seed), kgo.RequestRetries(0))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return f(ctx, cl)
}

// wantIn fails the test unless the client gets in and sees brokers.
func wantIn(t *testing.T, seed string, want []int, opts ...kgo.Opt) {
	t.Helper()
	if got, err := named(t, seed, opts...); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%s names %v, want %v: %v", seed, got, want, err)
	}
}

// wantOut fails the test if the client gets in.
func wantOut(t *testing.T, seed string, opts ...kgo.Opt) error {
	t.Helper()
	got, err := named(t, seed, opts...)
	if err == nil {
		t.Fatalf("%s lets the client in and names %v", seed, got)
	}
	return err
}

// tlsConfig trusts a CA, and shows a client certificate if there is one.
func tlsConfig(t *testing.T, caPEM []byte, certs ...tls.Certificate) *tls.Config {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(caPEM) {
		t.Fatal("no certificate in the CA's PEM")
	}
	return &tls.Config{RootCAs: pool, Certificates: certs}
}

func dialTLS(config *tls.Config) kgo.Opt { return kgo.DialTLSConfig(config) }

// leafAt returns the certificate that a listener shows.
func leafAt(t *testing.T, addr string) *x509.Certificate {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp4", addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

// describesSelf asks the broker behind addr for the configuration of broker id, which any other refuses, and returns its error.
func describesSelf(t *testing.T, addr, id string, opts ...kgo.Opt) error {
	t.Helper()
	return with(t, addr, func(ctx context.Context, cl *kgo.Client) error {
		resource := kmsg.NewDescribeConfigsRequestResource()
		resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeBroker, id
		resource.ConfigNames = []string{"broker.rack"}
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Resources = append(req.Resources, resource)
		raw, err := cl.SeedBrokers()[0].Request(ctx, req)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(raw.(*kmsg.DescribeConfigsResponse).Resources[0].ErrorCode)
	}, opts...)
}

// brokersOnly asks for metadata of no topics.
func brokersOnly() *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	return req
}

// TestFixtureFencedAndUnregistered: a dead broker is fenced, and after UnregisterBroker it is in no list; it may come back.
func TestFixtureFencedAndUnregistered(t *testing.T) {
	c := shared(t, cluster.V44)
	c.Broker(3).Kill(t)
	c.Broker(1).AwaitNamed(t, noticeTimeout, 1, 2)
	c.Broker(1).AwaitFenced(t, noticeTimeout, 3)
	c.Unregister(t, 3)
	c.Broker(1).AwaitFenced(t, noticeTimeout)
	c.Broker(3).Start(t)
	c.Broker(1).AwaitNamed(t, noticeTimeout, 1, 2, 3)
}
