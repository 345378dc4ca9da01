package config

import (
	"crypto/tls"
	"slices"
	"strings"
	"time"

	"kafka_connection_exporter/security"
	"kafka_connection_exporter/seeds"
)

// Cluster is everything that can be said about one cluster. It holds the names of files with secrets, never what is in them.
type Cluster struct {
	Name            string
	Seeds           []string // as they were written
	ClusterID       string
	ClientID        string
	BrokersExpected int32

	RefreshInterval   time.Duration
	HedgeDelay        time.Duration
	GiveUpAfter       time.Duration
	ConnectTimeout    time.Duration
	AttemptDelay      time.Duration
	ConnectRate       float64 // per second
	BackoffBase       time.Duration
	BackoffMax        time.Duration
	CheckInterval     time.Duration
	CheckTimeout      time.Duration
	HandshakeInterval time.Duration
	SeedCheckInterval time.Duration
	Retention         time.Duration

	TLS  TLS
	SASL SASL

	Environment Secrets
}

// TLS is how connections are encrypted and who is trusted.
type TLS struct {
	Enabled            bool
	CAFile             string
	CertFile           string
	KeyFile            string
	ServerName         string
	ServerNames        []string // HOST=NAME
	SkipNameVerify     bool
	InsecureSkipVerify bool
	MinVersion         string // 1.2 or 1.3
}

// SASL is how to authenticate. Without a mechanism it is not asked for.
type SASL struct {
	Mechanism     string // in any spelling that security.ParseMechanism accepts
	Username      string
	PasswordFile  string
	RetryInterval time.Duration
	OAuth         OAuth
	Kerberos      Kerberos
}

// OAuth is where bearer tokens come from.
type OAuth struct {
	TokenFile        string
	TokenURL         string
	ClientID         string
	ClientSecretFile string
	Scopes           []string
	Extensions       []string // KEY=VALUE
	CAFile           string
}

// Kerberos is who we are to the Kerberos realm, and who the brokers are.
type Kerberos struct {
	ServiceName string
	Principal   string
	Realm       string
	KeytabFile  string
	ConfigFile  string
}

// Secrets are values out of the environment, which count where no file is named. Only flags know them; a file's clusters
// have none.
type Secrets struct {
	Password     security.Secret
	Token        security.Secret
	ClientSecret security.Secret
}

var tlsVersions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// Secured says how the cluster's connections are protected.
func (c *Cluster) Secured() seeds.Security {
	return seeds.Security{TLS: c.TLS.Enabled, SASL: c.SASL.Mechanism != ""}
}

// SeedList returns the seeds, or what is wrong with them.
func (c *Cluster) SeedList() (seeds.List, error) { return seeds.Parse(c.Seeds, c.Secured()) }

// TLSOptions returns the options of a cluster that Check has nothing against.
func (c *Cluster) TLSOptions() security.TLSOptions {
	t := &c.TLS
	names, _ := pairs(t.ServerNames, strings.ToLower)
	return security.TLSOptions{
		CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile,
		ServerName: t.ServerName, ServerNames: names,
		InsecureSkipVerify: t.InsecureSkipVerify, SkipNameVerify: t.SkipNameVerify,
		MinVersion: tlsVersions[t.MinVersion],
	}
}

// SASLOptions returns the options of a cluster that Check has nothing against.
func (c *Cluster) SASLOptions() security.SASLOptions {
	s, o, k := &c.SASL, &c.SASL.OAuth, &c.SASL.Kerberos
	extensions, _ := pairs(o.Extensions, strings.Clone)
	return security.SASLOptions{
		Mechanism: s.Mechanism, Username: s.Username, Password: secret(s.PasswordFile, c.Environment.Password),
		OAuth: security.OAuthOptions{
			Token: secret(o.TokenFile, c.Environment.Token), TokenURL: o.TokenURL,
			ClientID: o.ClientID, ClientSecret: secret(o.ClientSecretFile, c.Environment.ClientSecret),
			Scopes: o.Scopes, Extensions: extensions, CAFile: o.CAFile,
		},
		Kerberos: security.KerberosOptions{
			ServiceName: k.ServiceName, Principal: k.Principal, Realm: k.Realm, KeytabFile: k.KeytabFile, ConfigFile: k.ConfigFile,
		},
		RetryInterval: s.RetryInterval,
	}
}

func secret(file string, value security.Secret) security.Secret {
	if file != "" {
		return security.SecretFile(file)
	}
	return value
}

// Warnings says what is possible and unwise.
func (c *Cluster) Warnings(name Naming) (all []string) {
	if mechanism, err := security.ParseMechanism(c.SASL.Mechanism); err == nil && !c.TLS.Enabled {
		if mechanism == security.Plain || mechanism == security.OAuthBearer {
			all = append(all, "SASL "+mechanism+" without "+name(tlsEnabled)+" sends the secret in clear text")
		}
	}
	if c.TLS.InsecureSkipVerify {
		all = append(all, name(tlsInsecure)+": anybody between here and the brokers can read along")
	}
	return all
}

// Equal compares what is effective: how it was written, and in what order, plays no part.
func (c *Cluster) Equal(other *Cluster) bool {
	one, two := c.plain(), other.plain()
	return !slices.ContainsFunc(table, func(s *Setting) bool { return !s.sameValue(&one, &two) })
}

// plain writes everything that can be written in several ways in one.
func (c *Cluster) plain() Cluster {
	p := *c
	if list, err := c.SeedList(); err == nil {
		p.Seeds = nil
		for seed := range list.All() {
			p.Seeds = append(p.Seeds, seed.String())
		}
	}
	if mechanism, err := security.ParseMechanism(c.SASL.Mechanism); err == nil {
		p.SASL.Mechanism = mechanism
	}
	for _, s := range table {
		if list, ok := s.field(&p).(*[]string); ok {
			*list = slices.Sorted(slices.Values(*list))
		}
	}
	return p
}
