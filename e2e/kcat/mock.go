//go:build e2e

package kcat

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/need"
	"kafka_connection_exporter/e2e/proc"
)

// Mock is a mock cluster, which lives inside a kcat that consumes from it.
type Mock struct {
	// Addrs are where the brokers listen, in the order of their ids, which start at 1.
	Addrs []string

	proc *proc.Process
}

var bootstrap = regexp.MustCompile(`Mock cluster \S+ bootstrap\.servers=(\S+)`)

// StartMock runs a mock cluster until the test ends.
func StartMock(t testing.TB, brokers int) *Mock {
	t.Helper()
	var m Mock
	var err error
	m.proc, err = proc.Start(proc.Spec{
		Name: "kcat", Path: need.Path(t, "kcat"), Log: filepath.Join(t.TempDir(), "kcat.log"),
		// kcat insists on -b, which the mock cluster replaces.
		Args: []string{"-C", "-q", "-b", "mock", "-t", "any", "-o", "end",
			"-X", fmt.Sprintf("test.mock.num.brokers=%d", brokers), "-X", "debug=mock"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.proc.Kill() })
	await(t, 10*time.Second, func() error {
		found := bootstrap.FindStringSubmatch(m.proc.Log())
		if found == nil {
			return fmt.Errorf("kcat tells no addresses of a mock cluster:\n%s", m.proc.Tail(20))
		}
		m.Addrs = strings.Split(found[1], ",")
		return nil
	})
	return &m
}

// Kill ends the cluster, all brokers at once.
func (m *Mock) Kill(t testing.TB) {
	t.Helper()
	if err := m.proc.Kill(); err != nil {
		t.Fatal(err)
	}
}
