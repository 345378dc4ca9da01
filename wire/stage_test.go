package wire_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// stage is a dialer for real sockets and what a case needs to spoil something.
type stage struct {
	testing.TB
	dialer  *wire.Dialer
	peer    wire.Peer
	cluster *wiretest.Cluster
	ca      *wiretest.Authority
}

func newStage(t testing.TB) *stage {
	cluster := wiretest.NewCluster("cluster-a")
	cluster.Set(1, "127.0.0.1:9092")
	return &stage{
		TB: t, cluster: cluster, ca: wiretest.NewAuthority(),
		peer: wire.Peer{Host: "127.0.0.1", NodeID: 1, ClusterID: "cluster-a"},
		dialer: &wire.Dialer{
			Timeout: time.Second, AttemptDelay: 50 * time.Millisecond, ClientID: "test", SoftwareVersion: "1.0",
			Lookup: lookup(net.DefaultResolver),
			DialAddress: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", addr.String())
			},
		},
	}
}

func lookup(r *net.Resolver) func(context.Context, string) ([]netip.Addr, error) {
	return func(ctx context.Context, host string) ([]netip.Addr, error) { return r.LookupNetIP(ctx, "ip", host) }
}

// broker returns a good broker with id 1.
func (s *stage) broker(versions wiretest.Versions) *wiretest.Broker {
	return wiretest.NewBroker(1, s.cluster, versions)
}

func (s *stage) listen(handler func(net.Conn)) { s.peer.Port = wiretest.Listen(s, handler) }

// says listens with a peer that answers with these bytes, whatever it is asked.
func (s *stage) says(answer string) { s.listen(wiretest.Says([]byte(answer))) }

// script listens with a broker that answers one kind of request in its own way.
func (s *stage) script(versions wiretest.Versions, key kmsg.Key, script wiretest.Script) {
	b := s.broker(versions)
	b.On(key, script)
	s.listen(b.Serve)
}

// dial returns a connection that ends with the test.
func (s *stage) dial() *wire.Conn {
	s.Helper()
	conn, _, err := s.dialer.Dial(s.Context(), s.peer)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close(); <-conn.Ended() })
	return conn
}

// secure listens with a good broker behind TLS, and trusts its authority.
func (s *stage) secure(config *tls.Config) {
	b := s.broker(wiretest.Common)
	s.listen(func(conn net.Conn) { b.Serve(tls.Server(conn, config)) })
	s.trust(s.ca, nil)
}

func (s *stage) trust(ca *wiretest.Authority, certs []tls.Certificate) {
	s.dialer.TLS = func(host string) (*tls.Config, error) {
		return &tls.Config{ServerName: host, RootCAs: ca.Pool(), Certificates: certs}, nil
	}
}

func (s *stage) password(p string) {
	s.dialer.SASL = func(context.Context, string) (sasl.Mechanism, error) {
		return plain.Auth{User: "u", Pass: p}.AsMechanism(), nil
	}
}

// good is a certificate for 127.0.0.1.
func (s *stage) good() []tls.Certificate {
	return []tls.Certificate{s.ca.Issue(time.Now().Add(time.Hour), "127.0.0.1")}
}

func silent(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence }

func (s *stage) account(right, presented string, delay time.Duration) {
	b := s.broker(wiretest.Common)
	b.Require(wiretest.NewAccounts(right, delay, 0))
	s.listen(b.Serve)
	s.password(presented)
}

// dialAndDescribe connects, sends one request and checks that nothing is left behind.
func (s *stage) dialAndDescribe() error {
	conn, trace, err := s.dialer.Dial(s.Context(), s.peer)
	if err != nil {
		if last := trace.Steps[len(trace.Steps)-1]; last.Err == nil {
			s.Errorf("the trace does not show the failure: %+v", trace)
		}
		return err
	}
	defer func() { conn.Close(); <-conn.Ended() }()
	if _, _, expires := conn.Expires(); expires {
		<-time.After(10 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	_, err = conn.Describe(ctx, nil)
	return err
}
