package wire_test

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// TestInvalidRequestIsNoName: only who names another id as its own is another broker. The question is ours alone; what a proxy says
// that does not know it must not make a broker unreachable that serves every other client.
func TestInvalidRequestIsNoName(t *testing.T) {
	for text, want := range map[string]wire.Identity{
		"Unexpected broker id, expected 1 or empty string, but received 2": wire.IdentityWrong,
		"Unexpected broker id, expected 2 or empty string, but received 1": wire.IdentityUnverified,
		"BROKER resources are not supported":                               wire.IdentityUnverified,
		"":                                                                 wire.IdentityUnverified,
	} {
		t.Run(text, func(t *testing.T) {
			s := newStage(t)
			s.script(wiretest.Common, kmsg.DescribeConfigs, func(r wiretest.Request) (kmsg.Response, error) {
				resp := r.ResponseKind().(*kmsg.DescribeConfigsResponse)
				resource := kmsg.NewDescribeConfigsResponseResource()
				resource.ErrorCode, resource.ErrorMessage = kerr.InvalidRequest.Code, &text
				resp.Resources = append(resp.Resources, resource)
				return resp, nil
			})
			s.peer.NodeID = 2
			conn, _, err := s.dialer.Dial(t.Context(), s.peer)
			if want == wire.IdentityWrong {
				if typed := wire.AsError(wire.PhaseDial, err); typed == nil || typed.Reason != wire.ReasonMisrouted {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if conn.Identity != want {
				t.Errorf("identity %v", conn.Identity)
			}
			conn.Close()
			<-conn.Ended()
		})
	}
}

// TestUnexpectedMessageIsNoCertificate: crypto/tls names the Go type that it waited for.
func TestUnexpectedMessageIsNoCertificate(t *testing.T) {
	for text, want := range map[string]wire.Reason{
		"tls: received unexpected handshake message of type *tls.finishedMsg when waiting for *tls.certificateMsgTLS13": wire.ReasonTLSAlert,
		"tls: failed to parse certificate from server: x509: malformed certificate":                                     wire.ReasonCertificateInvalid,
	} {
		if got := wire.AsError(wire.PhaseTLS, errors.New(text)); got.Reason != want {
			t.Errorf("%s: %s", text, got.Reason)
		}
	}
}
