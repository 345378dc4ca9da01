package wire_test

import (
	"crypto/tls"
	"regexp"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// TestCertificateTexts: the text of a certificate that is not accepted says whose it is, who issued it and what is wrong.
func TestCertificateTexts(t *testing.T) {
	for _, c := range []struct {
		name   string
		want   wire.Reason
		text   string // a pattern
		config func(s *stage) tls.Certificate
	}{
		{"expired", wire.ReasonCertificateExpired,
			`^the certificate of CN=a test certificate, issued by CN=a test authority, ended at 20\d\d-\d\d-\d\dT\S+Z, 1 h 0 min ago$`,
			func(s *stage) tls.Certificate { return s.ca.Issue(time.Now().Add(-time.Hour), "127.0.0.1") }},
		{"incomplete chain", wire.ReasonCertificateUntrusted,
			`^the chain ends at CN=a test certificate, whose issuer CN=a subordinate authority is neither in the chain nor among the authorities that are trusted: an intermediate is missing`,
			func(s *stage) tls.Certificate {
				cert := s.ca.Subordinate().Issue(time.Now().Add(time.Hour), "127.0.0.1")
				cert.Certificate = cert.Certificate[:1]
				return cert
			}},
		{"unknown authority", wire.ReasonCertificateUntrusted,
			`^the chain ends at the authority CN=a test authority, which is not among those that are trusted`,
			func(s *stage) tls.Certificate {
				return wiretest.NewAuthority().Issue(time.Now().Add(time.Hour), "127.0.0.1")
			}},
		{"other names", wire.ReasonCertificateNameMismatch,
			`^the certificate of CN=a test certificate is for a\.test, b\.test, 192\.0\.2\.1, and not for 127\.0\.0\.1$`,
			func(s *stage) tls.Certificate {
				return s.ca.Issue(time.Now().Add(time.Hour), "a.test", "b.test", "192.0.2.1")
			}},
		{"no name", wire.ReasonCertificateNameMismatch, `is for no name at all`,
			func(s *stage) tls.Certificate { return s.ca.Issue(time.Now().Add(time.Hour)) }},
		{"many names", wire.ReasonCertificateNameMismatch, ` and 20 more, and not for 127\.0\.0\.1$`,
			func(s *stage) tls.Certificate {
				return s.ca.Issue(time.Now().Add(time.Hour), strings.Fields(strings.Repeat("a.test ", 30))...)
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.dialer.KeepChain = true
			s.secure(&tls.Config{Certificates: []tls.Certificate{c.config(s)}})
			_, trace, err := s.dialer.Dial(t.Context(), s.peer)
			known := wire.AsError(wire.PhaseTLS, err)
			if known == nil || known.Reason != c.want || !regexp.MustCompile(c.text).MatchString(known.Err.Error()) {
				t.Errorf("%v, want %s in the words %s", err, c.want, c.text)
			}
			if len(trace.Chain) == 0 || trace.Chain[0].Subject != "CN=a test certificate" || len(trace.Chain[0].Names) > 10 {
				t.Errorf("the chain is %+v", trace.Chain)
			}
		})
	}
}
