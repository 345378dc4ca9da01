//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
)

// TestScramOverTLS: the right password gets in; a wrong one is named as such, and neither appears anywhere.
func TestScramOverTLS(t *testing.T) {
	c := shared(t, cluster.V44)
	seeds := c.Addrs(scramTLS)
	t.Run("right password", func(t *testing.T) {
		e := exporter.Start(t, flags(seeds, scramFlags(t, c, userPassword)...)...)
		e.WaitFor(settleTimeout, all(ready(c.IDs()...), value(1, "up")))
		for addr, n := range e.Connections(seeds...) {
			if n != 1 {
				t.Errorf("%d connections to %s, want 1", n, addr)
			}
		}
		hidden(t, e, userPassword)
	})
	t.Run("wrong password", func(t *testing.T) {
		const wrong = "wrong-donkey-91Cd"
		e := exporter.Start(t, flags(seeds, scramFlags(t, c, wrong)...)...)
		rejected := func(m exporter.Metrics) error {
			return oneOf(seeds, func(seed string) condition { return seedFailing(seed, []string{"credentials_rejected"}, "sasl") })(m)
		}
		e.WaitFor(settleTimeout, all(rejected, value(0, "up"), absent("broker_reachable")))
		e.Hold(2*time.Second, all(rejected, value(0, "up")))
		hidden(t, e, wrong)
	})
}

// scramFlags are the flags for the listener scramTLS.
func scramFlags(t *testing.T, c *cluster.Cluster, password string) []string {
	t.Helper()
	return []string{
		"--tls", "--tls.ca-file=" + c.CAFile,
		"--sasl.mechanism=SCRAM-SHA-512", "--sasl.username=" + userName, "--sasl.password-file=" + secretFile(t, password),
	}
}

// secretFile holds the secret and the newline that editors put behind it.
func secretFile(t *testing.T, secret string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// hidden fails the test if the secret is in the log, the command line or a page.
func hidden(t *testing.T, e *exporter.Exporter, secret string) {
	t.Helper()
	if strings.Contains(e.Log(), secret) {
		t.Error("the log has the password")
	}
	if strings.Contains(e.CommandLine(), secret) {
		t.Error("the command line has the password")
	}
	for _, path := range []string{"/", "/metrics"} {
		text, _, err := e.Body(path)
		if err != nil || strings.Contains(text, secret) {
			t.Errorf("page %s has the password, or fails: %v", path, err)
		}
	}
}

// oneOf is met when the condition is met for one of the names; its error is the last one.
func oneOf(names []string, f func(string) condition) condition {
	return func(m exporter.Metrics) error {
		var err error
		for _, name := range names {
			if err = f(name)(m); err == nil {
				return nil
			}
		}
		return err
	}
}
