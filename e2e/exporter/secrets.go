//go:build e2e

package exporter

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// pages are all that the exporter serves.
var pages = []string{"/", "/metrics", "/-/healthy", "/-/ready"}

// Forbid names secrets that must not appear on the command line, on any page, or in the log, which is read to its last line once the
// exporter has ended. Where one does, the test fails.
func (e *Exporter) Forbid(secrets ...string) {
	e.t.Helper()
	for _, secret := range secrets {
		if len(secret) < 8 {
			e.t.Fatalf("%q is too short to be looked for", secret)
		}
		e.forbidden = append(e.forbidden, secret)
	}
	if e.Running() {
		e.inspect("the command line", e.CommandLine())
	}
}

// lookForSecrets reads every page once.
func (e *Exporter) lookForSecrets() {
	e.t.Helper()
	if len(e.forbidden) == 0 || !e.Running() {
		return
	}
	for _, path := range pages {
		if _, _, err := e.Body(path); err != nil {
			e.t.Errorf("page %s: %v", path, err)
		}
	}
}

func (e *Exporter) inspect(where, text string) {
	e.t.Helper()
	for _, secret := range e.forbidden {
		if strings.Contains(text, secret) {
			e.t.Errorf("%s has the secret %q", where, secret)
		}
	}
}

// Check runs the exporter with --config.check, the environment and the flags, and fails the test unless it exits 0 and tells none of the secrets.
func Check(t testing.TB, secrets, env, flags []string) {
	t.Helper()
	path, err := Binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"--config.check"}, flags...)...)
	cmd.Env = append(append(os.Environ(), shortExit), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("--config.check: %v\n%s", err, out)
	}
	for _, secret := range secrets {
		if strings.Contains(string(out), secret) {
			t.Errorf("--config.check tells the secret %q:\n%s", secret, out)
		}
	}
}
