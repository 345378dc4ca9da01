package wire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// reasonCases provoke every reason over a real socket. invalid_address is the manager's: nothing is dialed for it.
var reasonCases = []struct {
	name  string
	want  string
	stage func(s *stage)
}{
	{"name without address", "resolve: dns_not_found", func(s *stage) {
		s.dialer.Lookup, s.peer.Host = lookup(wiretest.Resolver(s, nil)), "kafka-0.example"
	}},
	{"name server fails", "resolve: dns_failure", func(s *stage) {
		s.dialer.Lookup, s.peer.Host = lookup(wiretest.Resolver(s, nil)), "kafka-0.fail"
	}},
	{"name server is silent", "resolve: timeout", func(s *stage) {
		s.dialer.Lookup, s.peer.Host = lookup(wiretest.Resolver(s, nil)), "kafka-0.silent"
	}},
	{"closed port", "dial: refused", func(s *stage) { s.peer.Port = wiretest.ClosedPort(s) }},
	{"no route", "dial: unreachable", func(s *stage) { s.peer.Host, s.peer.Port = "fe80::1", 9092 }},
	{"blackhole", "dial: timeout", func(s *stage) { s.peer.Port = wiretest.BlackholePort(s) }},
	{"accepts and resets", "api_versions: reset", func(s *stage) { s.listen(wiretest.Reset) }},
	{"accepts and closes", "api_versions: closed", func(s *stage) { s.listen(wiretest.ReadAndClose) }},
	{"accepts and is silent", "api_versions: timeout", func(s *stage) { s.listen(wiretest.Tarpit) }},
	{"half a frame", "api_versions: closed", func(s *stage) {
		s.listen(func(c net.Conn) { wiretest.ReadAndClose(c); _, _ = c.Write([]byte("\x00\x00\x00\x10\x00\x00")) })
	}},
	{"TLS, accepts and is silent", "tls: timeout", func(s *stage) { s.listen(wiretest.Tarpit); s.trust(s.ca, nil) }},
	{"TLS, accepts and closes", "tls: closed", func(s *stage) { s.listen(wiretest.ReadAndClose); s.trust(s.ca, nil) }},
	{"TLS, accepts and resets", "tls: reset", func(s *stage) { s.listen(wiretest.Reset); s.trust(s.ca, nil) }},
	{"expired certificate", "tls: certificate_expired", func(s *stage) {
		s.secure(&tls.Config{Certificates: []tls.Certificate{s.ca.Issue(time.Now().Add(-time.Hour), "127.0.0.1")}})
	}},
	{"expired certificate, not verified", "tls: certificate_expired", func(s *stage) {
		s.secure(&tls.Config{Certificates: []tls.Certificate{s.ca.Issue(time.Now().Add(-time.Hour), "127.0.0.1")}})
		s.dialer.TLS = func(string) (*tls.Config, error) { return &tls.Config{InsecureSkipVerify: true}, nil }
	}},
	{"unknown authority", "tls: certificate_untrusted", func(s *stage) {
		s.secure(&tls.Config{Certificates: s.good()})
		s.trust(wiretest.NewAuthority(), nil)
	}},
	{"certificate for another name", "tls: certificate_name_mismatch", func(s *stage) {
		s.secure(&tls.Config{Certificates: []tls.Certificate{s.ca.Issue(time.Now().Add(time.Hour), "b.test")}})
	}},
	{"certificate for clients", "tls: certificate_invalid", func(s *stage) {
		s.secure(&tls.Config{Certificates: []tls.Certificate{s.ca.IssueForClients("127.0.0.1")}})
	}},
	{"no client certificate, TLS 1.3", "tls: client_certificate_rejected", func(s *stage) {
		s.secure(&tls.Config{Certificates: s.good(), ClientAuth: tls.RequireAnyClientCert})
	}},
	{"no client certificate, TLS 1.2", "tls: client_certificate_rejected", func(s *stage) {
		s.secure(&tls.Config{Certificates: s.good(), ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12})
	}},
	{"client certificate of a stranger", "tls: client_certificate_rejected", func(s *stage) {
		s.secure(&tls.Config{Certificates: s.good(), ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: s.ca.Pool()})
		s.trust(s.ca, []tls.Certificate{wiretest.NewAuthority().Issue(time.Now().Add(time.Hour), "me")})
	}},
	{"expired client certificate", "tls: client_certificate_rejected", func(s *stage) {
		s.secure(&tls.Config{Certificates: s.good(), ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: s.ca.Pool()})
		s.trust(s.ca, []tls.Certificate{s.ca.Issue(time.Now().Add(-time.Hour), "me")})
	}},
	{"no TLS version in common", "tls: tls_alert", func(s *stage) {
		s.secure(&tls.Config{Certificates: s.good(), MinVersion: tls.VersionTLS13})
		s.dialer.TLS = func(string) (*tls.Config, error) {
			return &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}, nil
		}
	}},
	{"TLS to a plaintext peer", "tls: peer_is_plaintext", func(s *stage) {
		s.says("\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x23")
		s.trust(s.ca, nil)
	}},
	{"TLS to a Kafka listener without TLS", "tls: peer_is_plaintext", func(s *stage) {
		b := s.broker(wiretest.Common)
		s.listen(func(conn net.Conn) {
			first := make([]byte, 1)
			if _, err := conn.Read(first); err == nil && first[0] == 0 { // a ClientHello is too long a frame
				b.Serve(&prefixed{conn, first})
			}
		})
		s.trust(s.ca, nil)
	}},
	{"TLS to an HTTP server", "tls: peer_speaks_http", func(s *stage) {
		s.says("HTTP/1.1 400 Bad Request\r\n\r\n")
		s.trust(s.ca, nil)
	}},
	{"TLS records that make no sense", "tls: protocol", func(s *stage) {
		s.says("\x17\x03\x03\x7f\xff" + strings.Repeat("x", 100))
		s.trust(s.ca, nil)
	}},
	{"certificate that does not parse", "tls: certificate_invalid", func(s *stage) {
		certs := s.good()
		certs[0].Certificate = [][]byte{{0x30, 3, 1, 2, 3}}
		s.secure(&tls.Config{Certificates: certs})
	}},
	{"key of another certificate", "tls: certificate_invalid", func(s *stage) {
		certs := s.good()
		certs[0].PrivateKey = s.good()[0].PrivateKey
		s.secure(&tls.Config{Certificates: certs})
	}},
	{"TLS alert to plaintext", "api_versions: peer_speaks_tls", func(s *stage) { s.says("\x15\x03\x03\x00\x02\x02\x46") }},
	{"old TLS alert to plaintext", "api_versions: peer_speaks_tls", func(s *stage) { s.says("\x15\x03\x01\x00\x02\x02\x46") }},
	{"HTTP server", "api_versions: peer_speaks_http", func(s *stage) { s.says("HTTP/1.1 400 Bad Request\r\n\r\n") }},
	{"SSH server", "api_versions: not_kafka", func(s *stage) { s.says("SSH-2.0-OpenSSH_9.2p1\r\n") }},
	{"negative length", "api_versions: not_kafka", func(s *stage) { s.says("\xff\xff\xff\xff\x00\x00\x00\x01") }},
	{"first frame over the limit", "api_versions: frame_too_large", func(s *stage) { s.says("\x7f\xff\xff\xff\x00\x00\x00\x01") }},
	{"later frame over the limit", "identity: frame_too_large", func(s *stage) {
		s.script(wiretest.Common, kmsg.Metadata, func(wiretest.Request) (kmsg.Response, error) {
			return nil, wiretest.Raw("\x7f\xff\xff\xff\x00\x00\x00\x02")
		})
	}},
	{"only newer Metadata", "identity: unsupported_version", func(s *stage) {
		s.listen(s.broker(wiretest.Versions{3: {14, 15}, 18: {0, 4}}).Serve)
	}},
	{"no Metadata", "identity: unsupported_version", func(s *stage) {
		s.listen(s.broker(wiretest.Versions{18: {0, 4}}).Serve)
	}},
	{"wrong correlation id", "api_versions: protocol", func(s *stage) { s.says("\x00\x00\x00\x06\x00\x00\x00\x63\x00\x00") }},
	{"an answer that does not decode", "api_versions: protocol", func(s *stage) { s.says("\x00\x00\x00\x06\x00\x00\x00\x01\x00\x00") }},
	{"an answer that nobody asked for", "api_versions: protocol", func(s *stage) {
		s.listen(func(c net.Conn) { _, _ = c.Write([]byte("\x00\x00\x00\x04\x00\x00\x00\x01")); wiretest.Tarpit(c) })
	}},
	{"ApiVersions is refused in every version", "api_versions: unsupported_version", func(s *stage) {
		s.script(wiretest.Common, kmsg.ApiVersions, func(r wiretest.Request) (kmsg.Response, error) {
			resp := r.ResponseKind().(*kmsg.ApiVersionsResponse)
			resp.Version = 0
			resp.ErrorCode = kerr.UnsupportedVersion.Code
			resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MaxVersion: 3}}
			return resp, nil
		})
	}},
	{"error code", "api_versions: kafka_error", func(s *stage) {
		s.script(wiretest.Common, kmsg.ApiVersions, func(r wiretest.Request) (kmsg.Response, error) {
			resp := r.ResponseKind().(*kmsg.ApiVersionsResponse)
			resp.ErrorCode = kerr.UnknownServerError.Code
			return resp, nil
		})
	}},
	{"wrong password", "sasl: credentials_rejected", func(s *stage) { s.account("right", "wrong", 0) }},
	{"wrong password, answered late", "sasl: credentials_rejected", func(s *stage) { s.account("right", "wrong", 300*time.Millisecond) }},
	{"mechanism is not offered", "sasl: mechanism_unsupported", func(s *stage) {
		s.account("right", "right", 0)
		s.dialer.SASL = func(context.Context, string) (sasl.Mechanism, error) {
			return otherMechanism{plain.Auth{User: "u", Pass: "p"}.AsMechanism()}, nil
		}
	}},
	{"SASL to a listener without", "sasl: mechanism_unsupported", func(s *stage) {
		s.listen(s.broker(wiretest.Common).Serve)
		s.password("right")
	}},
	{"no SASL to a listener with", "identity: authentication_required", func(s *stage) {
		s.account("right", "right", 0)
		s.dialer.SASL = nil
	}},
	{"no SASL to a listener with, over TLS that is cut without a goodbye", "identity: authentication_required", func(s *stage) {
		b := s.broker(wiretest.Common)
		b.Require(wiretest.NewAccounts("right", 0, 0))
		config := &tls.Config{Certificates: s.good()}
		s.listen(func(conn net.Conn) { b.Serve(tls.Server(conn, config)) })
		s.trust(s.ca, nil)
	}},
	{"no token", "sasl: token_unavailable", func(s *stage) {
		s.account("right", "right", 0)
		s.dialer.SASL = func(context.Context, string) (sasl.Mechanism, error) { return nil, errors.New("no such file") }
	}},
	{"SASL is not answered", "sasl: timeout", func(s *stage) {
		s.script(wiretest.Common, kmsg.SASLHandshake, silent)
		s.password("right")
	}},
	{"another cluster", "identity: wrong_cluster", func(s *stage) {
		s.listen(s.broker(wiretest.Common).Serve)
		s.peer.ClusterID = "cluster-b"
	}},
	{"another cluster, Kafka 4.4", "identity: wrong_cluster", func(s *stage) {
		s.listen(s.broker(wiretest.Modern).Serve)
		s.peer.ClusterID = "cluster-b"
	}},
	{"another broker", "identity: misrouted", func(s *stage) {
		s.listen(s.broker(wiretest.Common).Serve)
		s.peer.NodeID = 2
	}},
	{"another broker, before KIP-511", "identity: misrouted", func(s *stage) {
		s.listen(s.broker(wiretest.Old).Serve)
		s.peer.NodeID = 2
	}},
	{"another broker, Kafka 4.4", "identity: misrouted", func(s *stage) {
		s.listen(s.broker(wiretest.Modern).Serve)
		s.peer.NodeID = 2
	}},
	{"no broker in the answer", "request: empty_metadata", func(s *stage) {
		s.script(wiretest.Common, kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) { return r.ResponseKind(), nil })
	}},
	{"negative ids only", "request: empty_metadata", func(s *stage) {
		s.script(wiretest.Common, kmsg.Metadata, func(r wiretest.Request) (kmsg.Response, error) {
			resp := r.ResponseKind().(*kmsg.MetadataResponse)
			resp.Brokers = []kmsg.MetadataResponseBroker{{NodeID: -1}}
			return resp, nil
		})
	}},
	{"Metadata is not answered", "request: timeout", func(s *stage) {
		s.peer.NodeID = -1
		s.script(wiretest.Common, kmsg.Metadata, silent)
	}},
	{"session ended", "request: session_expired", func(s *stage) {
		b := s.broker(wiretest.Common)
		b.Require(wiretest.NewAccounts("right", 0, time.Millisecond))
		s.listen(b.Serve)
		s.password("right")
		s.peer.NodeID = -1
	}},
}

// prefixed is a connection whose first bytes have been looked at.
type prefixed struct {
	net.Conn
	seen []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.seen) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.seen)
	p.seen = p.seen[n:]
	return n, nil
}

// otherMechanism is one that the scripted brokers do not offer.
type otherMechanism struct{ sasl.Mechanism }

func (otherMechanism) Name() string { return "GSSAPI" }

// TestCaseC30EveryReason provokes every reason over a real socket.
// Done: every way to fail that we know, each over a real socket
// Shows: the phase and the reason of each; every reason there is occurs
func TestCaseC30EveryReason(t *testing.T) {
	seen := map[wire.Reason]bool{wire.ReasonOther: true, wire.ReasonInvalidAddress: true}
	for _, c := range reasonCases {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			c.stage(s)
			err := s.dialAndDescribe()
			var typed *wire.Error
			if !errors.As(err, &typed) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			seen[typed.Reason] = true
			if got := typed.Phase.String() + ": " + typed.Reason.String(); got != c.want {
				t.Errorf("got %s, want %s (%v)", got, c.want, err)
			}
			t.Log(err)
		})
	}
	for _, r := range wire.Reasons() {
		if !seen[r] && !testing.Short() {
			t.Errorf("no case provokes %s", r)
		}
	}
}
