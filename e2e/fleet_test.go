//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/need"
)

// company is a file of clusters of two releases, one of them with TLS and SCRAM, and the exporter that watches them.
type company struct {
	*testing.T
	path        string
	main, audit string // entries of the file
	e           *exporter.Exporter
}

const companyDefaults = "defaults: {metadata: {refresh_interval: 2s}, check: {interval: 1s, timeout: 30s}, connect: {timeout: 30s}, backoff: {max: 2s}, handshake: {interval: 0s}}\n"

func newCompany(t *testing.T, main *security, audit *cluster.Cluster) *company {
	t.Helper()
	dir := t.TempDir()
	c := &company{T: t, path: filepath.Join(dir, "clusters.yml")}
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte(userPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.main = fmt.Sprintf("  - {name: main, seeds: [%q], tls: {enabled: true, ca_file: %q}, sasl: {mechanism: SCRAM-SHA-512, username: %s, password_file: password}}\n",
		strings.Join(main.seeds(saslTLS), ","), main.CAFile, userName)
	c.audit = fmt.Sprintf("  - {name: audit, seeds: [%q]}\n", strings.Join(audit.Addrs("PLAINTEXT"), ","))
	return c
}

// write makes the file what these entries say, by rename.
func (c *company) write(entries ...string) {
	c.Helper()
	text := companyDefaults + "clusters:\n" + strings.Join(entries, "")
	if err := os.WriteFile(c.path+".new", []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	if err := os.Rename(c.path+".new", c.path); err != nil {
		c.Fatal(err)
	}
}

// post asks for a reload by HTTP.
func (c *company) post(status int, says string) {
	c.Helper()
	resp, err := http.Post(c.e.URL+"/-/reload", "", nil)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status || !strings.Contains(string(body), says) {
		c.Errorf("the answer to a reload is %d %s (%v), want %d %s", resp.StatusCode, body, err, status, says)
	}
}

// in restricts a condition about brokers to a cluster.
func in(name string, ids ...int) condition {
	return each(ids, func(id int) condition {
		return all(value(1, "broker_reachable", "kafka_cluster", name, "broker_id", strconv.Itoa(id)),
			value(1, "broker_connection_state", "kafka_cluster", name, "broker_id", strconv.Itoa(id), "state", "ready"))
	})
}

// steady wants that the cluster has made no connection since before, and lost no request of its count.
func steady(t *testing.T, before, after exporter.Metrics, name string) {
	t.Helper()
	for _, family := range []string{"broker_connection_attempts_total", "broker_connection_closes_total"} {
		if was, is := before.Sum(family, "kafka_cluster", name), after.Sum(family, "kafka_cluster", name); was != is {
			t.Errorf("%s of %s went from %v to %v", family, name, was, is)
		}
	}
	if was, is := before.Sum("broker_requests_total", "kafka_cluster", name), after.Sum("broker_requests_total", "kafka_cluster", name); is < was {
		t.Errorf("requests of %s fell from %v to %v", name, was, is)
	}
}

// TestSeveralClusters of one file: clusters are added, changed, removed and misspelt, by all three ways to reload, while brokers of another
// one die. The one that nothing is done to has the same sockets at the end, and Prometheus has seen no gap in it and no counter fall.
func TestSeveralClusters(t *testing.T) {
	need.Tool(t, "prometheus")
	audit := shared(t, cluster.V39)
	main := securedCluster(t, cluster.V44)
	c := newCompany(t, main, audit)
	down := "  - {name: down, seeds: [\"127.0.0.1:1\"]}\n"
	c.write(c.main, c.audit, down)
	c.e = exporter.Start(t, "--config.file="+c.path, "--web.enable-lifecycle", "--log.level=debug")
	before := c.e.WaitFor(settleTimeout, all(in("main", main.IDs()...), in("audit", audit.IDs()...), value(3, "clusters"),
		value(1, "seed_failing", "kafka_cluster", "down", "seed", "127.0.0.1:1")))
	steadySockets := c.e.Connections(main.Addrs(saslTLS)...)
	p := startPrometheus(t, rulesFile(t, "2m"), "", at("here", c.e))
	p.await(1, `kafka_connection_up{kafka_cluster="main"} == 1`)

	audit.Broker(2).Kill(t)
	c.write(c.main, c.audit)
	c.post(http.StatusOK, "0 added, 0 changed, 1 removed, 2 unchanged")
	c.write(c.main, strings.Replace(c.audit, "name: audit", "name: audit, check: {interval: 2s}", 1))
	if err := syscall.Kill(c.e.PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	c.e.WaitFor(settleTimeout, all(value(2, "config_reloads_total", "result", "success"), in("audit", 1, 3)))
	c.write(c.main, "  - {name: audit, seds: []}\n")
	c.post(http.StatusBadRequest, "clusters.yml:4:")
	c.write(c.main, c.audit, strings.Replace(c.audit, "audit", "again", 1))
	audit.Broker(2).Start(t)
	c.post(http.StatusOK, "1 added, 1 changed, 0 removed, 1 unchanged")
	after := c.e.WaitFor(settleTimeout, all(in("main", main.IDs()...), in("audit", audit.IDs()...), in("again", audit.IDs()...),
		value(1, "config_last_reload_successful"), value(3, "clusters"), absent("seeds", "kafka_cluster", "down")))

	steady(t, before, after, "main")
	if now := c.e.Connections(main.Addrs(saslTLS)...); fmt.Sprint(now) != fmt.Sprint(steadySockets) {
		t.Errorf("the sockets to main are %v, were %v", now, steadySockets)
	}
	p.await(1, `count_over_time(kafka_connection_up{kafka_cluster="main"}[1m]) >= 5`)
	p.await(0, `resets(kafka_connection_broker_requests_total{kafka_cluster="main"}[1m]) > 0`)
	p.await(0, `min_over_time(kafka_connection_broker_reachable{kafka_cluster="main"}[1m]) < 1`)
	if n := p.value(`count(count by (broker_id) (kafka_connection_broker_reachable{kafka_cluster="main"}))`); n != "3" {
		t.Errorf("Prometheus knows %s brokers of main", n)
	}
}

// TestReloadWithoutLoss: while the file is looked at every second, what is wrong with it changes nothing.
func TestReloadWithoutLoss(t *testing.T) {
	main := beside(t, cluster.V44)
	c := newCompany(t, main, main.Cluster)
	c.write(c.main)
	c.e = exporter.Start(t, "--config.file="+c.path, "--config.auto-reload-interval=1s", "--log.level=debug")
	before := c.e.WaitFor(settleTimeout, all(in("main", main.IDs()...), value(1, "config_last_reload_successful")))
	failures := 0.0
	for what, spoil := range map[string]func() error{
		"an empty file":  func() error { return os.WriteFile(c.path, nil, 0o600) },
		"half a file":    func() error { return os.WriteFile(c.path, []byte("clusters:\n  - {name: ma"), 0o600) },
		"a directory":    func() error { return os.Mkdir(c.path, 0o700) },
		"a symlink loop": func() error { return os.Symlink(c.path, c.path) },
		"no file":        func() error { return nil },
	} {
		if err := os.RemoveAll(c.path); err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		failures++
		c.e.WaitFor(settleTimeout, all(atLeast(failures, "config_reloads_total", "result", "failure"), in("main", main.IDs()...)))
		t.Logf("%s: the old state stays", what)
	}
	if err := os.RemoveAll(c.path); err != nil {
		t.Fatal(err)
	}
	c.write(c.main)
	after := c.e.WaitFor(settleTimeout, value(1, "config_last_reload_successful"))
	steady(t, before, after, "main")
	if !strings.Contains(c.e.Log(), "what was loaded before stays in use") {
		t.Error("the log does not tell that the file was wrong")
	}
}
