//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/oauth"
	"kafka_connection_exporter/e2e/pki"
)

const clientSecret = "hidden-otter-55Zt"

// access is how an exporter tries to get in: its flags, and what must never show.
type access struct {
	flags    []string
	env      []string
	secrets  []string
	endpoint *oauth.Endpoint // hands out more secrets
}

// and is both.
func (a access) and(b access) access {
	sum := access{endpoint: a.endpoint}
	sum.flags, sum.env, sum.secrets = slices.Concat(a.flags, b.flags), slices.Concat(a.env, b.env), slices.Concat(a.secrets, b.secrets)
	if sum.endpoint == nil {
		sum.endpoint = b.endpoint
	}
	return sum
}

// with is a with more flags.
func (a access) with(flags ...string) access { return a.and(access{flags: flags}) }

// check runs --config.check.
func (a access) check(t *testing.T, seed string) {
	t.Helper()
	exporter.Check(t, a.secrets, a.env, append(slices.Clone(a.flags), "--kafka.seed="+seed))
}

// enter starts an exporter with the fast intervals, and fails the test if it ever shows a secret.
func enter(t *testing.T, seeds []string, a access, more ...string) *exporter.Exporter {
	t.Helper()
	e := exporter.StartEnv(t, a.env, flags(seeds, slices.Concat(a.flags, more)...)...)
	e.Forbid(a.secrets...)
	if a.endpoint != nil {
		t.Cleanup(func() {
			for _, token := range a.endpoint.Tokens() {
				e.Forbid(pieces(token)...)
			}
		})
	}
	return e
}

// pieces are the parts of a token whose appearance would give it away, also where it is cut short.
func pieces(token string) []string {
	parts := strings.Split(token, ".")
	return []string{parts[1][:24], parts[2][:24]}
}

// trusting is TLS with the cluster's CA.
func trusting(c *cluster.Cluster) access {
	return access{flags: []string{"--tls", "--tls.ca-file=" + c.CAFile}}
}

// clientLeaf is a certificate for a client.
var clientLeaf = pki.Leaf{CommonName: "client"}

// certified is TLS with a client certificate.
func certified(t *testing.T, c *cluster.Cluster, ca *pki.CA, leaf pki.Leaf) access {
	t.Helper()
	pair, err := ca.Issue(leaf)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")
	write(t, cert, string(pair.Cert))
	write(t, key, string(pair.Key))
	a := trusting(c).with("--tls.cert-file="+cert, "--tls.key-file="+key)
	a.secrets = append(a.secrets, strings.Split(string(pair.Key), "\n")[1])
	return a
}

// password is PLAIN or SCRAM.
func password(t *testing.T, mechanism, user, secret string) access {
	t.Helper()
	return passwordIn(secretFile(t, secret), mechanism, user, secret)
}

func passwordIn(file, mechanism, user string, secrets ...string) access {
	return access{
		flags:   []string{"--sasl.mechanism=" + mechanism, "--sasl.username=" + user, "--sasl.password-file=" + file},
		secrets: secrets,
	}
}

// tokenFile is OAUTHBEARER with a token in a file.
func tokenFile(t *testing.T, token string) access {
	t.Helper()
	return access{
		flags:   []string{"--sasl.mechanism=OAUTHBEARER", "--sasl.oauth.token-file=" + secretFile(t, token)},
		secrets: pieces(token),
	}
}

// environment is a login whose secret is in the environment.
func environment(name, secret string, flags ...string) access {
	return access{flags: flags, env: []string{"KAFKA_CONNECTION_EXPORTER_" + name + "=" + secret}, secrets: []string{secret}}
}

// signed is a token of the cluster's issuer.
func signed(t *testing.T, s *security, claims oauth.Claims) string {
	t.Helper()
	token, err := s.issuer.Token(claims)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// clientCredentials is OAUTHBEARER with a token endpoint of its own, which knows clientSecret.
func clientCredentials(t *testing.T, s *security, secret string, lifetime time.Duration) access {
	t.Helper()
	endpoint := s.issuer.Serve(t, userName, clientSecret, lifetime)
	return access{
		flags: []string{
			"--sasl.mechanism=OAUTHBEARER", "--sasl.oauth.token-url=" + endpoint.URL, "--sasl.oauth.client-id=" + userName,
			"--sasl.oauth.client-secret-file=" + secretFile(t, secret), "--sasl.oauth.scope=kafka", "--sasl.oauth.extension=site=e2e",
		},
		secrets: []string{secret}, endpoint: endpoint,
	}
}

// ticket is GSSAPI with a keytab.
func ticket(t *testing.T, s *security, keytab func(principal string) (string, error), principal string) access {
	t.Helper()
	s.needKDC(t)
	file, err := keytab(principal)
	if err != nil {
		t.Fatal(err)
	}
	return access{flags: []string{
		"--sasl.mechanism=GSSAPI", "--sasl.kerberos.principal=" + principal,
		"--sasl.kerberos.keytab-file=" + file, "--sasl.kerberos.config-file=" + s.kdc.ConfigFile,
	}}
}

// secretFile holds the secret and the newline that editors put behind it.
func secretFile(t *testing.T, secret string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	write(t, file, secret+"\n")
	return file
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
