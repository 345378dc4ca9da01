//go:build e2e

package nginx

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/need"
	"kafka_connection_exporter/e2e/proc"
)

// Names are as many as three brokers need. They resolve on every machine: resolvers and certificates do not care for upper case, and a
// ClientHello keeps it.
var Names = []string{"localhost", "Localhost", "LOCALHOST"}

const modules = "/usr/lib/nginx/modules/ngx_stream_module.so"

// Start runs nginx at a port of 127.0.0.1 until the test ends, and returns when it listens. Connections that ask for the i-th name go to
// the i-th broker, others are closed. The test is left out if nginx has no stream module.
func Start(t testing.TB, port int, brokers []string) {
	t.Helper()
	path := need.Path(t, "nginx")
	if _, err := os.Stat(modules); err != nil {
		if need.CI() {
			t.Fatalf("CI=true, and nginx has no stream module (Debian: libnginx-mod-stream): %v", err)
		}
		t.Skipf("nginx has no stream module (Debian: libnginx-mod-stream): %v", err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(config(dir, port, brokers)), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(proc.Spec{
		Name: "nginx", Path: path, Args: []string{"-p", dir, "-c", file, "-e", "stderr"}, Dir: dir, Log: filepath.Join(dir, "nginx.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		if t.Failed() {
			t.Logf("nginx's log:\n%s", p.Tail(40))
		}
	})
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp4", addr, time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
		if !p.Running() || time.Now().After(deadline) {
			t.Fatalf("nginx does not listen at %s: %v\n%s", addr, err, p.Tail(40))
		}
	}
}

func config(dir string, port int, brokers []string) string {
	var names strings.Builder
	for i, addr := range brokers {
		// A plain word would be matched whatever its case.
		fmt.Fprintf(&names, "    \"~^%s$\" %s;\n", Names[i], addr)
	}
	return fmt.Sprintf(`load_module %s;
daemon off;
master_process off;
pid %s/nginx.pid;
error_log stderr info;
events { worker_connections 256; }
stream {
  map $ssl_preread_server_name $broker {
%s  }
  server {
    listen 127.0.0.1:%d;
    ssl_preread on;
    proxy_pass $broker;
    proxy_connect_timeout 2s;
  }
}
`, modules, dir, names.String(), port)
}
