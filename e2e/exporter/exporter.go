//go:build e2e

package exporter

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/freeport"
	"kafka_connection_exporter/e2e/proc"
)

const (
	tick         = 80 * time.Millisecond
	serveTimeout = 60 * time.Second
	stopTimeout  = 5 * time.Second
	tailLines    = 60
)

// shortExit makes the race detector wait less than its second for late findings when the exporter ends.
const shortExit = "GORACE=atexit_sleep_ms=100"

// Exporter is one running exporter.
type Exporter struct {
	// URL is where it serves, without a path.
	URL string
	// Serving is how long it took from the start of the process to the first answered scrape.
	Serving time.Duration
	// Slowest is the longest that a scrape has taken so far.
	Slowest time.Duration

	t         testing.TB
	proc      *proc.Process
	client    *http.Client
	forbidden []string
	stopped   bool
}

// Start runs the exporter with the flags (besides --web.listen-address) and returns when it serves. When the test ends it gets SIGTERM and
// must exit 0 within 5 s; the race detector makes any other exit of it. Its log is kept if the test failed.
func Start(t testing.TB, flags ...string) *Exporter {
	t.Helper()
	return StartEnv(t, nil, flags...)
}

// StartEnv is Start with environment variables, written NAME=value.
func StartEnv(t testing.TB, env []string, flags ...string) *Exporter {
	t.Helper()
	path, err := Binary()
	if err != nil {
		t.Fatal(err)
	}
	port, err := freeport.Pick()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "exporter-run-")
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	e := &Exporter{URL: "http://" + addr, t: t, client: &http.Client{Timeout: 20 * time.Second}}
	begin := time.Now()
	e.proc, err = proc.Start(proc.Spec{
		Name: "exporter", Path: path, Env: append([]string{shortExit}, env...), Dir: dir, Log: filepath.Join(dir, "exporter.log"),
		Args: append([]string{"--web.listen-address=" + addr}, flags...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.end(dir) })
	e.awaitServing()
	e.Serving = time.Since(begin)
	return e
}

// PID is the id of the process.
func (e *Exporter) PID() int { return e.proc.PID() }

// Running says whether the process has not ended.
func (e *Exporter) Running() bool { return e.proc.Running() }

// Log is everything that the exporter has written to its standard output and error.
func (e *Exporter) Log() string { return e.proc.Log() }

// CommandLine is what ps shows.
func (e *Exporter) CommandLine() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.PID()))
	if err != nil {
		e.t.Fatal(err)
	}
	return string(text)
}

// Pause sends SIGSTOP, Resume sends SIGCONT.
func (e *Exporter) Pause() { e.signal(syscall.SIGSTOP) }

// Resume undoes Pause.
func (e *Exporter) Resume() { e.signal(syscall.SIGCONT) }

// Stop sends SIGTERM and fails the test unless the process exits 0 within 5 s.
func (e *Exporter) Stop() {
	e.t.Helper()
	if e.stopped {
		return
	}
	e.stopped = true
	if !e.proc.Running() {
		e.t.Errorf("the exporter ended by itself with status %d:\n%s", e.proc.ExitCode(), e.proc.Tail(tailLines))
		return
	}
	if err := e.proc.Terminate(stopTimeout); err != nil {
		e.t.Errorf("SIGTERM: %v:\n%s", err, e.proc.Tail(tailLines))
		_ = e.proc.Kill()
		return
	}
	if code := e.proc.ExitCode(); code != 0 {
		e.t.Errorf("the exporter's exit status after SIGTERM is %d, want 0:\n%s", code, e.proc.Tail(tailLines))
	}
}

func (e *Exporter) end(dir string) {
	e.lookForSecrets()
	e.Stop()
	e.inspect("the log", e.Log())
	if strings.Contains(e.Log(), "DATA RACE") {
		e.t.Error("the race detector has found something")
	}
	if e.t.Failed() || os.Getenv("KAFKA_E2E_KEEP") != "" {
		e.t.Logf("log of the exporter: %s/exporter.log", dir)
		return
	}
	_ = os.RemoveAll(dir)
}

func (e *Exporter) signal(sig syscall.Signal) {
	e.t.Helper()
	if err := e.proc.Signal(sig); err != nil {
		e.t.Fatal(err)
	}
}

func (e *Exporter) awaitServing() {
	e.t.Helper()
	var err error
	for deadline := time.Now().Add(serveTimeout); time.Now().Before(deadline); time.Sleep(tick) {
		if !e.proc.Running() {
			e.t.Fatalf("the exporter ended with status %d instead of serving:\n%s", e.proc.ExitCode(), e.proc.Tail(tailLines))
		}
		if _, err = e.scrape(); err == nil {
			return
		}
	}
	e.t.Fatalf("the exporter does not serve %s/metrics within %v: %v\n%s", e.URL, serveTimeout, err, e.proc.Tail(tailLines))
}
