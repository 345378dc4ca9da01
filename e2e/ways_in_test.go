//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/oauth"
)

// wayIn is a listener and what gets in by it.
type wayIn struct {
	name     string
	listener string
	access   func(*testing.T, *security) access
}

// TestWaysIn: every listener lets the exporter in with the right credentials, every broker is known to be itself, and --config.check has
// nothing against the flags.
func TestWaysIn(t *testing.T) {
	t.Parallel()
	logins := rightLogins()
	saslWays := func(names ...string) (ways []wayIn) {
		for _, listener := range []string{saslPlain, saslTLS} {
			for _, name := range names {
				ways = append(ways, wayIn{name, listener, overTLS(listener, logins[name])})
			}
		}
		return ways
	}
	older := []string{cluster.Plain, cluster.SCRAM256, cluster.SCRAM512, cluster.OAuthBearer}
	cases := []struct {
		version string
		ways    []wayIn
	}{
		{cluster.V44, slices.Concat(saslWays(append(older, endpointLogin, cluster.GSSAPI)...), tlsWays(), environmentWays())},
		{cluster.V39, append(saslWays(older...), tlsWays()[0])},
	}
	for _, tc := range cases {
		s := securedCluster(t, tc.version)
		t.Run(tc.version, func(t *testing.T) {
			for _, way := range tc.ways {
				t.Run(way.listener+"/"+way.name, func(t *testing.T) {
					t.Parallel()
					turn(t)
					getIn(t, s, way)
				})
			}
		})
	}
}

func getIn(t *testing.T, s *security, way wayIn) {
	a := way.access(t, s)
	start := time.Now()
	e := enter(t, s.seeds(way.listener), a)
	m := e.WaitFor(settleTimeout, all(ready(s.IDs()...), accepts(s.IDs()...), identity("verified", s.IDs()...), value(1, "up"), fences(s.Cluster)))
	found := m.Find("broker_tls_info", "broker_id", "1")
	if withTLS := a.flags[0] == "--tls"; withTLS != (len(found) == 1) {
		t.Errorf("broker_tls_info is %v, with TLS: %v", found, withTLS)
	}
	t.Logf("ready after %v %v", time.Since(start), found)
	a.check(t, s.seeds(way.listener)[0])
}

// fences wants to know of every broker that it is not fenced, where the version can tell.
func fences(c *cluster.Cluster) condition {
	if c.Version() == cluster.V44 {
		return brokerIs(0, "broker_fenced", c.IDs()...)
	}
	return absent("broker_fenced")
}

const endpointLogin = "OAUTHBEARER by endpoint"

// rightLogins are right credentials for every mechanism.
func rightLogins() map[string]func(*testing.T, *security) access {
	logins := map[string]func(*testing.T, *security) access{
		cluster.OAuthBearer: func(t *testing.T, s *security) access { return tokenFile(t, signed(t, s, oauth.Claims{})) },
		endpointLogin:       func(t *testing.T, s *security) access { return clientCredentials(t, s, clientSecret, time.Hour) },
		cluster.GSSAPI:      func(t *testing.T, s *security) access { s.withKDC(t); return ticket(t, s, s.kdc.Keytab, userName) },
	}
	for _, mechanism := range []string{cluster.Plain, cluster.SCRAM256, cluster.SCRAM512} {
		logins[mechanism] = func(t *testing.T, _ *security) access { return password(t, mechanism, userName, userPassword) }
	}
	return logins
}

// environmentWays are logins without a file.
func environmentWays() []wayIn {
	return []wayIn{
		{"password from the environment", saslPlain, func(*testing.T, *security) access {
			return environment("SASL_PASSWORD", userPassword, "--sasl.mechanism=scram_sha_256", "--sasl.username="+userName)
		}},
		{"client secret from the environment", saslPlain, func(t *testing.T, s *security) access {
			endpoint := s.issuer.Serve(t, userName, clientSecret, time.Hour)
			a := environment("SASL_OAUTH_CLIENT_SECRET", clientSecret,
				"--sasl.mechanism=OAUTHBEARER", "--sasl.oauth.token-url="+endpoint.URL, "--sasl.oauth.client-id="+userName)
			a.endpoint = endpoint
			return a
		}},
	}
}

// overTLS is a login with TLS where the listener has it.
func overTLS(listener string, login func(*testing.T, *security) access) func(*testing.T, *security) access {
	return func(t *testing.T, s *security) access {
		if listener != saslTLS {
			return login(t, s)
		}
		return trusting(s.Cluster).and(login(t, s))
	}
}

// tlsWays are right ways to use TLS alone; the first fits any version.
func tlsWays() []wayIn {
	trust := func(flags ...string) func(*testing.T, *security) access {
		return func(_ *testing.T, s *security) access { return trusting(s.Cluster).with(flags...) }
	}
	certificate := func(t *testing.T, s *security) access { return certified(t, s.Cluster, s.CA, clientLeaf) }
	return []wayIn{
		{"TLS", sslOnly, trust()},
		{"client certificate", mutualTLS, certificate},
		{"client certificate", mutual12, certificate},
		{"name not verified", wrongName, trust("--tls.skip-name-verify")},
		{"name overridden", wrongName, trust("--tls.server-name-override=localhost=b.test")},
		{"name given", wrongName, trust("--tls.server-name=b.test")},
		{"nothing verified", foreignTLS, func(*testing.T, *security) access {
			return access{flags: []string{"--tls", "--tls.insecure-skip-verify"}}
		}},
	}
}
