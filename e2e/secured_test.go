//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/kerberos"
	"kafka_connection_exporter/e2e/oauth"
	"kafka_connection_exporter/e2e/pki"
)

// Listeners of a secured cluster besides PLAINTEXT. They advertise localhost, which is in the good certificates and in the Kerberos principal.
const (
	sslOnly    = "SSLONLY"    // TLS
	mutualTLS  = "MUTUALTLS"  // TLS, client certificate required
	mutual12   = "MUTUAL12"   // the same with TLS 1.2
	saslPlain  = "SASLPLAIN"  // SASL_PLAINTEXT, all mechanisms
	saslTLS    = "SASLTLS"    // SASL_SSL, all mechanisms
	plainOnly  = "PLAINONLY"  // SASL_PLAINTEXT, PLAIN alone
	changing   = "CHANGING"   // SASL_PLAINTEXT, SCRAM-SHA-512; a scenario changes the password of rotatingUser
	reauth     = "REAUTH"     // SASL_PLAINTEXT, sessions of 5 s
	expired    = "EXPIRED"    // TLS, certificate of the past
	wrongName  = "WRONGNAME"  // TLS, certificate for another host
	foreignTLS = "FOREIGNTLS" // TLS, certificate of another CA
	rotating   = "ROTATING"   // TLS, client certificate required; a scenario changes its certificates
	ending     = "ENDING"     // TLS; a scenario lets its certificate end
)

var allMechanisms = []string{cluster.Plain, cluster.SCRAM256, cluster.SCRAM512, cluster.OAuthBearer, cluster.GSSAPI}

// rotatingUser can log in like userName; a scenario changes its password and leaves the first one behind.
const (
	rotatingUser     = "rotating"
	rotatingPassword = "battery-staple-7Kq3"
)

// lateBroker lets clients with wrong credentials wait for the answer, longer than the 100 ms of the others.
const (
	lateBroker = 3
	lateBy     = 1200 * time.Millisecond
)

// security is a cluster with every listener, and what a client needs to get in. Without MIT Kerberos on the machine kdc is nil, kdcErr
// says so, and no listener offers GSSAPI.
type security struct {
	*cluster.Cluster
	issuer  *oauth.Issuer
	foreign *pki.CA // of the listener foreignTLS
	kdc     *kerberos.KDC
	kdcErr  error
}

// seeds are the brokers by the names that they advertise.
func (s *security) seeds(listener string) []string {
	var seeds []string
	for _, b := range s.Brokers {
		seeds = append(seeds, b.Advertised(listener))
	}
	return seeds
}

// needKDC fails the test if there is no KDC.
func (s *security) needKDC(t *testing.T) {
	t.Helper()
	if s.kdcErr != nil {
		t.Fatal(s.kdcErr)
	}
}

func (s *security) close(keepLogs bool) string {
	if s.kdc != nil {
		_ = s.kdc.Close()
	}
	return s.Close(keepLogs)
}

var secured = map[string]*security{}

// securedCluster returns the secured cluster of a version (4.4.0 or 3.9.2) that all scenarios of ways in share; it is healed first.
func securedCluster(t *testing.T, version string) *security {
	t.Helper()
	if s := secured[version]; s != nil {
		if err := s.Heal(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, err := openSecured(scratch(t), cluster.Options{Version: version})
	if err != nil {
		t.Fatal(err)
	}
	secured[version] = s
	return s
}

// openSecured starts an issuer, a KDC and a cluster that knows both; their files are in a new folder below parent.
func openSecured(parent string, opts cluster.Options) (*security, error) {
	dir, err := os.MkdirTemp(parent, "secured-")
	if err != nil {
		return nil, err
	}
	var s security
	if s.issuer, err = oauth.New(dir); err != nil {
		return nil, err
	}
	mechanisms := allMechanisms
	if s.kdc, s.kdcErr = kerberos.Open(dir); errors.Is(s.kdcErr, kerberos.ErrMissing) {
		mechanisms = slices.DeleteFunc(slices.Clone(mechanisms), func(m string) bool { return m == cluster.GSSAPI })
	} else if s.kdcErr != nil {
		return nil, s.kdcErr
	}
	if s.foreign, err = pki.NewCA("somebody else"); err != nil {
		return nil, err
	}
	opts.OAuth, opts.KDC = s.issuer, s.kdc
	opts.Users = []cluster.User{{Name: userName, Password: userPassword}, {Name: rotatingUser, Password: rotatingPassword}}
	opts.Listeners = securedListeners(s.foreign, mechanisms)
	opts.BrokerConfig = func(id int) map[string]string {
		if id != lateBroker {
			return nil
		}
		return map[string]string{"connection.failed.authentication.delay.ms": strconv.Itoa(int(lateBy.Milliseconds()))}
	}
	if s.Cluster, err = cluster.Open(opts); err != nil && s.kdc != nil {
		_ = s.kdc.Close()
	}
	return &s, err
}

func securedListeners(foreign *pki.CA, mechanisms []string) []cluster.Listener {
	past := &pki.Leaf{CommonName: "old", Hosts: []string{"localhost"}, NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().Add(-time.Hour)}
	session := map[string]string{}
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512", "oauthbearer"} {
		session[mechanism+".connections.max.reauth.ms"] = "5000"
	}
	return []cluster.Listener{
		{Name: sslOnly, Protocol: "SSL", Advertise: localhost},
		{Name: mutualTLS, Protocol: "SSL", ClientAuth: true, Advertise: localhost},
		{Name: mutual12, Protocol: "SSL", ClientAuth: true, Advertise: localhost, Config: map[string]string{"ssl.enabled.protocols": "TLSv1.2"}},
		{Name: saslPlain, Protocol: "SASL_PLAINTEXT", Mechanisms: mechanisms, Advertise: localhost},
		{Name: saslTLS, Protocol: "SASL_SSL", Mechanisms: mechanisms, Advertise: localhost},
		{Name: plainOnly, Protocol: "SASL_PLAINTEXT", Mechanisms: []string{cluster.Plain}, Advertise: localhost},
		{Name: changing, Protocol: "SASL_PLAINTEXT", Mechanisms: []string{cluster.SCRAM512}, Advertise: localhost},
		{Name: reauth, Protocol: "SASL_PLAINTEXT", Mechanisms: allMechanisms[:4], Advertise: localhost, Config: session},
		{Name: expired, Protocol: "SSL", Leaf: past, Advertise: localhost},
		{Name: wrongName, Protocol: "SSL", Leaf: &pki.Leaf{CommonName: "b.test", Hosts: []string{"b.test"}}, Advertise: localhost},
		{Name: foreignTLS, Protocol: "SSL", CA: foreign, Advertise: localhost},
		{Name: rotating, Protocol: "SSL", ClientAuth: true, Advertise: localhost},
		{Name: ending, Protocol: "SSL", Advertise: localhost},
	}
}

func localhost(_, port int) string { return fmt.Sprintf("localhost:%d", port) }

var authorized = map[string]*cluster.Cluster{}

// authorizedCluster is one broker of any version with an authorizer and no ACL, which scenarios share; saslPlain takes PLAIN.
func authorizedCluster(t *testing.T, version string) *cluster.Cluster {
	t.Helper()
	if c := authorized[version]; c != nil {
		return c
	}
	c, err := cluster.Open(cluster.Options{
		Version: version, Brokers: 1, Authorizer: true,
		Users:     []cluster.User{{Name: userName, Password: userPassword}},
		Listeners: []cluster.Listener{{Name: saslPlain, Protocol: "SASL_PLAINTEXT", Mechanisms: []string{cluster.Plain}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	authorized[version] = c
	return c
}
