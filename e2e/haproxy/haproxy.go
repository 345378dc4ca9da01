//go:build e2e

package haproxy

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/freeport"
	"kafka_connection_exporter/e2e/need"
	"kafka_connection_exporter/e2e/proc"
)

// Frontends are the addresses where clients come in.
type Frontends struct {
	// Bootstrap leads to any broker that is well.
	Bootstrap string
	// Brokers lead to one broker each, in the order of their ids.
	Brokers []string
}

// Pick chooses free addresses, for brokers that must advertise them before HAProxy runs.
func Pick(brokers int) (Frontends, error) {
	ports, err := freeport.PickN(brokers + 1)
	if err != nil {
		return Frontends{}, err
	}
	var f Frontends
	for _, port := range ports[1:] {
		f.Brokers = append(f.Brokers, fmt.Sprintf("127.0.0.1:%d", port))
	}
	f.Bootstrap = fmt.Sprintf("127.0.0.1:%d", ports[0])
	return f, nil
}

// Checks say what a health check is.
type Checks string

const (
	// Connect is HAProxy's own: the port accepts.
	Connect Checks = ""
	// Ask wants an answer to ApiVersions version 0.
	Ask Checks = "  option tcp-check\n" +
		"  tcp-check connect\n" +
		"  tcp-check send-binary 0000000e00120000000000070004" + "68617078\n" + // client id "hapx", correlation id 7
		"  tcp-check expect binary 000000070000\n" // correlation id 7, no error
)

// Start runs HAProxy before the brokers, in the order of their ids, until the test ends, and returns when it listens. A broker is down
// after two checks that failed, half a second apart, and its connections are ended then.
func Start(t testing.TB, f Frontends, brokers []string, checks Checks) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config(f, brokers, checks)), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(proc.Spec{
		Name: "haproxy", Path: need.Path(t, "haproxy"), Args: []string{"-db", "-f", file}, Dir: dir, Log: filepath.Join(dir, "haproxy.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		if t.Failed() {
			t.Logf("HAProxy's log:\n%s", p.Tail(40))
		}
	})
	deadline := time.Now().Add(10 * time.Second)
	for _, addr := range append([]string{f.Bootstrap}, f.Brokers...) {
		for !listens(addr) {
			if !p.Running() || time.Now().After(deadline) {
				t.Fatalf("HAProxy does not listen at %s:\n%s", addr, p.Tail(40))
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

func config(f Frontends, brokers []string, checks Checks) string {
	const server = "  server b%d %s check inter 500 fall 2 rise 1 on-marked-down shutdown-sessions\n"
	var b strings.Builder
	b.WriteString("global\n  maxconn 500\n  stats timeout 10s\n" +
		"defaults\n  mode tcp\n  timeout connect 2s\n  timeout check 1s\n  timeout client 60s\n  timeout server 60s\n  retries 1\n")
	fmt.Fprintf(&b, "listen bootstrap\n  bind %s\n  balance roundrobin\n%s", f.Bootstrap, checks)
	for i, addr := range brokers {
		fmt.Fprintf(&b, server, i+1, addr)
	}
	for i, addr := range brokers {
		fmt.Fprintf(&b, "listen broker%d\n  bind %s\n%s"+server, i+1, f.Brokers[i], checks, i+1, addr)
	}
	return b.String()
}

func listens(addr string) bool {
	conn, err := net.DialTimeout("tcp4", addr, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
