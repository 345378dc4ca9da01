package app

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/exporter-toolkit/web"

	"kafka_connection_exporter/security"
)

// options is everything that flags and the environment say.
type options struct {
	seeds           []string
	cluster         string
	clusterID       string
	clientID        string
	brokersExpected int

	refreshInterval   time.Duration
	hedgeDelay        time.Duration
	giveUpAfter       time.Duration
	connectTimeout    time.Duration
	attemptDelay      time.Duration
	connectRate       float64
	backoffBase       time.Duration
	backoffMax        time.Duration
	checkInterval     time.Duration
	checkTimeout      time.Duration
	handshakeInterval time.Duration
	seedCheckInterval time.Duration
	retention         time.Duration

	tls           bool
	tlsOptions    security.TLSOptions
	tlsMinVersion string
	saslOptions   security.SASLOptions
	secretFiles   secretFiles

	web                    *web.FlagConfig
	telemetryPath          string
	disableExporterMetrics bool
	brokerHistograms       bool
	logLevel, logFormat    string
	configCheck            bool
}

// secretFiles are the flags that name files with secrets. The environment may hold a secret itself instead.
type secretFiles struct {
	password, token, clientSecret string
}

// usageError is a mistake in the flags, as opposed to one in the files or the machine.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

// validate finds values that make no sense, all at once, and fills in what other options imply.
func (o *options) validate() error {
	var all []error
	complain := func(flag, format string, args ...any) {
		all = append(all, fmt.Errorf("--%s %s", flag, fmt.Sprintf(format, args...)))
	}
	for flag, d := range map[string]time.Duration{
		"metadata.refresh-interval": o.refreshInterval, "metadata.hedge-delay": o.hedgeDelay, "connect.timeout": o.connectTimeout,
		"connect.attempt-delay": o.attemptDelay, "backoff.base": o.backoffBase, "backoff.max": o.backoffMax,
		"check.interval": o.checkInterval, "check.timeout": o.checkTimeout, "broker.retention": o.retention,
		"sasl.retry-interval": o.saslOptions.RetryInterval,
	} {
		if d <= 0 {
			complain(flag, "is %s, it must be positive", d)
		}
	}
	for flag, d := range map[string]time.Duration{
		"metadata.give-up-after": o.giveUpAfter, "handshake.interval": o.handshakeInterval, "seed.check-interval": o.seedCheckInterval,
	} {
		if d < 0 {
			complain(flag, "is %s, it must be positive, or 0 for never", d)
		}
	}
	if o.backoffMax < o.backoffBase {
		complain("backoff.max", "is %s, less than --backoff.base, which is %s", o.backoffMax, o.backoffBase)
	}
	if !(o.connectRate > 0) {
		complain("connect.rate", "is %g, it must be positive", o.connectRate)
	}
	if o.brokersExpected < 0 {
		complain("kafka.brokers-expected", "is %d, it must be the number of brokers, or 0 for unknown", o.brokersExpected)
	}
	if p := o.telemetryPath; !strings.HasPrefix(p, "/") || p == "/" || strings.HasPrefix(p, "/-/") || strings.ContainsAny(p, " {}?#") {
		complain("web.telemetry-path", "is %q, it must be a path such as /metrics", p)
	}
	all = append(all, o.validateSecurity())
	if err := joinLine(all...); err != nil {
		return usageError{err}
	}
	return nil
}

// validateSecurity refuses flags that would have no effect, since a security setting that is silently ignored is worse than
// an error.
func (o *options) validateSecurity() error {
	t := o.tlsOptions
	if !o.tls && (t.CAFile != "" || t.CertFile != "" || t.KeyFile != "" || t.ServerName != "" || len(t.ServerNames) > 0 || t.InsecureSkipVerify || t.SkipNameVerify) {
		return errors.New("flags that begin with --tls. have no effect without --tls")
	}
	if o.saslOptions.Mechanism == "" && (o.saslOptions.Username != "" || o.secretFiles.password != "") {
		return errors.New("--sasl.username and --sasl.password-file have no effect without --sasl.mechanism")
	}
	return nil
}

// joinLine joins errors into one that fits on a line; nil ones are left out.
func joinLine(all ...error) error {
	var texts []string
	for _, err := range all {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// secret returns what a file or else an environment variable holds.
func secret(file, variable string) security.Secret {
	if file != "" {
		return security.SecretFile(file)
	}
	if value, ok := os.LookupEnv(variable); ok {
		return security.SecretValue(value)
	}
	return security.Secret{}
}
