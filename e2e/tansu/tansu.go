//go:build e2e

package tansu

import (
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/freeport"
	"kafka_connection_exporter/e2e/proc"
)

var binary = flag.String("tansu", "", "Tansu's binary; without it the one that \"make tansu\" has built, if there is one")

// Start runs one broker until the test ends, and returns the address that it advertises. It keeps what it is told in memory. Without a
// binary the test is left out.
func Start(t testing.TB) string {
	t.Helper()
	path := find(t)
	port, err := freeport.Pick()
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("localhost:%d", port)
	p, err := proc.Start(proc.Spec{
		Name: "tansu", Path: path, Log: filepath.Join(t.TempDir(), "tansu.log"),
		Args: []string{"broker", "--listener-url", fmt.Sprintf("tcp://127.0.0.1:%d", port), "--advertised-listener-url", "tcp://" + addr,
			"--storage-engine", "memory://tansu/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		if t.Failed() {
			t.Logf("Tansu's log:\n%s", p.Tail(40))
		}
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp4", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err == nil {
			_ = conn.Close()
			return addr
		}
		if !p.Running() || time.Now().After(deadline) {
			t.Fatalf("Tansu does not listen at %s: %v\n%s", addr, err, p.Tail(40))
		}
	}
}

func find(t testing.TB) string {
	t.Helper()
	if *binary != "" {
		return *binary
	}
	_, file, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(file), "..", "..", ".cache", "tansu", "bin", "tansu")
	if _, err := os.Stat(path); err != nil {
		t.Skip("there is no Tansu: \"make tansu\" builds it in 8 minutes, or give -tansu PATH")
	}
	return path
}
