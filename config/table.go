package config

import (
	"strings"

	"kafka_connection_exporter/security"
)

// clientID is what brokers' logs have for us.
const clientID = "kafka_connection_exporter"

// The settings that others speak of.
var (
	seedSetting = &Setting{
		Flag: "kafka.seed", key: "seeds", own: true, field: func(c *Cluster) any { return &c.Seeds },
		Help:     "Where to find the cluster: host, host:port, [IPv6]:port or PROTOCOL://host:port, as in bootstrap.servers. The default port is 9092.",
		flagHelp: "Where to find the cluster: host, host:port, [IPv6]:port or PROTOCOL://host:port, as in bootstrap.servers. Repeatable, and a list separated by commas. The default port is 9092.",
	}
	nameSetting = &Setting{
		Flag: "kafka.cluster", key: "name", own: true, check: shortText, field: func(c *Cluster) any { return &c.Name },
		Help:     "Name of the cluster, the label kafka_cluster of every metric. Every cluster of the file has another one.",
		flagHelp: "Name of the cluster, the label kafka_cluster of every metric. Needed as soon as one Prometheus sees two clusters.",
	}
	backoffBase = &Setting{
		Flag: "backoff.base", Default: "250ms", check: atLeast(leastBackoff), field: func(c *Cluster) any { return &c.BackoffBase },
		Help: "Wait after the first failed connection or refresh. It doubles with every further failure.",
	}
	backoffMax = &Setting{
		Flag: "backoff.max", Default: "30s", check: atLeast(0), field: func(c *Cluster) any { return &c.BackoffMax },
		Help: "Longest wait between two attempts, before jitter of 20 % either way.",
	}
	tlsEnabled = &Setting{
		Flag: "tls", key: "tls.enabled", field: func(c *Cluster) any { return &c.TLS.Enabled },
		Help: "Use TLS.",
	}
	tlsInsecure = &Setting{
		Flag: "tls.insecure-skip-verify", needs: needsTLS, field: func(c *Cluster) any { return &c.TLS.InsecureSkipVerify },
		Help: "Trust every certificate. An expired one is still reported.",
	}
	saslMechanism = &Setting{
		Flag: "sasl.mechanism", check: knownMechanism, field: func(c *Cluster) any { return &c.SASL.Mechanism },
		Help: "Authenticate by " + strings.Join(security.Mechanisms(), ", ") + ".",
	}
)

// Settings returns the table in the order of --help. Nothing is said about a setting in any other place.
func Settings() []*Setting { return table }

var table = []*Setting{
	seedSetting,
	nameSetting,
	{Flag: "kafka.cluster-id", own: true, check: shortText, field: func(c *Cluster) any { return &c.ClusterID },
		Help: "The cluster's own id. Answers of another cluster are rejected. Default: the first one seen."},
	{Flag: "kafka.client-id", Default: clientID, check: shortText, field: func(c *Cluster) any { return &c.ClientID },
		Help: "What the exporter calls itself in requests."},
	{Flag: "kafka.brokers-expected", Default: "0", check: countOrUnknown, field: func(c *Cluster) any { return &c.BrokersExpected },
		Help: "How many brokers there should be, as a metric to compare with. 0: no metric."},

	{Flag: "metadata.refresh-interval", Default: "30s", check: atLeast(leastInterval), field: func(c *Cluster) any { return &c.RefreshInterval },
		Help: "Time between refreshes of the list of brokers."},
	{Flag: "metadata.hedge-delay", Default: "250ms", check: atLeast(leastInterval), field: func(c *Cluster) any { return &c.HedgeDelay },
		Help: "Without an answer for this long, a refresh asks more brokers or seeds."},
	{Flag: "metadata.give-up-after", Default: "0s", check: atLeastOrNever(0), field: func(c *Cluster) any { return &c.GiveUpAfter },
		Help: "Exit with status 1 and a report when no refresh succeeded for this long. 0: never."},
	{Flag: "connect.timeout", Default: "10s", check: atLeast(0), field: func(c *Cluster) any { return &c.ConnectTimeout },
		Help: "For all phases of one connection, from the name to the identity."},
	{Flag: "connect.attempt-delay", Default: "250ms", check: atLeast(0), field: func(c *Cluster) any { return &c.AttemptDelay },
		Help: "Head start of one address of a name over the next."},
	{Flag: "connect.rate", Default: "50", check: positiveNumber, field: func(c *Cluster) any { return &c.ConnectRate },
		Help: "New connections per second, over all brokers."},
	backoffBase,
	backoffMax,
	{Flag: "check.interval", Default: "10s", check: atLeast(leastInterval), field: func(c *Cluster) any { return &c.CheckInterval },
		Help: "Time between two requests on an open connection."},
	{Flag: "check.timeout", Default: "5s", check: atLeast(0), field: func(c *Cluster) any { return &c.CheckTimeout },
		Help: "A connection that is silent for this long is dead."},
	{Flag: "handshake.interval", Default: "1m", check: atLeastOrNever(leastInterval), field: func(c *Cluster) any { return &c.HandshakeInterval },
		Help: "Time between two fresh connections to a broker, which find out whether it accepts new ones. 0: none."},
	{Flag: "seed.check-interval", Default: "1m", check: atLeastOrNever(leastInterval), field: func(c *Cluster) any { return &c.SeedCheckInterval },
		Help: "Time between two checks of a seed. 0: none."},
	{Flag: "broker.retention", Default: "24h", check: atLeast(leastRetention), field: func(c *Cluster) any { return &c.Retention },
		Help: "How long a broker that left the cluster is remembered."},

	tlsEnabled,
	{Flag: "tls.ca-file", path: true, needs: needsTLS, field: func(c *Cluster) any { return &c.TLS.CAFile },
		Help: "PEM file of the authorities to trust. Default: those of the system. This file and the next two are read again for every new connection."},
	{Flag: "tls.cert-file", path: true, needs: needsTLS, field: func(c *Cluster) any { return &c.TLS.CertFile },
		Help: "PEM file of the client's certificate and its chain."},
	{Flag: "tls.key-file", path: true, needs: needsTLS, field: func(c *Cluster) any { return &c.TLS.KeyFile },
		Help: "PEM file of the client's key, not encrypted."},
	{Flag: "tls.server-name", needs: needsTLS, field: func(c *Cluster) any { return &c.TLS.ServerName },
		Help: "Name to ask for and to verify in every certificate. Default: the host that is dialed."},
	{Flag: "tls.server-name-override", form: "HOST=NAME", check: pairsOf(strings.ToLower), needs: needsTLS, field: func(c *Cluster) any { return &c.TLS.ServerNames },
		Help: "The same for one host: HOST=NAME."},
	{Flag: "tls.skip-name-verify", needs: needsTLS, field: func(c *Cluster) any { return &c.TLS.SkipNameVerify },
		Help: "Verify that a certificate is trusted and valid, but not its name."},
	tlsInsecure,
	{Flag: "tls.min-version", Default: "1.2", Values: []string{"1.2", "1.3"}, needs: needsTLS, field: func(c *Cluster) any { return &c.TLS.MinVersion },
		Help: "Lowest version of TLS to accept: 1.2 or 1.3."},

	saslMechanism,
	{Flag: "sasl.username", needs: needsUser, field: func(c *Cluster) any { return &c.SASL.Username },
		Help: "User of PLAIN and SCRAM."},
	{Flag: "sasl.password-file", path: true, needs: needsUser, field: func(c *Cluster) any { return &c.SASL.PasswordFile },
		secret: func(c *Cluster) *security.Secret { return &c.Environment.Password },
		Help:   "File with the password of PLAIN and SCRAM. This file and all others with secrets are read again for every new connection."},
	{Flag: "sasl.retry-interval", Default: "5m", check: atLeast(0), field: func(c *Cluster) any { return &c.SASL.RetryInterval },
		Help: "After the credentials were rejected, time between two attempts of the whole cluster, or of that broker alone if others accept them. A change of the credential file ends it."},
	{Flag: "sasl.oauth.token-file", path: true, needs: needsOAuth, field: func(c *Cluster) any { return &c.SASL.OAuth.TokenFile },
		secret: func(c *Cluster) *security.Secret { return &c.Environment.Token },
		Help:   "OAUTHBEARER: file with a token that something else keeps fresh."},
	{Flag: "sasl.oauth.token-url", needs: needsOAuth, field: func(c *Cluster) any { return &c.SASL.OAuth.TokenURL },
		Help: "OAUTHBEARER: endpoint that hands out tokens for client credentials."},
	{Flag: "sasl.oauth.client-id", needs: needsOAuth, field: func(c *Cluster) any { return &c.SASL.OAuth.ClientID },
		Help: "OAUTHBEARER: client id at the token endpoint."},
	{Flag: "sasl.oauth.client-secret-file", path: true, needs: needsOAuth, field: func(c *Cluster) any { return &c.SASL.OAuth.ClientSecretFile },
		secret: func(c *Cluster) *security.Secret { return &c.Environment.ClientSecret },
		Help:   "OAUTHBEARER: file with the client secret."},
	{Flag: "sasl.oauth.scope", needs: needsOAuth, field: func(c *Cluster) any { return &c.SASL.OAuth.Scopes },
		Help: "OAUTHBEARER: scope to ask for."},
	{Flag: "sasl.oauth.extension", form: "KEY=VALUE", check: pairsOf(strings.Clone), needs: needsOAuth, field: func(c *Cluster) any { return &c.SASL.OAuth.Extensions },
		Help: "OAUTHBEARER: extension to send to the broker: KEY=VALUE."},
	{Flag: "sasl.oauth.ca-file", path: true, needs: needsOAuth, field: func(c *Cluster) any { return &c.SASL.OAuth.CAFile },
		Help: "OAUTHBEARER: PEM file of the authorities to trust at the token endpoint. Default: those of the system."},
	{Flag: "sasl.kerberos.service-name", Default: "kafka", needs: needsKerberos, field: func(c *Cluster) any { return &c.SASL.Kerberos.ServiceName },
		Help: "GSSAPI: first part of the brokers' principals."},
	{Flag: "sasl.kerberos.principal", needs: needsKerberos, field: func(c *Cluster) any { return &c.SASL.Kerberos.Principal },
		Help: "GSSAPI: our principal."},
	{Flag: "sasl.kerberos.realm", needs: needsKerberos, field: func(c *Cluster) any { return &c.SASL.Kerberos.Realm },
		Help: "GSSAPI: our realm. Default: that of the principal, else of krb5.conf."},
	{Flag: "sasl.kerberos.keytab-file", path: true, needs: needsKerberos, field: func(c *Cluster) any { return &c.SASL.Kerberos.KeytabFile },
		Help: "GSSAPI: our keytab."},
	{Flag: "sasl.kerberos.config-file", Default: "/etc/krb5.conf", path: true, field: func(c *Cluster) any { return &c.SASL.Kerberos.ConfigFile },
		Help: "GSSAPI: krb5.conf."},
}
