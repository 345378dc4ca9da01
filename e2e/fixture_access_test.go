//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	kgokrb "github.com/twmb/franz-go/pkg/sasl/kerberos"
	kgooauth "github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/kerberos"
	"kafka_connection_exporter/e2e/oauth"
	"kafka_connection_exporter/e2e/pki"
)

// TestFixtureSASL: every mechanism lets the right client in, with and without TLS, and no wrong one.
func TestFixtureSASL(t *testing.T) {
	t.Parallel()
	s := securedCluster(t, cluster.V44)
	right, wrong := mechanisms(t, s)
	for _, listener := range []string{saslPlain, saslTLS} {
		for _, name := range allMechanisms {
			t.Run(listener+"/"+name, func(t *testing.T) {
				if name == cluster.GSSAPI {
					s.withKDC(t)
				}
				seed := s.Broker(1).Advertised(listener)
				var opts []kgo.Opt
				if listener == saslTLS {
					opts = append(opts, dialTLS(tlsConfig(t, s.CA.PEM)))
				}
				wantIn(t, seed, s.IDs(), append(opts, kgo.SASL(right[name]))...)
				if w, ok := wrong[name]; ok {
					t.Log(wantOut(t, seed, append(opts, kgo.SASL(w))...))
				}
			})
		}
	}
}

// TestFixtureTLS: the listeners with and without fault behave as their names say.
func TestFixtureTLS(t *testing.T) {
	s := beside(t, cluster.V44)
	pair, err := s.CA.Issue(pki.Leaf{CommonName: "client"})
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	trusting := dialTLS(tlsConfig(t, s.CA.PEM))
	wantIn(t, s.Broker(1).Advertised(sslOnly), s.IDs(), trusting)
	wantIn(t, s.Broker(1).Advertised(mutualTLS), s.IDs(), dialTLS(tlsConfig(t, s.CA.PEM, cert)))
	for _, listener := range []string{mutualTLS, expired, wrongName, foreignTLS} {
		t.Logf("%s: %v", listener, wantOut(t, s.Broker(1).Advertised(listener), trusting))
	}
	t.Logf("plaintext client on %s: %v", sslOnly, wantOut(t, s.Broker(1).Advertised(sslOnly)))
}

// TestFixtureCertificateRotation: a broker takes up a new certificate without a restart.
func TestFixtureCertificateRotation(t *testing.T) {
	s := beside(t, cluster.V44)
	b := s.Broker(2)
	old := leafAt(t, b.Addr(sslOnly))
	end := time.Now().Add(3 * time.Hour).Truncate(time.Second)
	b.RotateCertificate(t, sslOnly, s.CA, pki.Leaf{CommonName: "broker-2", Hosts: []string{"localhost", "127.0.0.1"}, NotAfter: end})
	for deadline := time.Now().Add(settleTimeout); ; time.Sleep(50 * time.Millisecond) {
		leaf := leafAt(t, b.Addr(sslOnly))
		if leaf.NotAfter.Equal(end) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the certificate ends %v, want %v (before: %v)", leaf.NotAfter, end, old.NotAfter)
		}
	}
	wantIn(t, b.Advertised(sslOnly), s.IDs(), dialTLS(tlsConfig(t, s.CA.PEM)))
}

// TestFixtureReauthentication: a session of 5 s is prolonged on the live connection.
func TestFixtureReauthentication(t *testing.T) {
	s := beside(t, cluster.V44)
	right, _ := mechanisms(t, s)
	var dials atomic.Int32
	count := kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	})
	err := with(t, s.Broker(1).Advertised(reauth), func(ctx context.Context, cl *kgo.Client) error {
		for start := time.Now(); time.Since(start) < 8*time.Second; time.Sleep(500 * time.Millisecond) {
			if _, err := cl.SeedBrokers()[0].Request(ctx, brokersOnly()); err != nil {
				return err
			}
		}
		return nil
	}, kgo.SASL(right[cluster.SCRAM512]), count)
	if err != nil || dials.Load() != 1 {
		t.Fatalf("%d connections, want 1: %v", dials.Load(), err)
	}
}

// TestFixtureAuthorizer: without any ACL a principal gets in and sees the brokers, and may not ask for their configuration.
func TestFixtureAuthorizer(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			cluster.Need(t, version)
			t.Parallel()
			c := authorizedCluster(t, version)
			turn(t)
			login := kgo.SASL(plain.Auth{User: userName, Pass: userPassword}.AsMechanism())
			wantIn(t, c.Broker(1).Addr(saslPlain), c.IDs(), login)
			if err := describesSelf(t, c.Broker(1).Addr(saslPlain), "1", login); !errors.Is(err, kerr.ClusterAuthorizationFailed) {
				t.Errorf("DescribeConfigs without an ACL: %v, want CLUSTER_AUTHORIZATION_FAILED", err)
			}
			if err := describesSelf(t, c.Broker(1).Addr("PLAINTEXT"), "1"); err != nil {
				t.Errorf("DescribeConfigs by PLAINTEXT: %v", err)
			}
		})
	}
}

// mechanisms are right and wrong logins for every mechanism.
func mechanisms(t *testing.T, s *security) (right, wrong map[string]sasl.Mechanism) {
	t.Helper()
	token := fetchToken(t, s.issuer.Serve(t, "exporter", "client-secret", time.Hour), "client-secret")
	stale, err := s.issuer.Token(oauth.Claims{Lifetime: -time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	good := scram.Auth{User: userName, Pass: userPassword}
	bad := scram.Auth{User: userName, Pass: "wrong"}
	right = map[string]sasl.Mechanism{
		cluster.Plain:       plain.Auth{User: userName, Pass: userPassword}.AsMechanism(),
		cluster.SCRAM256:    good.AsSha256Mechanism(),
		cluster.SCRAM512:    good.AsSha512Mechanism(),
		cluster.OAuthBearer: kgooauth.Auth{Token: token}.AsMechanism(),
		cluster.GSSAPI:      kgokrb.Auth{Client: kerberosClient(t, s), Service: "kafka"}.AsMechanism(),
	}
	wrong = map[string]sasl.Mechanism{
		cluster.Plain:       plain.Auth{User: userName, Pass: "wrong"}.AsMechanism(),
		cluster.SCRAM256:    bad.AsSha256Mechanism(),
		cluster.SCRAM512:    bad.AsSha512Mechanism(),
		cluster.OAuthBearer: kgooauth.Auth{Token: stale}.AsMechanism(),
	}
	return right, wrong
}

// fetchToken asks a token endpoint as RFC 6749 has it.
func fetchToken(t *testing.T, endpoint *oauth.Endpoint, secret string) string {
	t.Helper()
	resp, err := http.PostForm(endpoint.URL, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"exporter"}, "client_secret": {secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Token == "" {
		t.Fatalf("no token (status %d): %v", resp.StatusCode, err)
	}
	return answer.Token
}

// kerberosClient logs in with a keytab; it is nil without a KDC.
func kerberosClient(t *testing.T, s *security) *client.Client {
	t.Helper()
	if s.kdc == nil {
		return nil
	}
	file, err := s.kdc.Keytab(userName)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keytab.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	conf, err := config.Load(s.kdc.ConfigFile)
	if err != nil {
		t.Fatal(err)
	}
	cl := client.NewWithKeytab(userName, kerberos.Realm, keys, conf, client.DisablePAFXFAST(true))
	t.Cleanup(cl.Destroy)
	return cl
}
