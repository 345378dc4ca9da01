package app

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/config"
)

// mistake runs the parser and returns the text of the usage error, or "".
func mistake(t *testing.T, args ...string) string {
	t.Helper()
	_, _, _, err := parse(append([]string{"--kafka.seed=a"}, args...), &bytes.Buffer{})
	if err == nil {
		return ""
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
	return err.Error()
}

// TestMistakesNameTheirFlag, whatever is wrong with its value.
func TestMistakesNameTheirFlag(t *testing.T) {
	for _, arg := range []string{
		"--check.interval=5", "--check.interval=0s", "--metadata.hedge-delay=-1s", "--metadata.give-up-after=-1s",
		"--connect.timeout=0s", "--connect.attempt-delay=0s", "--backoff.base=0s", "--backoff.max=0s", "--check.timeout=0s",
		"--handshake.interval=-1s", "--seed.check-interval=-1s", "--broker.retention=0s", "--sasl.retry-interval=0s",
		"--connect.rate=x", "--connect.rate=-1", "--connect.rate=+Inf", "--kafka.brokers-expected=1.5", "--log.format=xml",
		"--tls.min-version=1.1", "--web.telemetry-path=:9308/metrics", "--web.telemetry-path=/", "--web.telemetry-path=/a/../b",
		"--web.telemetry-path=/-/healthy", "--web.telemetry-path=/{x}", "--web.listen-address=19308", "--web.listen-address=vsock://:1",
		"--tls.server-name-override=a", "--tls.server-name-override==a", "--sasl.oauth.extension=a",
	} {
		flag, _, _ := strings.Cut(arg, "=")
		if got := mistake(t, arg); !strings.Contains(got, flag) {
			t.Errorf("%s: %q", arg, got)
		}
	}
}

// TestFloors: an interval that would burn a processor, or flood brokers with requests, is refused, and off stays off.
func TestFloors(t *testing.T) {
	for flag, floor := range map[string]string{
		"metadata.refresh-interval": "10ms", "metadata.hedge-delay": "10ms", "check.interval": "10ms", "handshake.interval": "10ms",
		"seed.check-interval": "10ms", "backoff.base": "1ms", "broker.retention": "1s",
	} {
		limit, err := time.ParseDuration(floor)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []time.Duration{1, limit - 1} {
			want := fmt.Sprintf("--%s is %s, it must be at least %s", flag, value, floor)
			if got := mistake(t, fmt.Sprintf("--%s=%s", flag, value)); !strings.Contains(got, want) {
				t.Errorf("%q, want %s", got, want)
			}
		}
		if got := mistake(t, "--"+flag+"="+floor); got != "" {
			t.Errorf("the least value of --%s: %s", flag, got)
		}
	}
	if got := mistake(t, "--handshake.interval=0s", "--seed.check-interval=0s"); got != "" {
		t.Errorf("off: %s", got)
	}
	if got := mistake(t, "--handshake.interval=1ms"); !strings.HasSuffix(got, "it must be at least 10ms, or 0 for never") {
		t.Errorf("what may be off: %s", got)
	}
}

func TestMistakesAreToldTogether(t *testing.T) {
	got := mistake(t, "--check.timeout=0s", "--connect.rate=0", "--tls.ca-file=x", "--sasl.username=u")
	for _, flag := range []string{"--check.timeout", "--connect.rate", "--tls.ca-file", "--sasl.username"} {
		if !strings.Contains(got, flag) {
			t.Errorf("%s is not in %q", flag, got)
		}
	}
}

// TestFlagsWithoutEffect: every flag of TLS and SASL needs the one that switches it on.
func TestFlagsWithoutEffect(t *testing.T) {
	for _, arg := range []string{
		"--tls.ca-file=x", "--tls.cert-file=x", "--tls.key-file=x", "--tls.server-name=x", "--tls.server-name-override=a=b",
		"--tls.insecure-skip-verify", "--tls.skip-name-verify",
	} {
		if got := mistake(t, arg); !strings.Contains(got, "has no effect without --tls") {
			t.Errorf("%s: %q", arg, got)
		}
	}
	for arg, mechanism := range map[string]string{
		"--sasl.username=x": "gssapi", "--sasl.password-file=x": "oauthbearer", "--sasl.oauth.token-file=x": "plain",
		"--sasl.oauth.token-url=https://x": "plain", "--sasl.oauth.client-id=x": "plain", "--sasl.oauth.client-secret-file=x": "aws_msk_iam",
		"--sasl.oauth.scope=x": "sha256", "--sasl.oauth.extension=a=b": "sha512", "--sasl.oauth.ca-file=x": "plain",
		"--sasl.kerberos.principal=x": "plain", "--sasl.kerberos.realm=x": "plain", "--sasl.kerberos.keytab-file=x": "plain",
	} {
		if got := mistake(t, arg); !strings.Contains(got, "has no effect without --sasl.mechanism") {
			t.Errorf("%s: %q", arg, got)
		}
		if got := mistake(t, arg, "--sasl.mechanism="+mechanism); !strings.Contains(got, "has no effect with --sasl.mechanism=") {
			t.Errorf("%s with %s: %q", arg, mechanism, got)
		}
	}
}

// TestCaseC37SecretsAreNoFlags: a secret on the command line is refused.
// Done: the flags that people try: `--sasl.password`, `--sasl.oauth.token` and the like
// Shows: an error that names the file and the variable to use, without the secret
func TestCaseC37SecretsAreNoFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--sasl.password=hunter2"}, {"--sasl.password", "hunter2"}, {"--sasl.oauth.token=hunter2"},
		{"--sasl.oauth.client-secret", "hunter2"},
	} {
		flag, _, _ := strings.Cut(args[0], "=")
		got := mistake(t, args...)
		if !strings.Contains(got, flag+"-file") || !strings.Contains(got, "variable KAFKA_CONNECTION_EXPORTER_") || strings.Contains(got, "hunter2") {
			t.Errorf("%q: %q", args, got)
		}
	}
	t.Setenv("KAFKA_CONNECTION_EXPORTER_SASL_PASSWORD", "hunter2")
	if got := mistake(t, "--sasl.mechanism=plain", "--sasl.username=u", "--sasl.password-file=x"); !strings.Contains(got, "are both given") {
		t.Errorf("a file and a variable: %q", got)
	}
}

func TestBadEnvironment(t *testing.T) {
	t.Setenv("KAFKA_CONNECTION_EXPORTER_CHECK_INTERVAL", "often")
	if got := mistake(t); !strings.Contains(got, "--check.interval") || !strings.Contains(got, "often") {
		t.Errorf("got %q", got)
	}
}

func TestPairs(t *testing.T) {
	o, _, _, err := parse([]string{"--kafka.seed=a", "--tls", "--tls.server-name-override=A.test=b.test",
		"--tls.server-name-override=::1=c.test", "--tls.server-name-override=a.test=b.test"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"a.test": "b.test", "::1": "c.test"}; !maps.Equal(o.cluster.TLSOptions().ServerNames, want) {
		t.Errorf("got %v, want %v", o.cluster.TLSOptions().ServerNames, want)
	}
	if got := mistake(t, "--tls", "--tls.server-name-override=a=b", "--tls.server-name-override=A=c"); !strings.Contains(got, "twice") {
		t.Errorf("got %q", got)
	}
}

func TestWarnings(t *testing.T) {
	t.Setenv("KAFKA_CONNECTION_EXPORTER_SASL_PASSWORD", "hunter2")
	for args, want := range map[string]int{
		"":                                 0,
		"--tls":                            0,
		"--tls --tls.insecure-skip-verify": 1,
		"--sasl.mechanism=plain":           1,
		"--sasl.mechanism=plain --tls":     0,
		"--sasl.mechanism=scram-sha-512":   0,
		"--sasl.mechanism=oauth":           1,
	} {
		o, _, _, err := parse(slices.Concat([]string{"--kafka.seed=a"}, strings.Fields(args)), &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		if got := o.cluster.Warnings(config.FlagName); len(got) != want {
			t.Errorf("%q: %q", args, got)
		}
	}
}
