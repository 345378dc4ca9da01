//go:build e2e

package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/need"
	"kafka_connection_exporter/wire/wiretest"
)

var waits = regexp.MustCompile(`(?m)^(        for: )\d+m$`)

// rulesFile writes the rules of this repository with another time that alerts wait before they fire.
func rulesFile(t *testing.T, wait string) string {
	t.Helper()
	text, err := os.ReadFile("../alerts/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(waits.FindAll(text, -1)); n < 20 {
		t.Fatalf("only %d alerts wait", n)
	}
	file := filepath.Join(scratch(t), "rules-"+wait+".yml")
	if err := os.WriteFile(file, waits.ReplaceAll(text, []byte("${1}"+wait)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// inbox is what people get: the last notification of each alert at each receiver.
type inbox struct {
	t   *testing.T
	mu  sync.Mutex
	all map[string]notification
}

type notification struct {
	Status              string
	Labels, Annotations map[string]string
}

// ServeHTTP takes Alertmanager's webhooks. The path is the receiver's name.
func (i *inbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var message struct{ Alerts []notification }
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		i.t.Errorf("a webhook: %v", err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, n := range message.Alerts {
		i.all[key(strings.TrimPrefix(r.URL.Path, "/"), n.Labels["alertname"], n.Labels["broker_id"])] = n
	}
}

func key(receiver, alert, broker string) string { return receiver + " " + alert + " " + broker }

// await polls until a receiver's last notification of an alert has this status and holds this text.
func (i *inbox) await(receiver, alert, broker, status, text string) {
	i.t.Helper()
	var last notification
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		i.mu.Lock()
		last = i.all[key(receiver, alert, broker)]
		i.mu.Unlock()
		if last.Status == status && strings.Contains(last.Annotations["description"], text) {
			return
		}
	}
	i.t.Errorf("%s has not got %s of broker %s, %s, with %q; the last is %+v", receiver, alert, broker, status, text, last)
}

// never asserts that nobody was told.
func (i *inbox) never(alert string) {
	i.t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	for k := range i.all {
		if strings.Contains(k, " "+alert+" ") {
			i.t.Errorf("somebody was told: %s", k)
		}
	}
}

// startAlertmanager runs the example of this repository with impatient groups and receivers that lead to the inbox.
func startAlertmanager(t *testing.T) (address string, in *inbox) {
	t.Helper()
	in = &inbox{t: t, all: make(map[string]notification)}
	server := httptest.NewServer(in)
	t.Cleanup(server.Close)
	text, err := os.ReadFile("../alerts/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := regexp.MustCompile(`(group_wait|group_interval): \w+`).ReplaceAllString(string(text), "$1: 1s")
	config = regexp.MustCompile(`(?m)^  - name: (\w+)\n    #.*$`).ReplaceAllString(config,
		"  - name: $1\n    webhook_configs: [{url: \""+server.URL+"/$1\", send_resolved: true}]")
	return startService(t, "prometheus-alertmanager", config, "--storage.path=data", "--cluster.listen-address="), in
}

// quiet are the alerts that are over when all is well. Those that look back over minutes are not, and the certificates of the
// fixture end tomorrow.
const quiet = `ALERTS{kafka_cluster="main", alertname!~"KafkaBroker(HalfOpen|ConnectionFlapping|SlowConnect)|KafkaCertificate.*"}`

// TestAlerts: two exporters in two places, a third one whose cluster is not there, a real Prometheus and a real Alertmanager with
// the example's routes and inhibitions. The right people are told the right thing, once, and that it is over; and every panel of
// the dashboards has something to show.
func TestAlerts(t *testing.T) {
	need.Tool(t, "prometheus", "prometheus-alertmanager")
	c := shared(t, cluster.V44)
	between := badNetwork(t, c, toxic)
	a := enter(t, c.Addrs(scramTLS), trusting(c).and(password(t, cluster.SCRAM512, userName, userPassword)).with(impatient...),
		"--kafka.cluster=main", "--kafka.brokers-expected=3", "--handshake.interval=2s", "--seed.check-interval=2s", "--collector.broker-histograms")
	b := exporter.Start(t, flags([]string{c.Broker(1).Addr(toxic), c.Broker(3).Addr(toxic)}, append(impatient[:2:2], "--kafka.cluster=main")...)...)
	lost := exporter.Start(t, flags([]string{"kafka-0.invalid:9092"}, "--kafka.cluster=elsewhere")...)
	a.WaitFor(settleTimeout, ready(c.IDs()...))
	b.WaitFor(settleTimeout, ready(c.IDs()...))
	alertmanager, in := startAlertmanager(t)
	p := startPrometheus(t, rulesFile(t, "3s"), alertmanager, at("zone-a", a), at("zone-b", b), at("zone-c", lost))
	seen := &album{t: t, p: p, began: time.Now(), filled: make(map[string]bool)}
	p.await(6, `kafka_connection_broker_reachable == 1`)
	p.await(31, `kafka_connection:reason:words`)
	p.await(0, quiet)
	in.await("pager", "KafkaMetadataStale", "", "firing", "Seed kafka-0.invalid:9092: the name")
	in.never("KafkaAllSeedsUnreachable") // the alert that knows more has silenced it
	seen.look("healthy")

	onePlaceFails(t, between, p, in)
	killedAndReplaced(t, c.Broker(2), p, in, seen)

	c.Broker(3).Pause(t)
	in.await("pager", "KafkaBrokerUnreachable", "3", "firing", "From zone-a: there is no answer in time")
	c.Broker(3).Resume(t)
	in.await("pager", "KafkaBrokerUnreachable", "3", "resolved", "")
	p.await(0, quiet)
	seen.look("after")
	seen.wantAllFilled()
}

func onePlaceFails(t *testing.T, between *toxiproxy.Proxy, p *prometheus, in *inbox) {
	between.Stop()
	p.await(1, `ALERTS{alertname="KafkaBrokerUnreachableFromVantage",vantage="zone-b",alertstate="pending"}`)
	in.await("chat", "KafkaBrokerUnreachableFromVantage", "2", "firing", "From zone-b: nothing listens at the port (phase dial, reason refused")
	in.await("chat", "KafkaBrokerUnreachableFromVantage", "2", "firing", "It can be reached from zone-a.")
	if err := between.Start(); err != nil {
		t.Fatal(err)
	}
	in.await("chat", "KafkaBrokerUnreachableFromVantage", "2", "resolved", "")
	in.never("KafkaBrokerUnreachable")
}

// killedAndReplaced: while the broker is dead something else answers at its port. That is another reason and the same alert.
func killedAndReplaced(t *testing.T, victim *cluster.Broker, p *prometheus, in *inbox, seen *album) {
	victim.Kill(t)
	p.await(1, `ALERTS{alertname="KafkaBrokerUnreachable",broker_id="2",alertstate="pending"}`)
	in.await("pager", "KafkaBrokerUnreachable", "2", "firing", "From zone-a: nothing listens at the port")
	in.await("pager", "KafkaBrokerUnreachable", "2", "firing", "1 of the 3 brokers of the cluster cannot be reached from anywhere.")
	p.await(1, `ALERTS{alertname="KafkaBrokersMissing",alertstate="firing"}`)
	began := p.value(`ALERTS_FOR_STATE{alertname="KafkaBrokerUnreachable",broker_id="2"}`)

	l, err := net.Listen("tcp", victim.Addr(scramTLS))
	if err != nil {
		t.Fatal(err)
	}
	wiretest.ServeListener(t, l, wiretest.Says([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")))
	p.await(1, `kafka_connection:broker_failing:described{broker_id="2",vantage="zone-a",reason="peer_speaks_http"}`)
	if now := p.value(`ALERTS_FOR_STATE{alertname="KafkaBrokerUnreachable",broker_id="2"}`); now != began {
		t.Errorf("with another reason the alert began anew, at %s instead of %s", now, began)
	}
	seen.look("broken")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	victim.Start(t)
	in.await("pager", "KafkaBrokerUnreachable", "2", "resolved", "")
	in.never("KafkaBrokersMissing") // the alert that knows more has silenced it
}
