//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/freeport"
	"kafka_connection_exporter/e2e/proc"
)

// prometheus is a real Prometheus that scrapes one exporter every second, with the rules of this repository.
type prometheus struct {
	t   *testing.T
	url string
}

const prometheusConfig = `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: kafka_connection
    static_configs: [{targets: [%q]}]
`

func startPrometheus(t *testing.T, target string) *prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal("there is no prometheus (Debian: apt-get install prometheus)")
	}
	rules, err := filepath.Abs("../alerts/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir := scratch(t)
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, prometheusConfig, rules, target), 0o600); err != nil {
		t.Fatal(err)
	}
	port, err := freeport.Pick()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	p, err := proc.Start(proc.Spec{Name: "prometheus", Path: path, Dir: dir, Log: filepath.Join(dir, "prometheus.log"), Args: []string{
		"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return &prometheus{t: t, url: "http://" + address}
}

// query returns the label sets that a query finds.
func (p *prometheus) query(q string) ([]map[string]string, error) {
	resp, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(q))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", q, answer.Error)
	}
	var found []map[string]string
	for _, r := range answer.Data.Result {
		found = append(found, r.Metric)
	}
	return found, nil
}

// await polls a query until it finds n series.
func (p *prometheus) await(n int, q string) []map[string]string {
	p.t.Helper()
	var found []map[string]string
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
		if found, err = p.query(q); err == nil && len(found) == n {
			return found
		}
	}
	p.t.Fatalf("%s finds %v (%v), want %d series", q, found, err, n)
	return nil
}

// TestPrometheus: a real one scrapes without an error, every query of the documentation works, a killed broker becomes an
// alert that says why, and the alert goes when the broker is back.
func TestPrometheus(t *testing.T) {
	c := shared(t, cluster.V44)
	e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"), "--kafka.cluster=main", "--collector.broker-histograms")...)
	e.WaitFor(settleTimeout, ready(c.IDs()...))
	p := startPrometheus(t, strings.TrimPrefix(e.URL, "http://"))
	p.await(1, `up{job="kafka_connection"} == 1`)
	p.await(3, `kafka_connection_broker_reachable{kafka_cluster="main"} == 1`)
	for _, q := range documentedQueries(t) {
		if _, err := p.query(q); err != nil {
			t.Error(err)
		}
	}

	victim := c.Broker(2)
	victim.Kill(t)
	p.await(1, `ALERTS{alertname="KafkaBrokerUnreachable",broker_id="2"}`)
	failing := p.await(1, `kafka_connection_broker_failing{broker_id="2"}`)
	if failing[0]["reason"] != "refused" || failing[0]["phase"] != "dial" {
		t.Errorf("Prometheus says that it fails with %v", failing[0])
	}
	victim.Start(t)
	p.await(0, `ALERTS{alertname="KafkaBrokerUnreachable"}`)
}

// documentedQueries returns every query that a table of README.md or METRICS.md shows.
func documentedQueries(t *testing.T) []string {
	t.Helper()
	quoted := regexp.MustCompile("`([^`]*kafka_connection_[^`]*)`")
	var all []string
	for _, file := range []string{"../README.md", "../METRICS.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			for _, found := range quoted.FindAllStringSubmatch(line, -1) {
				all = append(all, strings.ReplaceAll(found[1], `\|`, "|"))
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d queries are documented", len(all))
	}
	return all
}
