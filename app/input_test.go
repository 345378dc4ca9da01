package app

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/exporter-toolkit/web"
)

// badFiles are what the command lines of badInputs name.
type badFiles struct{ missing, empty, web, busy string }

type badInput struct {
	name string
	args []string
	code int
	says string
}

func badInputs(f badFiles) []badInput {
	sasl := []string{"--sasl.mechanism=plain", "--sasl.username=u"}
	return []badInput{
		{"no seed", []string{}, 2, "--kafka.seed"},
		{"unknown flag", []string{"--kafka.sed=a"}, 2, "--kafka.sed"},
		{"bad seeds, all of them", []string{"--kafka.seed=a:0,b:x"}, 2, `"b:x"`},
		{"scheme against flags", []string{"--kafka.seed=SSL://a:1"}, 2, "SSL"},
		{"no duration", []string{"--kafka.seed=a", "--check.interval=5"}, 2, "5"},
		{"negative duration", []string{"--kafka.seed=a", "--check.timeout=-1s"}, 2, "--check.timeout"},
		{"zero interval", []string{"--kafka.seed=a", "--metadata.refresh-interval=0s"}, 2, "--metadata.refresh-interval"},
		{"maximum below base", []string{"--kafka.seed=a", "--backoff.max=1ms"}, 2, "--backoff.max"},
		{"no rate", []string{"--kafka.seed=a", "--connect.rate=0"}, 2, "--connect.rate"},
		{"rate that is no number", []string{"--kafka.seed=a", "--connect.rate=NaN"}, 2, "--connect.rate"},
		{"negative brokers", []string{"--kafka.seed=a", "--kafka.brokers-expected=-1"}, 2, "--kafka.brokers-expected"},
		{"cluster that is no text", []string{"--kafka.seed=a", "--kafka.cluster=\xff"}, 2, "--kafka.cluster"},
		{"long client id", []string{"--kafka.seed=a", "--kafka.client-id=" + strings.Repeat("x", 40000)}, 2, "--kafka.client-id"},
		{"TLS version without TLS", []string{"--kafka.seed=a", "--tls.min-version=1.3"}, 2, "--tls"},
		{"Kerberos flag without Kerberos", append([]string{"--kafka.seed=a", "--sasl.kerberos.service-name=x"}, sasl...), 2, "--sasl.kerberos.service-name"},
		{"telemetry path", []string{"--kafka.seed=a", "--web.telemetry-path=metrics"}, 2, "--web.telemetry-path"},
		{"log level", []string{"--kafka.seed=a", "--log.level=loud"}, 2, "loud"},
		{"TLS flag without TLS", []string{"--kafka.seed=a", "--tls.ca-file=x"}, 2, "--tls"},
		{"certificate without key", []string{"--kafka.seed=a", "--tls", "--tls.cert-file=x"}, 2, "key"},
		{"password without mechanism", []string{"--kafka.seed=a", "--sasl.password-file=x"}, 2, "--sasl.mechanism"},
		{"unknown mechanism", []string{"--kafka.seed=a", "--sasl.mechanism=md5"}, 2, "SCRAM-SHA-512"},
		{"no user", []string{"--kafka.seed=a", "--sasl.mechanism=plain"}, 2, "user"},
		{"password as a flag", append([]string{"--kafka.seed=a", "--sasl.password=hunter2"}, sasl...), 2, "--sasl.password-file"},
		{"missing password file", append([]string{"--kafka.seed=a", "--sasl.password-file=" + f.missing}, sasl...), 1, f.missing},
		{"empty password file", append([]string{"--kafka.seed=a", "--sasl.password-file=" + f.empty}, sasl...), 1, f.empty},
		{"missing CA file", []string{"--kafka.seed=a", "--tls", "--tls.ca-file=" + f.missing}, 1, f.missing},
		{"empty CA file", []string{"--kafka.seed=a", "--tls", "--tls.ca-file=" + f.empty}, 1, f.empty},
		{"missing web config", []string{"--kafka.seed=a", "--web.config.file=" + f.missing}, 1, f.missing},
		{"bad web config", []string{"--kafka.seed=a", "--web.config.file=" + f.web}, 1, "web.yml"},
		{"busy port", []string{"--kafka.seed=a", "--web.listen-address=" + f.busy}, 1, f.busy},
		{"no address", []string{"--kafka.seed=a", "--web.listen-address=nowhere"}, 2, "nowhere"},
		{"a flag about a cluster and a file", []string{"--kafka.seed=a", "--config.file=x"}, 2, "--kafka.seed cannot be given together with --config.file"},
		{"reloading too often", []string{"--config.file=x", "--config.auto-reload-interval=1ms"}, 2, "at least 1s"},
		{"a shard that is none", []string{"--config.file=x", "--shard=2", "--total-shards=2"}, 2, "--shard is 2"},
		{"no shards", []string{"--config.file=x", "--total-shards=0"}, 2, "--total-shards"},
		{"a shard without a file", []string{"--kafka.seed=a", "--total-shards=2"}, 2, "--total-shards has no effect without --config.file"},
		{"no systemd", []string{"--kafka.seed=a", "--web.systemd-socket"}, 1, "systemd"},
	}
}

// TestBadInput: one line that names the thing, the right status, nothing started.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, c := range badInputs(badFiles{
		missing: filepath.Join(dir, "missing"), empty: file("empty", ""),
		web: file("web.yml", "tls_server_config: {cert_file: x}"), busy: busy.Addr().String(),
	}) {
		t.Run(c.name, func(t *testing.T) {
			for _, check := range []bool{false, true} {
				args := c.args
				if check && strings.Contains(c.name, "config") {
					args = append([]string{"--config.check"}, args...)
				}
				var stdout, stderr bytes.Buffer
				code := Run(t.Context(), args, &stdout, &stderr)
				text := stderr.String()
				if code != c.code || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, name+": error: ") || !strings.Contains(text, c.says) {
					t.Errorf("status %d, want %d and one line with %q:\n%s", code, c.code, c.says, text)
				}
				if strings.Contains(text, "hunter2") || stdout.Len() > 0 {
					t.Errorf("a secret, or something on stdout: %s%s", text, &stdout)
				}
			}
		})
	}
}

func TestConfigCheck(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"--config.check", "--kafka.seed=a", "--web.config.file=../web-config.yml"}, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Errorf("status %d: %s", code, &stderr)
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, flag := range []string{"--help", "-h", "--version"} {
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), []string{flag}, &stdout, &stderr); code != 0 || stdout.Len()+stderr.Len() == 0 {
			t.Errorf("%s: status %d, %d bytes", flag, code, stdout.Len()+stderr.Len())
		}
	}
}

// TestWebConfigExample: the example is valid as it stands, and every line of it that is commented out is known.
func TestWebConfigExample(t *testing.T) {
	if err := web.Validate("../web-config.yml"); err != nil {
		t.Error(err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("KAFKA_CONNECTION_EXPORTER_KAFKA_SEED", "a:1,b:2")
	t.Setenv("KAFKA_CONNECTION_EXPORTER_CHECK_INTERVAL", "3s")
	t.Setenv("KAFKA_CONNECTION_EXPORTER_SASL_PASSWORD", "hunter2")
	t.Setenv("KAFKA_CONNECTION_EXPORTER_VERSION", "1.2.3") // as an image may set it; it is no flag's
	o, done, _, err := parse([]string{"--sasl.mechanism=scram-sha-512", "--sasl.username=u"}, &bytes.Buffer{})
	if err != nil || done || o.cluster.CheckInterval.Seconds() != 3 || len(o.cluster.Seeds) != 1 || !o.cluster.SASLOptions().Password.IsSet() {
		t.Errorf("%+v, %v, %v", o, done, err)
	}
	parser := newParser(&options{})
	if _, err := parser.Parse(nil); err != nil {
		t.Fatal(err)
	}
	for _, f := range parser.Model().Flags {
		if want := "KAFKA_CONNECTION_EXPORTER_" + strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToUpper(f.Name)); f.Envar != want && f.Name != "help" && f.Name != "version" && !strings.HasPrefix(f.Name, "help-") && !f.Hidden {
			t.Errorf("--%s has the variable %q, want %s", f.Name, f.Envar, want)
		}
	}
}
