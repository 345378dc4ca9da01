package app

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clustersFile writes a configuration file, by rename as one should.
func clustersFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// entry is one cluster of a file.
func entry(name, seed, more string) string {
	return fmt.Sprintf("  - {name: %s, seeds: [%q]%s}\n", name, seed, more)
}

// reload posts a reload and returns the status and the answer.
func (p *process) reload(method string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequest(method, p.url+"/-/reload", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}

// value returns the value of a series.
func (p *process) value(series string) string {
	p.t.Helper()
	_, metrics := p.get("/metrics")
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// TestReload: what changed is what changes, a wrong file changes nothing, and all of it is told.
func TestReload(t *testing.T) {
	a, b := newCluster(t, 2), newCluster(t, 1)
	path := filepath.Join(t.TempDir(), "clusters.yml")
	alpha, beta := entry("alpha", a.addrs[0], ""), entry("beta", b.addrs[0], "")
	clustersFile(t, path, "clusters:\n"+alpha+beta)
	p := start(t, "--config.file="+path, "--web.enable-lifecycle")
	p.wait(`kafka_connection_broker_reachable{broker_id="1",kafka_cluster="alpha"} 1`, `kafka_connection_broker_reachable{broker_id="0",kafka_cluster="beta"} 1`,
		`kafka_connection_clusters 2`, `kafka_connection_config_last_reload_successful 1`, `kafka_connection_shard_info{shard="0",total_shards="1"} 1`)
	attempts := func() string {
		return p.value(`kafka_connection_broker_connection_attempts_total{broker_id="1",kafka_cluster="alpha"}`)
	}
	before := attempts()

	for _, c := range []struct {
		file   string
		status int
		answer string
	}{
		{"# a comment\nclusters:\n" + beta + alpha, 200, "0 added, 0 changed, 0 removed, 2 unchanged"},
		{"clusters:\n" + alpha + entry("gamma", b.addrs[0], ""), 200, "1 added, 0 changed, 1 removed, 1 unchanged"},
		{"clusters:\n" + alpha + entry("gamma", b.addrs[0], ", check: {interval: 2s}"), 200, "0 added, 1 changed, 0 removed, 1 unchanged"},
		{"clusters:\n  - {name: x, seeds: [a], chekc: {interval: 1s}}\n  - {name: x, seeds: []}\n", 400, path + ":2:"},
		{"", 400, path},
	} {
		clustersFile(t, path, c.file)
		if status, answer := p.reload(http.MethodPost); status != c.status || !strings.Contains(answer, c.answer) {
			t.Errorf("%q: %d %s", c.file, status, answer)
		}
	}
	p.wait(`kafka_connection_config_last_reload_successful 0`, `kafka_connection_config_reloads_total{result="failure"} 2`,
		`kafka_connection_config_reloads_total{result="success"} 3`, `kafka_connection_broker_reachable{broker_id="0",kafka_cluster="gamma"} 1`)
	if _, metrics := p.get("/metrics"); strings.Contains(metrics, `kafka_cluster="beta"`) {
		t.Error("a removed cluster is still shown")
	}
	if now := attempts(); now != before {
		t.Errorf("%s connection attempts of an unchanged cluster, were %s", now, before)
	}
	if status, answer := p.get("/-/reload"); status != http.StatusMethodNotAllowed || !strings.Contains(answer, "POST or PUT") {
		t.Errorf("GET: %d %s", status, answer)
	}
	if status, page := p.get("/"); status != http.StatusOK || !strings.Contains(page, "2 clusters") {
		t.Errorf("the landing page: %d %s", status, page)
	}
}

// TestReloadIsOff unless it is switched on; a SIGHUP and a changed file reload all the same.
func TestReloadIsOff(t *testing.T) {
	a := newCluster(t, 1)
	path := filepath.Join(t.TempDir(), "clusters.yml")
	clustersFile(t, path, "clusters:\n"+entry("alpha", a.addrs[0], ""))
	p := start(t, "--config.file="+path, "--config.auto-reload-interval=1s")
	p.wait(`kafka_connection_broker_reachable{broker_id="0",kafka_cluster="alpha"} 1`)
	if status, answer := p.reload(http.MethodPost); status != http.StatusForbidden || !strings.Contains(answer, "--web.enable-lifecycle") {
		t.Errorf("%d %s", status, answer)
	}
	clustersFile(t, path, "clusters:\n"+entry("beta", a.addrs[0], ""))
	p.wait(`kafka_connection_broker_reachable{broker_id="0",kafka_cluster="beta"} 1`, `kafka_connection_clusters 1`)
	clustersFile(t, path, "clusters: [")
	p.wait(`kafka_connection_config_last_reload_successful 0`)
	<-time.After(2500 * time.Millisecond)
	if n := p.value(`kafka_connection_config_reloads_total{result="failure"}`); n != "1" {
		t.Errorf("one wrong file has failed %s times", n)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.wait(`kafka_connection_config_reloads_total{result="failure"} 2`, `kafka_connection_broker_reachable{broker_id="0",kafka_cluster="beta"} 1`)
}

// TestManyReloads of changing files, half of them broken, while it is scraped: unchanged clusters never miss a line, and their counters
// never fall.
func TestManyReloads(t *testing.T) {
	a, b := newCluster(t, 1), newCluster(t, 1)
	path := filepath.Join(t.TempDir(), "clusters.yml")
	alpha := entry("alpha", a.addrs[0], "")
	clustersFile(t, path, "clusters:\n"+alpha)
	p := start(t, "--config.file="+path, "--web.enable-lifecycle")
	p.wait(`kafka_connection_broker_reachable{broker_id="0",kafka_cluster="alpha"} 1`)
	const series = `kafka_connection_broker_connection_attempts_total{broker_id="0",kafka_cluster="alpha"}`
	first := p.value(series)
	for i := range 200 {
		text := "clusters:\n" + alpha
		switch i % 4 {
		case 0:
			text += entry("beta", b.addrs[0], fmt.Sprintf(", check: {interval: %ds}", 1+i%7))
		case 1:
			text += "  - {name: broken\n"
		case 2:
			text = entry("gamma", b.addrs[0], "") // no longer a mapping
		}
		clustersFile(t, path, text)
		if status, answer := p.reload(http.MethodPut); (status == http.StatusOK) != (i%4 == 0 || i%4 == 3) {
			t.Fatalf("%q: %d %s", text, status, answer)
		}
		if n := p.value(series); n != first {
			t.Fatalf("after %d reloads: %q attempts, were %s", i+1, n, first)
		}
	}
	p.wait(`kafka_connection_clusters 1`, `kafka_connection_config_reloads_total{result="failure"} 100`)
}
