package app

import (
	"fmt"
	"math"
	"net"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"kafka_connection_exporter/security"
)

// mistakes returns an error for every value that makes no sense and for every flag that would have no effect.
func (o *options) mistakes() []error {
	return slices.Concat(o.badNames(), o.badDurations(), o.badNumbers(), o.badWeb(), o.idleTLS(), o.idleSASL())
}

func wrong(flag string, value any, must string) error {
	return fmt.Errorf("--%s is %v, it must be %s", flag, value, must)
}

// longestName is in bytes. The protocol would allow 32,767, which no broker's log could show.
const longestName = 255

// badNames: what becomes a label, or a string of the protocol, must be text of some reasonable length.
func (o *options) badNames() (all []error) {
	for _, n := range []struct{ flag, value string }{
		{"kafka.cluster", o.cluster}, {"kafka.cluster-id", o.clusterID}, {"kafka.client-id", o.clientID},
	} {
		if !utf8.ValidString(n.value) || len(n.value) > longestName {
			all = append(all, fmt.Errorf("--%s must be UTF-8 of at most %d bytes, it begins with %.20q", n.flag, longestName, n.value))
		}
	}
	return all
}

// The least values of what happens again and again: below, one typing error keeps a processor busy and floods brokers.
const (
	leastInterval  = 10 * time.Millisecond
	leastBackoff   = time.Millisecond
	leastRetention = time.Second // as often, at least, those who left are looked through
)

func (o *options) badDurations() (all []error) {
	for _, d := range []struct {
		flag   string
		value  time.Duration
		least  time.Duration // 0: anything positive
		orZero bool
	}{
		{"metadata.refresh-interval", o.refreshInterval, leastInterval, false},
		{"metadata.hedge-delay", o.hedgeDelay, leastInterval, false},
		{"metadata.give-up-after", o.giveUpAfter, 0, true},
		{"connect.timeout", o.connectTimeout, 0, false},
		{"connect.attempt-delay", o.attemptDelay, 0, false},
		{"backoff.base", o.backoffBase, leastBackoff, false},
		{"backoff.max", o.backoffMax, 0, false},
		{"check.interval", o.checkInterval, leastInterval, false},
		{"check.timeout", o.checkTimeout, 0, false},
		{"handshake.interval", o.handshakeInterval, leastInterval, true},
		{"seed.check-interval", o.seedCheckInterval, leastInterval, true},
		{"broker.retention", o.retention, leastRetention, false},
		{"sasl.retry-interval", o.saslOptions.RetryInterval, 0, false},
	} {
		if d.value >= max(d.least, 1) || d.value == 0 && d.orZero {
			continue
		}
		must := "positive"
		if d.least > 0 {
			must = "at least " + d.least.String()
		}
		if d.orZero {
			must += ", or 0 for never"
		}
		all = append(all, wrong(d.flag, d.value, must))
	}
	if o.backoffMax < o.backoffBase {
		all = append(all, wrong("backoff.max", o.backoffMax, fmt.Sprintf("at least --backoff.base, which is %s", o.backoffBase)))
	}
	return all
}

func (o *options) badNumbers() (all []error) {
	if !(o.connectRate > 0) || math.IsInf(o.connectRate, 1) {
		all = append(all, wrong("connect.rate", o.connectRate, "positive"))
	}
	if o.brokersExpected < 0 {
		all = append(all, wrong("kafka.brokers-expected", o.brokersExpected, "the number of brokers, or 0 for unknown"))
	}
	return all
}

func (o *options) badWeb() (all []error) {
	p := o.telemetryPath
	if !strings.HasPrefix(p, "/") || p == "/" || path.Clean(p) != p || strings.HasPrefix(p, "/-/") || strings.ContainsAny(p, " {}?#%") {
		all = append(all, wrong("web.telemetry-path", fmt.Sprintf("%q", p), "a path such as /metrics"))
	}
	if o.systemdSocket() {
		return all
	}
	for _, address := range *o.web.WebListenAddresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			all = append(all, wrong("web.listen-address", fmt.Sprintf("%q", address), "of the form host:port or :port"))
		}
	}
	return all
}

func (o *options) systemdSocket() bool {
	return o.web.WebSystemdSocket != nil && *o.web.WebSystemdSocket
}

// idleTLS refuses TLS flags without TLS: a setting of security that is silently ignored is worse than an error.
func (o *options) idleTLS() (all []error) {
	if o.tls {
		return nil
	}
	t := &o.tlsOptions
	for _, f := range []struct {
		flag  string
		given bool
	}{
		{"tls.ca-file", t.CAFile != ""}, {"tls.cert-file", t.CertFile != ""}, {"tls.key-file", t.KeyFile != ""},
		{"tls.server-name", t.ServerName != ""}, {"tls.server-name-override", len(o.serverNames) > 0},
		{"tls.min-version", o.tlsMinVersion != defaultTLSVersion}, {"tls.insecure-skip-verify", t.InsecureSkipVerify}, {"tls.skip-name-verify", t.SkipNameVerify},
	} {
		if f.given {
			all = append(all, fmt.Errorf("--%s has no effect without --tls", f.flag))
		}
	}
	return all
}

// idleSASL is the same for SASL flags, which belong to one mechanism or another.
func (o *options) idleSASL() (all []error) {
	s := &o.saslOptions
	users := []string{security.Plain, security.ScramSHA256, security.ScramSHA512}
	oauth, kerberos := []string{security.OAuthBearer}, []string{security.GSSAPI}
	mechanism, err := security.ParseMechanism(s.Mechanism)
	if err != nil && s.Mechanism != "" {
		return []error{fmt.Errorf("--sasl.mechanism: %w", err)}
	}
	for _, f := range []struct {
		flag       string
		given      bool
		mechanisms []string
	}{
		{"sasl.username", s.Username != "", users},
		{"sasl.password-file", o.secretFiles.password != "", users},
		{"sasl.oauth.token-file", o.secretFiles.token != "", oauth},
		{"sasl.oauth.token-url", s.OAuth.TokenURL != "", oauth},
		{"sasl.oauth.client-id", s.OAuth.ClientID != "", oauth},
		{"sasl.oauth.client-secret-file", o.secretFiles.clientSecret != "", oauth},
		{"sasl.oauth.scope", len(s.OAuth.Scopes) > 0, oauth},
		{"sasl.oauth.extension", len(o.oauthExtensions) > 0, oauth},
		{"sasl.oauth.ca-file", s.OAuth.CAFile != "", oauth},
		{"sasl.kerberos.service-name", s.Kerberos.ServiceName != defaultServiceName, kerberos},
		{"sasl.kerberos.principal", s.Kerberos.Principal != "", kerberos},
		{"sasl.kerberos.realm", s.Kerberos.Realm != "", kerberos},
		{"sasl.kerberos.keytab-file", s.Kerberos.KeytabFile != "", kerberos},
	} {
		switch {
		case f.given && mechanism == "":
			all = append(all, fmt.Errorf("--%s has no effect without --sasl.mechanism", f.flag))
		case f.given && !slices.Contains(f.mechanisms, mechanism):
			all = append(all, fmt.Errorf("--%s has no effect with --sasl.mechanism=%s", f.flag, mechanism))
		}
	}
	return all
}

// warnings says what is possible and unwise.
func (o *options) warnings() (all []string) {
	if mechanism, err := security.ParseMechanism(o.saslOptions.Mechanism); err == nil && !o.tls {
		if mechanism == security.Plain || mechanism == security.OAuthBearer {
			all = append(all, "SASL "+mechanism+" without --tls sends the secret in clear text")
		}
	}
	if o.tlsOptions.InsecureSkipVerify {
		all = append(all, "--tls.insecure-skip-verify: anybody between here and the brokers can read along")
	}
	return all
}
