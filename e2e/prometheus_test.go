//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/freeport"
	"kafka_connection_exporter/e2e/need"
	"kafka_connection_exporter/e2e/proc"
)

// prometheus is a real Prometheus that scrapes every second.
type prometheus struct {
	t   *testing.T
	url string
}

const prometheusConfig = `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: kafka_connection
    static_configs:
`

// vantage is where an exporter stands, and its address.
type vantage struct{ name, address string }

// at returns where an exporter can be scraped, in the place with this name.
func at(name string, e *exporter.Exporter) vantage {
	return vantage{name, strings.TrimPrefix(e.URL, "http://")}
}

// startPrometheus runs the rules in the file on what these exporters show, and tells the Alertmanager if there is one.
func startPrometheus(t *testing.T, rules, alertmanager string, exporters ...vantage) *prometheus {
	t.Helper()
	config := fmt.Sprintf(prometheusConfig, rules)
	for _, e := range exporters {
		config += fmt.Sprintf("      - {targets: [%q], labels: {vantage: %q}}\n", e.address, e.name)
	}
	if alertmanager != "" {
		config += fmt.Sprintf("alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}\n", alertmanager)
	}
	return &prometheus{t: t, url: "http://" + startService(t, "prometheus", config, "--storage.tsdb.path=data")}
}

// startService runs one of Prometheus' servers with a configuration in a folder of its own, and returns its address.
func startService(t *testing.T, name, config string, args ...string) (address string) {
	t.Helper()
	path := need.Path(t, name)
	dir, err := os.MkdirTemp(scratch(t), name)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	port, err := freeport.Pick()
	if err != nil {
		t.Fatal(err)
	}
	address = fmt.Sprintf("127.0.0.1:%d", port)
	args = append([]string{"--config.file=" + file, "--web.listen-address=" + address}, args...)
	p, err := proc.Start(proc.Spec{Name: name, Path: path, Dir: dir, Log: filepath.Join(dir, name+".log"), Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, p.Tail(20))
		}
	})
	return address
}

// series is one result of a query.
type series struct {
	Metric map[string]string
	Value  [2]any // time and, as text, value
}

// query returns what an instant query finds.
func (p *prometheus) query(q string) (found []series, err error) {
	if err = p.get("/api/v1/query?query="+url.QueryEscape(q), &found); err != nil {
		err = fmt.Errorf("%s: %w", q, err)
	}
	return found, err
}

// get asks Prometheus' API and reads the result.
func (p *prometheus) get(path string, result any) error {
	resp, err := http.Get(p.url + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          struct{ Result any }
	}{}
	answer.Data.Result = result
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return errors.New(answer.Error)
	}
	return nil
}

// value returns the value of the one series that a query finds.
func (p *prometheus) value(q string) string {
	p.t.Helper()
	return fmt.Sprint(p.await(1, q)[0].Value[1])
}

// await polls a query until it finds n series.
func (p *prometheus) await(n int, q string) []series {
	p.t.Helper()
	var found []series
	var err error
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
		if found, err = p.query(q); err == nil && len(found) == n {
			return found
		}
	}
	p.t.Fatalf("%s finds %v (%v), want %d series", q, found, err, n)
	return nil
}

// TestPrometheus: a real one scrapes without an error, every query of the documentation works, and a killed broker becomes an
// alert that waits for its time, and goes when the broker is back.
func TestPrometheus(t *testing.T) {
	need.Tool(t, "prometheus")
	c := shared(t, cluster.V44)
	e := exporter.Start(t, flags(c.Addrs("PLAINTEXT"), "--kafka.cluster=main", "--collector.broker-histograms")...)
	e.WaitFor(settleTimeout, ready(c.IDs()...))
	p := startPrometheus(t, rulesFile(t, "2m"), "", at("here", e))
	p.await(1, `up{job="kafka_connection"} == 1`)
	p.await(3, `kafka_connection_broker_reachable{kafka_cluster="main"} == 1`)
	for _, q := range documentedQueries(t) {
		if _, err := p.query(q); err != nil {
			t.Error(err)
		}
	}

	victim := c.Broker(2)
	victim.Kill(t)
	p.await(1, `ALERTS{alertname="KafkaBrokerUnreachable",broker_id="2",alertstate="pending"}`)
	failing := p.await(1, `kafka_connection_broker_failing{broker_id="2"}`)
	if failing[0].Metric["reason"] != "refused" || failing[0].Metric["phase"] != "dial" {
		t.Errorf("Prometheus says that it fails with %v", failing[0].Metric)
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
