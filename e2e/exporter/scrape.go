//go:build e2e

package exporter

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Body returns the body of a page and its status.
func (e *Exporter) Body(path string) (string, int, error) {
	resp, err := e.client.Get(e.URL + path)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	e.inspect("page "+path, string(text))
	return string(text), resp.StatusCode, err
}

// Scrape reads /metrics, and fails the test if it cannot, or if a failure has the reason "other".
func (e *Exporter) Scrape() Metrics {
	e.t.Helper()
	m, err := e.scrape()
	if err != nil {
		e.t.Fatalf("%v\n%s", err, e.proc.Tail(tailLines))
	}
	for _, name := range []string{"broker_failing", "seed_failing"} {
		for _, s := range m.Find(name, "reason", "other") {
			e.t.Fatalf("a failure without a reason: %v\n%s", s, e.proc.Tail(tailLines))
		}
	}
	return m
}

// WaitFor scrapes twelve times a second until cond returns nil, and returns that scrape. When timeout passes it fails the test with the last error
// of cond, the last scrape and the end of the log.
func (e *Exporter) WaitFor(timeout time.Duration, cond func(Metrics) error) Metrics {
	e.t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(tick) {
		m := e.Scrape()
		err := cond(m)
		if err == nil {
			return m
		}
		if time.Now().After(deadline) {
			e.t.Fatalf("after %v: %v\n--- metrics\n%s--- log\n%s", timeout, err, brief(m), e.proc.Tail(tailLines))
		}
	}
}

// Hold scrapes twelve times a second for as long as duration says, and fails the test as soon as cond returns an error.
func (e *Exporter) Hold(duration time.Duration, cond func(Metrics) error) Metrics {
	e.t.Helper()
	var m Metrics
	start := time.Now()
	for ; time.Since(start) < duration; time.Sleep(tick) {
		m = e.Scrape()
		if err := cond(m); err != nil {
			e.t.Fatalf("after %v of %v: %v\n--- metrics\n%s--- log\n%s", time.Since(start), duration, err, brief(m), e.proc.Tail(tailLines))
		}
	}
	return m
}

func (e *Exporter) scrape() (Metrics, error) {
	start := time.Now()
	text, status, err := e.Body("/metrics")
	e.Slowest = max(e.Slowest, time.Since(start))
	if err != nil {
		return Metrics{}, fmt.Errorf("scrape: %w", err)
	}
	if status != http.StatusOK {
		return Metrics{}, fmt.Errorf("scrape: status %d: %s", status, text)
	}
	return Parse(bytes.NewBufferString(text))
}

// brief leaves out the samples that say nothing: zeroes of closed sets.
func brief(m Metrics) string {
	var b strings.Builder
	for line := range strings.Lines(m.String()) {
		set := strings.Contains(line, "_total{") || strings.Contains(line, `state="`) || strings.Contains(line, "_count{") ||
			strings.Contains(line, "_sum{")
		if !set || !strings.HasSuffix(line, " 0\n") {
			b.WriteString(line)
		}
	}
	return b.String()
}
