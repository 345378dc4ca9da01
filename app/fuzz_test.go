package app

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"kafka_connection_exporter/config"
	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/security"
)

// fuzzSecret is what the variables hold that may hold secrets, and what no error may.
const fuzzSecret = "correct-horse-battery-staple"

// fuzzFlags are pairs of flags with values.
var fuzzFlags = [][4]string{
	{"kafka.seed", "a:1,[::1]:9092", "check.interval", "5"},
	{"kafka.seed", "SASL_SSL://a", "tls", "true"},
	{"check.timeout", "1h1ms", "backoff.max", "250ms"},
	{"metadata.refresh-interval", "9223372036854775807ns", "backoff.base", "-0s"},
	{"connect.rate", "1e400", "kafka.brokers-expected", "0x7fffffff"},
	{"connect.rate", "NaN", "broker.retention", "0.5ns"},
	{"sasl.mechanism", "plain", "sasl.username", "u"},
	{"sasl.mechanism", "oauth", "sasl.oauth.extension", "logicalCluster=lkc-1"},
	{"sasl.mechanism", "gssapi", "sasl.kerberos.principal", "a/b@C"},
	{"tls", "true", "tls.server-name-override", "[::1]=a"},
	{"tls.min-version", "1.1", "log.level", "loud"},
	{"web.telemetry-path", "/m\x00", "web.listen-address", "[::]"},
}

// flagsOfEnvironment returns the flags that a variable may stand for, and their numbers by name.
func flagsOfEnvironment(f *testing.F) (flags []*kingpin.FlagModel, number map[string]uint8) {
	parser := newParser(&options{})
	if _, err := parser.Parse([]string{"--kafka.seed=a"}); err != nil {
		f.Fatal(err)
	}
	number = make(map[string]uint8)
	for _, flag := range parser.Model().Flags {
		if flag.Envar != "" {
			number[flag.Name] = uint8(len(flags))
			flags = append(flags, flag)
		}
	}
	return flags, number
}

// FuzzFlags: any two values, in flags or in the environment, are refused in words that hold no secret, or make a manager and a
// mechanism: what passes the validation of flags passes all others.
func FuzzFlags(f *testing.F) {
	flags, number := flagsOfEnvironment(f)
	for _, c := range fuzzFlags {
		f.Add(number[c[0]], c[1], number[c[2]], c[3], true)
		f.Add(number[c[0]], c[1], number[c[2]], c[3], false)
	}
	for _, s := range config.Settings() {
		if variable := s.SecretVariable(); variable != "" {
			f.Setenv(variable, fuzzSecret)
		}
	}
	f.Fuzz(func(t *testing.T, one uint8, first string, two uint8, second string, environment bool) {
		var args []string
		seeded := false
		for number, value := range map[int]string{int(one) % len(flags): first, int(two) % len(flags): second} {
			flag := flags[number]
			seeded = seeded || flag.Name == "kafka.seed"
			switch {
			case !environment:
				args = append(args, "--"+flag.Name+"="+value)
			case os.Setenv(flag.Envar, value) == nil: // else no environment can hold it
				defer os.Unsetenv(flag.Envar)
			}
		}
		if !seeded {
			args = append(args, "--kafka.seed=a:1")
		}
		o, done, _, err := parse(args, io.Discard)
		if done {
			return
		}
		if err == nil {
			checkOptions(t, o)
			return
		}
		if text := err.Error(); !errors.As(err, new(usageError)) || text == "" || strings.Contains(text, fuzzSecret) {
			t.Errorf("%q: %v", args, err)
		}
	})
}

// checkOptions makes of valid options what does not read files.
func checkOptions(t *testing.T, o *options) {
	list, err := o.cluster.SeedList()
	if err != nil {
		return
	}
	m, err := manager.New(managerConfig(&o.cluster, list, newDialer(&o.cluster, newDescriptors(0).share())))
	if err != nil {
		t.Errorf("the flags are valid and the manager says %v", err)
		return
	}
	if s := m.Snapshot(); len(s.Seeds) != list.Len() {
		t.Errorf("%d of %d seeds", len(s.Seeds), list.Len())
	}
	if o.cluster.SASL.Mechanism != "" {
		if _, err := security.NewSASL(o.cluster.SASLOptions()); err != nil && strings.Contains(err.Error(), fuzzSecret) {
			t.Errorf("a secret is in %v", err)
		}
	}
	c := &o.cluster
	for _, d := range []time.Duration{c.CheckInterval, c.CheckTimeout, c.ConnectTimeout, c.BackoffBase, c.BackoffMax - c.BackoffBase + 1} {
		if d <= 0 {
			t.Errorf("%+v is valid", o)
		}
	}
}
