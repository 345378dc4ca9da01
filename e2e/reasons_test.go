//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/oauth"
	"kafka_connection_exporter/e2e/pki"
)

const wrongPassword = "wrong-donkey-91Cd"

// refusal is a way that does not lead in, and the word for it.
type refusal struct {
	name     string
	listener string
	access   func(*testing.T, *security) access
	phase    string
	reasons  []string
}

// TestCaseC30Reasons: the metric says why the exporter cannot come in, in the right word and phase, and goes on saying so.
// Done: every way in that is closed, on three releases of Kafka
// Shows: the right word and phase, all the time
func TestCaseC30Reasons(t *testing.T) {
	t.Parallel()
	all := slices.Concat(tlsRefusals(), loginRefusals(), mismatches())
	cases := []struct {
		version  string
		cluster  func() *security
		refusals []refusal
	}{
		{cluster.V44, func() *security { return securedCluster(t, cluster.V44) }, all},
		{cluster.V39, func() *security { return securedCluster(t, cluster.V39) }, all},
		{cluster.V23, func() *security { return &security{Cluster: authorizedCluster(t, cluster.V23)} }, oldRefusals()},
	}
	for _, tc := range cases {
		s := tc.cluster()
		t.Run(tc.version, func(t *testing.T) {
			for _, r := range tc.refusals {
				t.Run(r.name, func(t *testing.T) {
					t.Parallel()
					turn(t)
					beRefused(t, s, r)
				})
			}
		})
	}
}

// oldRefusals are those that make sense where there is PLAIN on saslPlain, plaintext, and no more.
func oldRefusals() []refusal {
	named := map[string]bool{
		"wrong password of PLAIN": true, "unknown user of PLAIN": true, "wrong password of SCRAM-SHA-512": true, "TLS client on plaintext": true,
		"TLS client on SASL without TLS": true, "SASL client on plaintext": true, "no SASL on a SASL listener": true,
	}
	var old []refusal
	for _, r := range slices.Concat(loginRefusals(), mismatches()) {
		if r.name == "wrong password of SCRAM-SHA-512" {
			r.reasons = []string{"mechanism_unsupported"}
		}
		if named[r.name] {
			old = append(old, r)
		}
	}
	return old
}

func beRefused(t *testing.T, s *security, r refusal) {
	t.Helper()
	seed := s.Broker(1).Advertised(r.listener)
	a := r.access(t, s)
	e := enter(t, []string{seed}, a)
	refused := all(seedFailing(seed, r.reasons, r.phase), value(0, "up"), absent("broker_reachable"))
	e.WaitFor(settleTimeout, refused)
	e.Hold(500*time.Millisecond, refused)
	t.Log(explanation(e))
	a.check(t, seed)
}

// explanation is the log line about the first failure.
func explanation(e *exporter.Exporter) string {
	for line := range strings.Lines(e.Log()) {
		if _, text, ok := strings.Cut(line, " phase="); ok {
			return "phase=" + strings.TrimSpace(text)
		}
	}
	return "no line of the log has a phase"
}

func tlsRefusals() []refusal {
	trust := func(flags ...string) func(*testing.T, *security) access {
		return func(_ *testing.T, s *security) access { return trusting(s.Cluster).with(flags...) }
	}
	foreign := func(t *testing.T, s *security) access { return certified(t, s.Cluster, s.foreign, clientLeaf) }
	stale := func(t *testing.T, s *security) access {
		now := time.Now()
		return certified(t, s.Cluster, s.CA, pki.Leaf{CommonName: "old", NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(-time.Hour)})
	}
	unverified := func(*testing.T, *security) access {
		return access{flags: []string{"--tls", "--tls.insecure-skip-verify"}}
	}
	rejected := []string{"client_certificate_rejected"}
	return []refusal{
		{"wrong CA", foreignTLS, trust(), "tls", []string{"certificate_untrusted"}},
		{"wrong CA, name not verified", foreignTLS, trust("--tls.skip-name-verify"), "tls", []string{"certificate_untrusted"}},
		{"expired certificate", expired, trust(), "tls", []string{"certificate_expired"}},
		{"expired certificate, name not verified", expired, trust("--tls.skip-name-verify"), "tls", []string{"certificate_expired"}},
		{"expired certificate, nothing verified", expired, unverified, "tls", []string{"certificate_expired"}},
		{"wrong name", wrongName, trust(), "tls", []string{"certificate_name_mismatch"}},
		{"wrong name given", sslOnly, trust("--tls.server-name=b.test"), "tls", []string{"certificate_name_mismatch"}},
		{"no common version", mutual12, trust("--tls.min-version=1.3"), "tls", []string{"tls_alert"}},
		{"no client certificate", mutualTLS, trust(), "tls", rejected},
		{"no client certificate, TLS 1.2", mutual12, trust(), "tls", rejected},
		{"foreign client certificate", mutualTLS, foreign, "tls", rejected},
		{"foreign client certificate, TLS 1.2", mutual12, foreign, "tls", rejected},
		{"expired client certificate", mutualTLS, stale, "tls", rejected},
		{"expired client certificate, TLS 1.2", mutual12, stale, "tls", rejected},
	}
}

func loginRefusals() []refusal {
	token := func(change func(string) string, claims oauth.Claims) func(*testing.T, *security) access {
		return func(t *testing.T, s *security) access { return tokenFile(t, change(signed(t, s, claims))) }
	}
	same := func(token string) string { return token }
	byKeytab := func(t *testing.T, s *security) access { s.withKDC(t); return ticket(t, s, s.kdc.StaleKeytab, "stale") }
	service := func(t *testing.T, s *security) access {
		s.withKDC(t)
		return ticket(t, s, s.kdc.Keytab, userName).with("--sasl.kerberos.service-name=nobody")
	}
	endpoint := func(t *testing.T, s *security) access { return clientCredentials(t, s, wrongPassword, time.Hour) }
	down := func(t *testing.T, s *security) access {
		a := clientCredentials(t, s, clientSecret, time.Hour)
		a.endpoint.SetFailing(true)
		return a
	}
	silent := func(t *testing.T, s *security) access {
		a := clientCredentials(t, s, clientSecret, time.Hour)
		a.endpoint.SetSilent(true)
		return a.with(impatient...)
	}
	rejected, unavailable := []string{"credentials_rejected"}, []string{"token_unavailable"}
	all := []refusal{
		{"spoilt token", saslPlain, token(spoil, oauth.Claims{}), "sasl", rejected},
		{"expired token", saslTLS, overTLS(saslTLS, token(same, oauth.Claims{Lifetime: -time.Hour})), "sasl", rejected},
		{"token for others", saslPlain, token(same, oauth.Claims{Audience: "others"}), "sasl", rejected},
		{"no token at all", saslPlain, token(nonsense, oauth.Claims{}), "sasl", rejected},
		{"wrong client secret", saslPlain, endpoint, "sasl", unavailable},
		{"token endpoint down", saslTLS, overTLS(saslTLS, down), "sasl", unavailable},
		{"token endpoint silent", saslPlain, silent, "sasl", unavailable},
		{"stale keytab", saslPlain, byKeytab, "sasl", unavailable},
		{"unknown service", saslPlain, service, "sasl", unavailable},
	}
	for _, mechanism := range []string{cluster.Plain, cluster.SCRAM256, cluster.SCRAM512} {
		wrong := func(t *testing.T, _ *security) access { return password(t, mechanism, userName, wrongPassword) }
		nobody := func(t *testing.T, _ *security) access { return password(t, mechanism, "nobody", wrongPassword) }
		all = append(all,
			refusal{"wrong password of " + mechanism, saslPlain, wrong, "sasl", rejected},
			refusal{"wrong password of " + mechanism + " over TLS", saslTLS, overTLS(saslTLS, wrong), "sasl", rejected},
			refusal{"unknown user of " + mechanism, saslPlain, nobody, "sasl", rejected})
	}
	return all
}

// spoil changes one character in the middle of a token's signature.
func spoil(token string) string {
	i := strings.LastIndex(token, ".") + 100
	other := "A"
	if token[i] == 'A' {
		other = "B"
	}
	return token[:i] + other + token[i+1:]
}

func nonsense(string) string {
	return "hello." + strings.Repeat("abcdefgh", 4) + "." + strings.Repeat("ijklmnop", 4)
}

// mismatches are listeners of another kind than the exporter takes them for.
func mismatches() []refusal {
	nothing := func(*testing.T, *security) access { return access{} }
	trust := func(_ *testing.T, s *security) access { return trusting(s.Cluster) }
	login := func(mechanism string) func(*testing.T, *security) access {
		return func(t *testing.T, _ *security) access { return password(t, mechanism, userName, userPassword) }
	}
	plaintext := []string{"peer_is_plaintext"}
	return []refusal{
		{"plaintext client on TLS", sslOnly, nothing, "api_versions", []string{"peer_speaks_tls"}},
		{"plaintext client on mutual TLS", mutualTLS, nothing, "api_versions", []string{"peer_speaks_tls"}},
		{"plaintext SASL client on TLS with SASL", saslTLS, login(cluster.Plain), "api_versions", []string{"peer_speaks_tls"}},
		{"TLS client on plaintext", cluster.Plaintext, trust, "tls", plaintext},
		{"TLS client on SASL without TLS", saslPlain, trust, "tls", plaintext},
		{"mechanism that is not offered", plainOnly, login(cluster.SCRAM512), "sasl", []string{"mechanism_unsupported"}},
		{"SASL client on plaintext", cluster.Plaintext, login(cluster.Plain), "sasl", []string{"mechanism_unsupported"}},
		{"SASL client on TLS", sslOnly, overTLS(saslTLS, login(cluster.SCRAM256)), "sasl", []string{"mechanism_unsupported"}},
		{"no SASL on a SASL listener", saslPlain, nothing, "request", []string{"authentication_required"}},
		{"no SASL on a SASL listener with TLS", saslTLS, trust, "request", []string{"authentication_required"}},
	}
}

// TestLateRefusal: a broker that delays its no, as a defence against guessing, is understood all the same.
func TestLateRefusal(t *testing.T) {
	t.Parallel()
	s := securedCluster(t, cluster.V44)
	for _, mechanism := range []string{cluster.Plain, cluster.SCRAM512} {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			turn(t)
			seed := s.Broker(lateBroker).Advertised(saslPlain)
			start := time.Now()
			e := enter(t, []string{seed}, password(t, mechanism, userName, wrongPassword))
			m := e.WaitFor(settleTimeout, seedFailing(seed, []string{"credentials_rejected"}, "sasl"))
			if took := time.Since(start); took < lateBy {
				t.Errorf("the answer came after %v, so this proves nothing", took)
			}
			if n := m.Sum("seed_connection_failures_total"); n != 1 {
				t.Errorf("%v failures, want 1", n)
			}
		})
	}
}
