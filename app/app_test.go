package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// process is the program, run in this process on a free port.
type process struct {
	t    testing.TB
	url  string
	log  *syncBuffer
	stop context.CancelFunc
	code chan int
}

type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
	w    io.Writer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(p)
	if b.w != nil {
		_, _ = b.w.Write(p)
	}
	return len(p), nil
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

var listening = regexp.MustCompile(`"Listening on" address=(\S+)|"address":"([^"]+)".*"Listening on"`)

// start runs the program with args until the test ends and waits until it listens.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	read, write := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	p := &process{t: t, log: &syncBuffer{w: write}, stop: stop, code: make(chan int, 1)}
	go func() {
		p.code <- Run(ctx, append([]string{"--web.listen-address=127.0.0.1:0"}, args...), io.Discard, p.log)
		_ = write.Close()
	}()
	lines := bufio.NewScanner(read)
	for p.url == "" && lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			p.url = "http://" + found[1] + found[2]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	if p.url == "" {
		t.Fatalf("it does not listen:\n%s", p.log)
	}
	t.Cleanup(func() {
		stop()
		if code := <-p.code; code != 0 {
			t.Errorf("it ended with status %d:\n%s", code, p.log)
		}
	})
	return p
}

// get returns the status and the body of a page.
func (p *process) get(path string) (int, string) {
	p.t.Helper()
	resp, err := http.Get(p.url + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// wait polls the metrics until all lines are there.
func (p *process) wait(lines ...string) string {
	p.t.Helper()
	var metrics string
	var missing error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		_, metrics = p.get("/metrics")
		if missing = hasLines(metrics, lines); missing == nil {
			return metrics
		}
		<-time.After(20 * time.Millisecond)
	}
	p.t.Fatalf("%v\n%s\n%s", missing, metrics, p.log)
	return ""
}

func hasLines(text string, lines []string) error {
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			return errors.New("missing: " + line)
		}
	}
	return nil
}

// cluster is n scripted brokers on loopback.
type cluster struct {
	*wiretest.Cluster
	brokers []*wiretest.Broker
	addrs   []string
}

func newCluster(t *testing.T, n int) *cluster {
	c := &cluster{Cluster: wiretest.NewCluster("cluster-a")}
	for id := range int32(n) {
		b := wiretest.NewBroker(id, c.Cluster, wiretest.Modern)
		addr := fmt.Sprintf("127.0.0.1:%d", wiretest.Listen(t, b.Serve))
		c.Set(id, addr)
		c.brokers, c.addrs = append(c.brokers, b), append(c.addrs, addr)
	}
	return c
}

func TestRun(t *testing.T) {
	c := newCluster(t, 2)
	p := start(t, "--kafka.seed="+c.addrs[0]+","+c.addrs[1], "--kafka.cluster=main", "--kafka.brokers-expected=3", "--handshake.interval=0s")
	p.wait(
		`kafka_connection_up{kafka_cluster="main"} 1`,
		`kafka_connection_brokers{kafka_cluster="main"} 2`,
		`kafka_connection_brokers_expected{kafka_cluster="main"} 3`,
		`kafka_connection_cluster_info{cluster_id="cluster-a",kafka_cluster="main"} 1`,
		`kafka_connection_broker_reachable{broker_id="0",kafka_cluster="main"} 1`,
		`kafka_connection_broker_reachable{broker_id="1",kafka_cluster="main"} 1`,
		`kafka_connection_broker_references{broker_id="1",kafka_cluster="main"} 1`,
		`kafka_connection_broker_open_connections{broker_id="1",kafka_cluster="main"} 1`,
		`kafka_connection_broker_connection_state{broker_id="1",kafka_cluster="main",state="ready"} 1`,
		`kafka_connection_seed_reachable{kafka_cluster="main",seed="`+c.addrs[1]+`"} 1`,
	)
	for path, want := range map[string]int{"/": 200, "/-/healthy": 200, "/-/ready": 200, "/metrics": 200, "/nothing": 404, "/debug/pprof/": 404} {
		if code, body := p.get(path); code != want {
			t.Errorf("%s: %d, want %d\n%s", path, code, want, body)
		}
	}
	if _, page := p.get("/"); !strings.Contains(page, "/metrics") || !strings.Contains(page, "/-/ready") {
		t.Errorf("the landing page leads nowhere:\n%s", page)
	}
	if _, metrics := p.get("/metrics"); !strings.Contains(metrics, "kafka_connection_build_info{") || !strings.Contains(metrics, "go_goroutines ") {
		t.Errorf("metrics of the process itself are missing:\n%s", metrics)
	}
}

// TestTextThatIsNoText: what brokers call themselves may be any bytes, and must not cost the scrape.
func TestTextThatIsNoText(t *testing.T) {
	c := newCluster(t, 1)
	c.SetMember(7, wiretest.Member{Host: "\xff\xfe\n\"host", Port: 1, Rack: "r\x80"})
	c.SetMember(8, wiretest.Member{Host: strings.Repeat("long.", 6000), Port: 1})
	p := start(t, "--kafka.seed="+c.addrs[0])
	p.wait(
		`kafka_connection_broker_reachable{broker_id="0",kafka_cluster=""} 1`,
		`kafka_connection_broker_reachable{broker_id="7",kafka_cluster=""} 0`,
		`kafka_connection_broker_reachable{broker_id="8",kafka_cluster=""} 0`,
	)
}

// TestEverythingDown: it serves, says why, and is neither unhealthy nor gone.
func TestEverythingDown(t *testing.T) {
	refused, blackhole := fmt.Sprintf("127.0.0.1:%d", wiretest.ClosedPort(t)), fmt.Sprintf("127.0.0.1:%d", wiretest.BlackholePort(t))
	p := start(t, "--kafka.seed="+refused, "--kafka.seed="+blackhole, "--kafka.seed=kafka-0.invalid", "--connect.timeout=1s")
	if code, _ := p.get("/-/healthy"); code != 200 {
		t.Errorf("/-/healthy: %d", code)
	}
	metrics := p.wait(
		`kafka_connection_up{kafka_cluster=""} 0`,
		`kafka_connection_seed_failing{kafka_cluster="",phase="dial",reason="refused",seed="`+refused+`"} 1`,
		`kafka_connection_seed_failing{kafka_cluster="",phase="dial",reason="timeout",seed="`+blackhole+`"} 1`,
	)
	if !regexp.MustCompile(`seed_failing\{kafka_cluster="",phase="resolve",reason="dns_(not_found|failure)",seed="kafka-0.invalid:9092"\} 1`).MatchString(metrics) {
		t.Errorf("the name that does not resolve is not shown:\n%s", metrics)
	}
	if code, _ := p.get("/-/ready"); code != 200 {
		t.Errorf("/-/ready after the first round, a bad one: %d", code)
	}
}

func TestLogIsOneLinePerChange(t *testing.T) {
	refused := fmt.Sprintf("127.0.0.1:%d", wiretest.ClosedPort(t))
	p := start(t, "--kafka.seed="+refused, "--backoff.base=1ms", "--backoff.max=1ms", "--log.format=json")
	p.wait(`kafka_connection_up{kafka_cluster=""} 0`)
	for {
		_, metrics := p.get("/metrics")
		if found := regexp.MustCompile(`metadata_refreshes_total\{kafka_cluster=""\} (\d{3,})`).MatchString(metrics); found {
			break
		}
	}
	log := p.log.String()
	if n := strings.Count(log, "cannot be reached"); n != 1 || !strings.Contains(log, `"phase":"dial","reason":"refused"`) {
		t.Errorf("%d lines for one change of state:\n%s", n, log)
	}
}

func TestGivesUp(t *testing.T) {
	refused := fmt.Sprintf("127.0.0.1:%d", wiretest.ClosedPort(t))
	var log syncBuffer
	code := Run(t.Context(), []string{"--web.listen-address=127.0.0.1:0", "--kafka.seed=" + refused, "--metadata.give-up-after=100ms"}, io.Discard, &log)
	if code != 1 || !strings.Contains(log.String(), "seed "+refused+": dial: refused") {
		t.Errorf("status %d:\n%s", code, &log)
	}
}
