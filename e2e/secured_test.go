//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/freeport"
	"kafka_connection_exporter/e2e/kerberos"
	"kafka_connection_exporter/e2e/need"
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
	guessing   = "GUESSING"   // SASL_PLAINTEXT, PLAIN; a scenario counts the rejections
	typing     = "TYPING"     // SASL_PLAINTEXT, PLAIN; the command check counts the rejections
	calling    = "CALLING"    // SASL_SSL, SCRAM-SHA-512; a scenario counts the rejections
	badName    = "BADNAME"    // PLAINTEXT, broker 2 advertises a name that does not resolve
	badPort    = "BADPORT"    // PLAINTEXT, broker 2 advertises a port where nobody listens
	slow       = "SLOW"       // PLAINTEXT, as the next one
	toxic      = "TOXIC"      // PLAINTEXT, broker 2 advertises a port at which a scenario may put a proxy
)

var allMechanisms = []string{cluster.Plain, cluster.SCRAM256, cluster.SCRAM512, cluster.OAuthBearer, cluster.GSSAPI}

// Users that can log in like userName, one for each scenario that changes a password.
const (
	rotatingUser     = "rotating"
	endingUser       = "ending"
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
	kdcUse  sync.RWMutex
}

// seeds are the brokers by the names that they advertise.
func (s *security) seeds(listener string) []string {
	var seeds []string
	for _, b := range s.Brokers {
		seeds = append(seeds, b.Advertised(listener))
	}
	return seeds
}

// needKDC leaves the test out if there is no KDC because nothing of it is installed.
func (s *security) needKDC(t *testing.T) {
	t.Helper()
	need.Tool(t, kerberos.Tools...)
	if s.kdcErr != nil {
		t.Fatal(s.kdcErr)
	}
}

// withKDC is for a scenario that needs the KDC to be as it should, until its end.
func (s *security) withKDC(t *testing.T) {
	t.Helper()
	s.needKDC(t)
	s.kdcUse.RLock()
	t.Cleanup(s.kdcUse.RUnlock)
}

// spoilKDC is for a scenario that does something to the KDC, which nobody else uses until its end.
func (s *security) spoilKDC(t *testing.T) {
	t.Helper()
	s.needKDC(t)
	s.kdcUse.Lock()
	t.Cleanup(s.kdcUse.Unlock)
}

func (s *security) close(keepLogs bool) string {
	if s.kdc != nil {
		_ = s.kdc.Close()
	}
	return s.Close(keepLogs)
}

var secured = map[string]func() (*security, error){cluster.V44: onceSecured(cluster.V44), cluster.V39: onceSecured(cluster.V39)}

func onceSecured(version string) func() (*security, error) {
	return sync.OnceValues(func() (*security, error) {
		dir, err := scratchDir()
		if err != nil {
			return nil, err
		}
		s, err := openSecured(dir, cluster.Options{Version: version})
		if err == nil {
			closeAtEnd(version+", secured", s.close)
		}
		return s, err
	})
}

// securedCluster returns the secured cluster of a version (4.4.0 or 3.9.2). All scenarios that break no broker share it, side by side.
func securedCluster(t *testing.T, version string) *security {
	t.Helper()
	cluster.Need(t, version)
	s, err := secured[version]()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// beside makes the test parallel, waits for its turn, and returns the secured cluster.
func beside(t *testing.T, version string) *security {
	t.Helper()
	cluster.Need(t, version)
	t.Parallel()
	s := securedCluster(t, version)
	turn(t)
	return s
}

// unbroken makes the test parallel and returns a cluster of any version for a scenario that leaves it as it is.
func unbroken(t *testing.T, version string) *cluster.Cluster {
	t.Helper()
	if secured[version] == nil {
		return shared(t, version)
	}
	return beside(t, version).Cluster
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
	opts.Users = []cluster.User{{Name: userName, Password: userPassword}, {Name: rotatingUser, Password: rotatingPassword}, {Name: endingUser, Password: rotatingPassword}}
	ports, err := freeport.PickN(3)
	if err != nil {
		return nil, err
	}
	opts.Listeners = securedListeners(s.foreign, mechanisms, ports)
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

// securedListeners needs three ports where nobody listens.
func securedListeners(foreign *pki.CA, mechanisms []string, ports []int) []cluster.Listener {
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
		{Name: guessing, Protocol: "SASL_PLAINTEXT", Mechanisms: []string{cluster.Plain}, Advertise: localhost},
		{Name: typing, Protocol: "SASL_PLAINTEXT", Mechanisms: []string{cluster.Plain}, Advertise: localhost},
		{Name: calling, Protocol: "SASL_SSL", Mechanisms: []string{cluster.SCRAM512}, Advertise: localhost},
		{Name: badName, Protocol: "PLAINTEXT", Advertise: onlyBroker(2, unresolvable+":9092")},
		{Name: badPort, Protocol: "PLAINTEXT", Advertise: onlyBroker(2, fmt.Sprintf("127.0.0.1:%d", ports[0]))},
		{Name: slow, Protocol: "PLAINTEXT", Advertise: onlyBroker(2, fmt.Sprintf("127.0.0.1:%d", ports[1]))},
		{Name: toxic, Protocol: "PLAINTEXT", Advertise: onlyBroker(2, fmt.Sprintf("127.0.0.1:%d", ports[2]))},
	}
}

func localhost(_, port int) string { return fmt.Sprintf("localhost:%d", port) }

var authorized = map[string]func() (*cluster.Cluster, error){
	cluster.V44: onceAuthorized(cluster.V44), cluster.V39: onceAuthorized(cluster.V39), cluster.V23: onceAuthorized(cluster.V23),
}

func onceAuthorized(version string) func() (*cluster.Cluster, error) {
	return sync.OnceValues(func() (*cluster.Cluster, error) {
		c, err := cluster.Open(cluster.Options{
			Version: version, Brokers: 1, Authorizer: true,
			Users:     []cluster.User{{Name: userName, Password: userPassword}},
			Listeners: []cluster.Listener{{Name: saslPlain, Protocol: "SASL_PLAINTEXT", Mechanisms: []string{cluster.Plain}}},
		})
		if err == nil {
			closeAtEnd(version+", with authorizer", c.Close)
		}
		return c, err
	})
}

// authorizedCluster is one broker of any version with an authorizer and no ACL, which scenarios share; saslPlain takes PLAIN.
func authorizedCluster(t *testing.T, version string) *cluster.Cluster {
	t.Helper()
	cluster.Need(t, version)
	c, err := authorized[version]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
