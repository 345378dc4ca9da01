package wire_test

import (
	"context"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

const secret = "tr0ub4dor-and-3"

// answering stages a SASL listener with a broker that answers every SaslAuthenticate in one way.
func (s *stage) answering(mechanism sasl.Mechanism, answer func(*kmsg.SASLAuthenticateResponse)) {
	b := s.broker(wiretest.Common)
	b.On(kmsg.SASLHandshake, func(r wiretest.Request) (kmsg.Response, error) { return r.ResponseKind(), nil })
	b.On(kmsg.SASLAuthenticate, func(r wiretest.Request) (kmsg.Response, error) {
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		answer(resp)
		return resp, nil
	})
	s.listen(b.Serve)
	s.dialer.SASL = func(context.Context, string) (sasl.Mechanism, error) { return mechanism, nil }
}

// TestWhatIsANo: only a broker that says no has rejected the credentials. Garbage in an exchange is garbage: it must not hold
// back the authentication of the whole cluster.
func TestWhatIsANo(t *testing.T) {
	scram256 := scram.Auth{User: "u", Pass: secret}.AsSha256Mechanism()
	token := oauth.Auth{Token: secret}.AsMechanism()
	for name, c := range map[string]struct {
		mechanism sasl.Mechanism
		answer    string
		want      wire.Reason
	}{
		"SCRAM, garbage":        {scram256, "\x00\xffgarbage", wire.ReasonProtocol},
		"SCRAM, another nonce":  {scram256, "r=mallory,s=AAAA,i=4096", wire.ReasonProtocol},
		"SCRAM, its own no":     {scram256, "e=invalid-proof", wire.ReasonCredentialsRejected},
		"OAUTHBEARER, garbage":  {token, "what?", wire.ReasonProtocol},
		"OAUTHBEARER, its JSON": {token, `{"status":"invalid_token"}`, wire.ReasonCredentialsRejected},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.answering(c.mechanism, func(resp *kmsg.SASLAuthenticateResponse) { resp.SASLAuthBytes = []byte(c.answer) })
			_, _, err := s.dialer.Dial(t.Context(), s.peer)
			if typed := wire.AsError(wire.PhaseDial, err); typed == nil || typed.Phase != wire.PhaseSASL || typed.Reason != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestRejectionRepeatsTheSecret: brokers may put what they were sent into the text of their answer. It is not for our log.
func TestRejectionRepeatsTheSecret(t *testing.T) {
	for _, mechanism := range []sasl.Mechanism{plain.Auth{User: "u", Pass: secret}.AsMechanism(), oauth.Auth{Token: secret}.AsMechanism()} {
		s := newStage(t)
		s.answering(mechanism, func(resp *kmsg.SASLAuthenticateResponse) {
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
			resp.ErrorMessage = kmsg.StringPtr("no user with the password " + secret + " here")
		})
		_, _, err := s.dialer.Dial(t.Context(), s.peer)
		if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "no user with the password … here") {
			t.Errorf("%s: %v", mechanism.Name(), err)
		}
	}
}
