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
	brokersExpected int32

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

	tls             bool
	tlsOptions      security.TLSOptions
	tlsMinVersion   string
	serverNames     []string // HOST=NAME
	saslOptions     security.SASLOptions
	oauthExtensions []string // KEY=VALUE
	secretFiles     secretFiles

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

// complete turns what was parsed into what is used, and checks it. The error is a usageError that names every mistake.
func (o *options) complete() error {
	o.tlsOptions.MinVersion = tlsVersions[o.tlsMinVersion]
	var errs [5]error
	o.saslOptions.Password, errs[0] = secret("sasl.password-file", o.secretFiles.password)
	o.saslOptions.OAuth.Token, errs[1] = secret("sasl.oauth.token-file", o.secretFiles.token)
	o.saslOptions.OAuth.ClientSecret, errs[2] = secret("sasl.oauth.client-secret-file", o.secretFiles.clientSecret)
	o.tlsOptions.ServerNames, errs[3] = pairs("tls.server-name-override", "HOST=NAME", strings.ToLower, o.serverNames)
	o.saslOptions.OAuth.Extensions, errs[4] = pairs("sasl.oauth.extension", "KEY=VALUE", strings.Clone, o.oauthExtensions)
	if err := errors.Join(append(o.mistakes(), errs[:]...)...); err != nil {
		return usageError{errors.New(oneLine(err))}
	}
	return nil
}

// secret returns what the file behind a flag, or else the variable of the same name without _FILE, holds.
func secret(flag, file string) (security.Secret, error) {
	variable := secretVariable(flag)
	value := os.Getenv(variable)
	switch {
	case file == "":
		return security.SecretValue(value), nil
	case value != "":
		return security.Secret{}, fmt.Errorf("--%s and the variable %s are both given, remove one", flag, variable)
	}
	return security.SecretFile(file), nil
}

func secretVariable(flag string) string {
	words := strings.NewReplacer(".", "_", "-", "_").Replace(strings.TrimSuffix(flag, "-file"))
	return envPrefix + strings.ToUpper(words)
}

// pairs splits at the first equals sign, and not at a colon as kingpin does: hosts may be IPv6 addresses.
func pairs(flag, form string, fold func(string) string, list []string) (map[string]string, error) {
	all := make(map[string]string, len(list))
	for _, text := range list {
		key, value, _ := strings.Cut(text, "=")
		key = fold(strings.TrimSpace(key))
		if key == "" || value == "" {
			return nil, fmt.Errorf("--%s=%q must have the form %s", flag, text, form)
		}
		if other, twice := all[key]; twice && other != value {
			return nil, fmt.Errorf("--%s names %q twice, as %q and %q", flag, key, other, value)
		}
		all[key] = value
	}
	return all, nil
}
