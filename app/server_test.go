package app

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// The hash of "open".
const webUsers = "basic_auth_users:\n  prometheus: $2a$04$4zV52kfvI2txsJKl9jswlOto7zoTHSPR4doOlXYyxdXycuoVT0gJG\n"

// TestTwoListenersWithPasswords: the toolkit changes the server that it is given, so each listener needs its own.
func TestTwoListenersWithPasswords(t *testing.T) {
	config := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(config, []byte(webUsers), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "--kafka.seed=127.0.0.1:1", "--web.listen-address=127.0.0.1:0", "--web.config.file="+config)
	all := regexp.MustCompile(`"Listening on" address=(\S+)`)
	var urls [][]string
	for deadline := time.Now().Add(10 * time.Second); len(urls) < 2 && time.Now().Before(deadline); {
		urls = all.FindAllStringSubmatch(p.log.String(), -1)
	}
	if len(urls) != 2 {
		t.Fatalf("it listens on %q:\n%s", urls, p.log)
	}
	for _, url := range urls {
		for password, want := range map[string]int{"": 401, "shut": 401, "open": 200} {
			req, err := http.NewRequest(http.MethodGet, "http://"+url[1]+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.SetBasicAuth("prometheus", password)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s with %q: %d, want %d", url[1], password, resp.StatusCode, want)
			}
		}
	}
}

// TestOneBusyPortOfTwo: the free one is not kept either.
func TestOneBusyPortOfTwo(t *testing.T) {
	p := start(t, "--kafka.seed=127.0.0.1:1")
	busy := strings.TrimPrefix(p.url, "http://")
	free := wiretest.ClosedPort(t)
	var stderr bytes.Buffer
	args := []string{"--kafka.seed=127.0.0.1:1", "--web.listen-address=127.0.0.1:" + strconv.Itoa(free), "--web.listen-address=" + busy}
	if code := Run(t.Context(), args, io.Discard, &stderr); code != statusFail || !strings.Contains(stderr.String(), busy) {
		t.Errorf("status %d: %s", code, &stderr)
	}
	l, err := tcpListeners([]string{"127.0.0.1:" + strconv.Itoa(free)})
	if err != nil {
		t.Fatal(err)
	}
	l[0].Close()
}

func TestOtherTelemetryPath(t *testing.T) {
	p := start(t, "--kafka.seed=127.0.0.1:1", "--web.telemetry-path=/kafka/metrics", "--web.disable-exporter-metrics")
	code, metrics := p.get("/kafka/metrics")
	if code != 200 || !strings.Contains(metrics, "kafka_connection_seeds") {
		t.Errorf("%d\n%s", code, metrics)
	}
	for _, name := range []string{"\ngo_", "\nprocess_", "\npromhttp_"} {
		if strings.Contains(metrics, name) {
			t.Errorf("%q is there", name)
		}
	}
	if code, _ := p.get("/metrics"); code != 404 {
		t.Errorf("/metrics: %d", code)
	}
	if _, page := p.get("/"); !strings.Contains(page, "kafka/metrics") {
		t.Errorf("the landing page leads nowhere:\n%s", page)
	}
}

// TestCaseC37SecretsStayInside: a marker from the environment is in no log line at debug and on no page.
// Done: the password comes from the environment, the log is at debug level
// Shows: it is in no log line and on no page; without TLS there is a warning
func TestCaseC37SecretsStayInside(t *testing.T) {
	t.Setenv("KAFKA_CONNECTION_EXPORTER_SASL_PASSWORD", "hunter2")
	c := newCluster(t, 1)
	p := start(t, "--kafka.seed="+c.addrs[0], "--sasl.mechanism=PLAIN", "--sasl.username=u", "--log.level=debug")
	metrics := p.wait(`kafka_connection_up{kafka_cluster=""} 0`)
	_, page := p.get("/")
	if text := metrics + page + p.log.String(); strings.Contains(text, "hunter2") {
		t.Errorf("the password is in:\n%s", text)
	}
	if !strings.Contains(p.log.String(), "without --tls sends the secret in clear text") {
		t.Errorf("no warning:\n%s", p.log)
	}
}

// TestStopsInTime with connections under way that nobody answers.
func TestStopsInTime(t *testing.T) {
	blackhole := "127.0.0.1:" + strconv.Itoa(wiretest.BlackholePort(t))
	p := start(t, "--kafka.seed="+blackhole)
	began := time.Now()
	p.stop()
	code := <-p.code
	p.code <- code
	if took := time.Since(began); code != 0 || took > 5*time.Second {
		t.Errorf("status %d after %s:\n%s", code, took, p.log)
	}
}
