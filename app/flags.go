package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	webflag "github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"kafka_connection_exporter/security"
)

const (
	name        = "kafka_connection_exporter"
	description = "Keeps one managed connection to every broker of an Apache Kafka cluster and tells Prometheus which brokers can be reached from here, and why not."
	envPrefix   = "KAFKA_CONNECTION_EXPORTER_"

	defaultTLSVersion  = "1.2"
	defaultServiceName = "kafka"
)

// The variables that hold secrets.
var (
	passwordVariable     = secretVariable("sasl.password-file")
	tokenVariable        = secretVariable("sasl.oauth.token-file")
	clientSecretVariable = secretVariable("sasl.oauth.client-secret-file")
)

// exit is thrown by kingpin's Terminate, for --help and --version, and caught by parse.
type exit struct{ code int }

// parse reads the flags and the environment. done is true when there is nothing left to do but to exit with code.
func parse(args []string, stdout io.Writer) (o *options, done bool, code int, err error) {
	o = &options{}
	parser := newParser(o)
	parser.UsageWriter(stdout).ErrorWriter(stdout)
	defer func() {
		if thrown := recover(); thrown != nil {
			e, ok := thrown.(exit)
			if !ok {
				panic(thrown)
			}
			done, code = true, e.code
		}
	}()
	parser.Terminate(func(code int) { panic(exit{code}) })
	if _, err := parser.Parse(args); err != nil {
		return nil, false, 0, usageError{explain(err)}
	}
	if err := o.complete(); err != nil {
		return nil, false, 0, err
	}
	return o, false, 0, nil
}

// explain adds the way out to kingpin's words.
func explain(err error) error {
	text := err.Error()
	for _, flag := range []string{"--sasl.password", "--sasl.oauth.token", "--sasl.oauth.client-secret"} {
		if strings.Contains(text, "'"+flag+"'") {
			return fmt.Errorf("%s does not exist, because everybody can see flags in the process list: use %s-file or the variable %s",
				flag, flag, secretVariable(flag[len("--"):]))
		}
	}
	return errors.New(text + ", try --help")
}

var tlsVersions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

func newParser(o *options) *kingpin.Application {
	a := kingpin.New(name, description)
	a.DefaultEnvars()
	a.HelpFlag.Short('h').NoEnvar()
	a.Version(version.Print(name))
	a.VersionFlag.NoEnvar()
	o.kafkaFlags(a)
	o.connectionFlags(a)
	o.tlsFlags(a)
	o.saslFlags(a)
	o.outputFlags(a)
	nameErrors(a)
	return a
}

func (o *options) kafkaFlags(a *kingpin.Application) {
	a.Flag("kafka.seed", "Where to find the cluster: host, host:port, [IPv6]:port or PROTOCOL://host:port, as in bootstrap.servers. Repeatable, and a list separated by commas. The default port is 9092.").Required().StringsVar(&o.seeds)
	a.Flag("kafka.cluster", "Name of the cluster, the label kafka_cluster of every metric. Needed as soon as one Prometheus sees two clusters.").StringVar(&o.cluster)
	a.Flag("kafka.cluster-id", "The cluster's own id. Answers of another cluster are rejected. Default: the first one seen.").StringVar(&o.clusterID)
	a.Flag("kafka.client-id", "What the exporter calls itself in requests.").Default(name).StringVar(&o.clientID)
	a.Flag("kafka.brokers-expected", "How many brokers there should be, as a metric to compare with. 0: no metric.").Default("0").Int32Var(&o.brokersExpected)
}

func (o *options) connectionFlags(a *kingpin.Application) {
	a.Flag("metadata.refresh-interval", "Time between refreshes of the list of brokers.").Default("30s").DurationVar(&o.refreshInterval)
	a.Flag("metadata.hedge-delay", "Without an answer for this long, a refresh asks more brokers or seeds.").Default("250ms").DurationVar(&o.hedgeDelay)
	a.Flag("metadata.give-up-after", "Exit with status 1 and a report when no refresh succeeded for this long. 0: never.").Default("0s").DurationVar(&o.giveUpAfter)
	a.Flag("connect.timeout", "For all phases of one connection, from the name to the identity.").Default("10s").DurationVar(&o.connectTimeout)
	a.Flag("connect.attempt-delay", "Head start of one address of a name over the next.").Default("250ms").DurationVar(&o.attemptDelay)
	a.Flag("connect.rate", "New connections per second, over all brokers.").Default("50").Float64Var(&o.connectRate)
	a.Flag("backoff.base", "Wait after the first failed connection or refresh. It doubles with every further failure.").Default("250ms").DurationVar(&o.backoffBase)
	a.Flag("backoff.max", "Longest wait between two attempts, before jitter of 20 % either way.").Default("30s").DurationVar(&o.backoffMax)
	a.Flag("check.interval", "Time between two requests on an open connection.").Default("10s").DurationVar(&o.checkInterval)
	a.Flag("check.timeout", "A connection that is silent for this long is dead.").Default("5s").DurationVar(&o.checkTimeout)
	a.Flag("handshake.interval", "Time between two fresh connections to a broker, which find out whether it accepts new ones. 0: none.").Default("1m").DurationVar(&o.handshakeInterval)
	a.Flag("seed.check-interval", "Time between two checks of a seed. 0: none.").Default("1m").DurationVar(&o.seedCheckInterval)
	a.Flag("broker.retention", "How long a broker that left the cluster is remembered.").Default("24h").DurationVar(&o.retention)
}

func (o *options) tlsFlags(a *kingpin.Application) {
	t := &o.tlsOptions
	a.Flag("tls", "Use TLS.").BoolVar(&o.tls)
	a.Flag("tls.ca-file", "PEM file of the authorities to trust. Default: those of the system. This file and the next two are read again for every new connection.").StringVar(&t.CAFile)
	a.Flag("tls.cert-file", "PEM file of the client's certificate and its chain.").StringVar(&t.CertFile)
	a.Flag("tls.key-file", "PEM file of the client's key, not encrypted.").StringVar(&t.KeyFile)
	a.Flag("tls.server-name", "Name to ask for and to verify in every certificate. Default: the host that is dialed.").StringVar(&t.ServerName)
	a.Flag("tls.server-name-override", "The same for one host: HOST=NAME. Repeatable.").StringsVar(&o.serverNames)
	a.Flag("tls.skip-name-verify", "Verify that a certificate is trusted and valid, but not its name.").BoolVar(&t.SkipNameVerify)
	a.Flag("tls.insecure-skip-verify", "Trust every certificate. An expired one is still reported.").BoolVar(&t.InsecureSkipVerify)
	a.Flag("tls.min-version", "Lowest version of TLS to accept: 1.2 or 1.3.").Default(defaultTLSVersion).EnumVar(&o.tlsMinVersion, "1.2", "1.3")
}

func (o *options) saslFlags(a *kingpin.Application) {
	s, f := &o.saslOptions, &o.secretFiles
	a.Flag("sasl.mechanism", "Authenticate by "+strings.Join(security.Mechanisms(), ", ")+".").StringVar(&s.Mechanism)
	a.Flag("sasl.username", "User of PLAIN and SCRAM.").StringVar(&s.Username)
	a.Flag("sasl.password-file", "File with the password of PLAIN and SCRAM. This file and all others with secrets are read again for every new connection. Instead of it: the variable "+passwordVariable+".").StringVar(&f.password)
	a.Flag("sasl.retry-interval", "After the credentials were rejected, time between two attempts of the whole cluster, or of that broker alone if others accept them. A change of the credential file ends it.").Default("5m").DurationVar(&s.RetryInterval)
	a.Flag("sasl.oauth.token-file", "OAUTHBEARER: file with a token that something else keeps fresh. Instead of it: the variable "+tokenVariable+".").StringVar(&f.token)
	a.Flag("sasl.oauth.token-url", "OAUTHBEARER: endpoint that hands out tokens for client credentials.").StringVar(&s.OAuth.TokenURL)
	a.Flag("sasl.oauth.client-id", "OAUTHBEARER: client id at the token endpoint.").StringVar(&s.OAuth.ClientID)
	a.Flag("sasl.oauth.client-secret-file", "OAUTHBEARER: file with the client secret. Instead of it: the variable "+clientSecretVariable+".").StringVar(&f.clientSecret)
	a.Flag("sasl.oauth.scope", "OAUTHBEARER: scope to ask for. Repeatable.").StringsVar(&s.OAuth.Scopes)
	a.Flag("sasl.oauth.extension", "OAUTHBEARER: extension to send to the broker: KEY=VALUE. Repeatable.").StringsVar(&o.oauthExtensions)
	a.Flag("sasl.oauth.ca-file", "OAUTHBEARER: PEM file of the authorities to trust at the token endpoint. Default: those of the system.").StringVar(&s.OAuth.CAFile)
	a.Flag("sasl.kerberos.service-name", "GSSAPI: first part of the brokers' principals.").Default(defaultServiceName).StringVar(&s.Kerberos.ServiceName)
	a.Flag("sasl.kerberos.principal", "GSSAPI: our principal.").StringVar(&s.Kerberos.Principal)
	a.Flag("sasl.kerberos.realm", "GSSAPI: our realm. Default: that of the principal, else of krb5.conf.").StringVar(&s.Kerberos.Realm)
	a.Flag("sasl.kerberos.keytab-file", "GSSAPI: our keytab.").StringVar(&s.Kerberos.KeytabFile)
	a.Flag("sasl.kerberos.config-file", "GSSAPI: krb5.conf.").Default("/etc/krb5.conf").StringVar(&s.Kerberos.ConfigFile)
}

func (o *options) outputFlags(a *kingpin.Application) {
	o.web = webflag.AddFlags(a, ":19308")
	a.Flag("web.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&o.telemetryPath)
	a.Flag("web.disable-exporter-metrics", "Leave out the metrics about this process itself (go_*, process_*, promhttp_*).").BoolVar(&o.disableExporterMetrics)
	a.Flag("collector.broker-histograms", "Add a histogram of round trips for every broker.").BoolVar(&o.brokerHistograms)
	a.Flag("log.level", fmt.Sprintf("Lowest level to log: %s.", strings.Join(logLevels, ", "))).Default("info").EnumVar(&o.logLevel, logLevels...)
	a.Flag("log.format", fmt.Sprintf("Format of the log: %s.", strings.Join(logFormats, ", "))).Default("logfmt").EnumVar(&o.logFormat, logFormats...)
	a.Flag("config.check", "Check the flags and every file that they name, and exit.").BoolVar(&o.configCheck)
}
