//go:build e2e

package cluster

import (
	"fmt"
	"slices"
	"strings"

	"kafka_connection_exporter/e2e/kerberos"
	"kafka_connection_exporter/e2e/oauth"
	"kafka_connection_exporter/e2e/pki"
)

// The versions that can be started. V23 comes with ZooKeeper, and without TLS (it reads no PEM) and any SASL mechanism but PLAIN.
const (
	V44 = "4.4.0"
	V39 = "3.9.2"
	V23 = "2.3.1"
)

// Plaintext is the listener that every broker has and that the brokers use among themselves.
const Plaintext = "PLAINTEXT"

// SASL mechanisms by their Kafka names.
const (
	Plain       = "PLAIN"
	SCRAM256    = "SCRAM-SHA-256"
	SCRAM512    = "SCRAM-SHA-512"
	OAuthBearer = "OAUTHBEARER"
	GSSAPI      = "GSSAPI"
)

// Options describes a cluster.
type Options struct {
	// Version is one of the constants above.
	Version string
	// Brokers is their number, with ids from 1; 0 means 3.
	Brokers int
	// Listeners are added to PLAINTEXT.
	Listeners []Listener
	// Users can log in by PLAIN and SCRAM, on every listener that has the mechanism.
	Users []User
	// CA signs the certificates of the listeners; nil makes one.
	CA *pki.CA
	// OAuth is needed by listeners with OAUTHBEARER.
	OAuth *oauth.Issuer
	// KDC is needed by listeners with GSSAPI.
	KDC *kerberos.KDC
	// Authorizer turns ACLs on: PLAINTEXT may do everything, anybody else only what an ACL allows.
	Authorizer bool
	// Config is set on every broker and wins over what the fixture would set.
	Config map[string]string
	// BrokerConfig, if not nil, is asked for each broker and wins over Config.
	BrokerConfig func(id int) map[string]string
}

// User is a name and a password.
type User struct {
	Name     string
	Password string
}

// Listener is one more way into every broker.
type Listener struct {
	// Name is upper case, as in listener.security.protocol.map.
	Name string
	// Protocol is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
	Protocol string
	// Mechanisms are offered by a SASL protocol.
	Mechanisms []string
	// ClientAuth makes a client certificate of the cluster's CA a must.
	ClientAuth bool
	// Leaf, if not nil, replaces the certificate for localhost and 127.0.0.1 that is valid for a day.
	Leaf *pki.Leaf
	// CA, if not nil, signs the certificate instead of the cluster's.
	CA *pki.CA
	// Advertise, if not nil, is given the id and the port of a broker and returns the host:port that it advertises instead of the one it
	// listens on; "" keeps that.
	Advertise func(id, port int) string
	// Config has further keys without the prefix listener.name.<name>.
	Config map[string]string
}

func (l Listener) tls() bool  { return strings.HasSuffix(l.Protocol, "SSL") }
func (l Listener) sasl() bool { return strings.HasPrefix(l.Protocol, "SASL") }

func (l Listener) offers(mechanism string) bool {
	return l.sasl() && slices.Contains(l.Mechanisms, mechanism)
}

// filled is a copy of the options with defaults set, or the first mistake in them.
func (o Options) filled() (Options, error) {
	if !slices.Contains([]string{V44, V39, V23}, o.Version) {
		return o, fmt.Errorf("cluster: unknown Kafka version %q", o.Version)
	}
	if o.Brokers == 0 {
		o.Brokers = 3
	}
	for _, l := range o.Listeners {
		switch {
		case o.Version == V23 && (l.tls() || slices.ContainsFunc(l.Mechanisms, func(m string) bool { return m != Plain })):
			return o, fmt.Errorf("cluster: listener %s: Kafka %s is run without TLS, and with PLAIN only", l.Name, V23)
		case l.sasl() && len(l.Mechanisms) == 0:
			return o, fmt.Errorf("cluster: listener %s has no SASL mechanism", l.Name)
		case l.offers(OAuthBearer) && o.OAuth == nil:
			return o, fmt.Errorf("cluster: listener %s offers OAUTHBEARER and Options.OAuth is nil", l.Name)
		case l.offers(GSSAPI) && o.KDC == nil:
			return o, fmt.Errorf("cluster: listener %s offers GSSAPI and Options.KDC is nil", l.Name)
		}
	}
	o.Listeners = append([]Listener{{Name: Plaintext, Protocol: "PLAINTEXT"}}, o.Listeners...)
	return o, nil
}
