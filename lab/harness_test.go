package lab

import (
	"bufio"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// patience is for what must happen, with a wide margin for a machine that does other things as well.
	patience = 60 * time.Second
	// stopLimit is what the exporter promises: it ends within five seconds.
	stopLimit = 5 * time.Second
	tick      = 40 * time.Millisecond
)

// process is a running exporter.
type process struct {
	testing.TB
	url    string
	cmd    *exec.Cmd
	client *http.Client
	ended  chan struct{} // closed when its output has ended

	mu      sync.Mutex
	log     strings.Builder
	slowest time.Duration // of its scrapes
	guards  []condition   // what every scrape must show
}

// quick are the intervals that scenarios run with. A broker that is well has long to answer, so that a busy machine does
// not make it look dead; scenarios about silence have shorter time-outs.
var quick = map[string]string{
	"check.interval": "200ms", "check.timeout": "20s", "connect.timeout": "20s", "connect.attempt-delay": "100ms", "connect.rate": "1000",
	"metadata.refresh-interval": "400ms", "metadata.hedge-delay": "100ms", "backoff.base": "50ms", "backoff.max": "400ms",
	"handshake.interval": "0s", "seed.check-interval": "400ms", "web.listen-address": "127.0.0.1:0",
}

// calm is for scenarios in which no round may be hedged, however slow the machine is: a hedge dials seeds.
const calm = "--metadata.hedge-delay=30s"

// start runs the exporter with the quick intervals and these flags, which win, until the test ends. It must end by itself
// then, with status 0, and without a word about a panic or a race.
func start(t testing.TB, flags ...string) *process {
	t.Helper()
	return startEnv(t, nil, flags...)
}

// startEnv is start with variables, written NAME=value.
func startEnv(t testing.TB, env []string, flags ...string) *process {
	t.Helper()
	return launch(t, env, withQuick(flags))
}

func withQuick(flags []string) []string {
	defaults := maps.Clone(quick)
	for _, f := range flags {
		name, _, _ := strings.Cut(strings.TrimPrefix(f, "--"), "=")
		delete(defaults, name)
	}
	all := slices.Clone(flags)
	for name, value := range defaults {
		all = append(all, "--"+name+"="+value)
	}
	return all
}

var listening = regexp.MustCompile(`"Listening on" address=(\S+)`)

// launch runs this test binary as an exporter and returns when it listens.
func launch(t testing.TB, env, args []string) *process {
	t.Helper()
	p := &process{TB: t, cmd: exec.Command(os.Args[0], args...), client: &http.Client{Timeout: 10 * time.Second}, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), append(env, childVariable+"=1", "GORACE=atexit_sleep_ms=50")...)
	life, err := p.cmd.StdinPipe() // its end tells the child that we are gone
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	go p.read(stderr, found)
	t.Cleanup(func() { p.end(); _ = life.Close() })
	select {
	case addr := <-found:
		p.url = "http://" + addr
	case <-p.ended:
		t.Fatalf("it does not listen:\n%s", p.logged())
	case <-time.After(patience):
		t.Fatalf("it does not listen yet:\n%s", p.logged())
	}
	return p
}

// read keeps the log, and finds the address in it.
func (p *process) read(stderr io.Reader, found chan<- string) {
	defer close(p.ended)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.log.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if address := listening.FindStringSubmatch(lines.Text()); address != nil {
			found <- address[1]
		}
	}
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// signal stops it (SIGSTOP), lets it go on, or whatever else.
func (p *process) signal(s syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.Errorf("%s: %v", s, err)
	}
}

// end asks it to end, waits, and looks at how it did.
func (p *process) end() {
	p.client.CloseIdleConnections()
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	overdue := time.AfterFunc(stopLimit+patience, func() { _ = p.cmd.Process.Kill() })
	defer overdue.Stop()
	began := time.Now()
	<-p.ended
	_ = p.cmd.Wait()
	if took := time.Since(began); p.cmd.ProcessState.ExitCode() != 0 || took > stopLimit {
		p.Errorf("it ended with %s after %s:\n%s", p.cmd.ProcessState, took, tail(p.logged()))
	}
	if log := p.logged(); strings.Contains(log, "panic:") || strings.Contains(log, "DATA RACE") || strings.Contains(log, "level=panic") {
		p.Errorf("a panic or a race:\n%s", log)
	}
}

// tail is the end of a log, for messages.
func tail(log string) string { return log[max(0, len(log)-6000):] }

// fetch reads a page.
func (p *process) fetch(path string) (string, int, error) {
	began := time.Now()
	resp, err := p.client.Get(p.url + path)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	p.mu.Lock()
	p.slowest = max(p.slowest, time.Since(began))
	p.mu.Unlock()
	return string(body), resp.StatusCode, err
}

// scrape reads the metrics, and fails the test if a guard does not like them, or if there are none.
func (p *process) scrape() metrics {
	p.Helper()
	body, code, err := p.fetch("/metrics")
	if err != nil || code != http.StatusOK {
		p.Fatalf("scrape: status %d, %v\n%s\n%s", code, err, body, tail(p.logged()))
	}
	m := parse(body)
	for _, guard := range p.guards {
		if err := guard(m); err != nil {
			p.Fatalf("%v, which must not happen meanwhile\n%s\n%s", err, m, tail(p.logged()))
		}
	}
	return m
}

// poll asks again and again until done says so; false when the time is up.
func poll(limit time.Duration, done func() bool) bool {
	up := time.After(limit)
	again := time.NewTicker(tick)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-up:
			return false
		}
	}
	return true
}

// wait scrapes until all conditions are met at once.
func (p *process) wait(conditions ...condition) metrics {
	p.Helper()
	var m metrics
	var err error
	if !poll(patience, func() bool { m = p.scrape(); err = all(conditions...)(m); return err == nil }) {
		p.Fatalf("after %s: %v\n%s\n%s", patience, err, m, tail(p.logged()))
	}
	return m
}

// hold scrapes for a while, in which all conditions must be met all the time.
func (p *process) hold(d time.Duration, conditions ...condition) metrics {
	p.Helper()
	var m metrics
	poll(d, func() bool {
		m = p.scrape()
		if err := all(conditions...)(m); err != nil {
			p.Fatalf("%v\n%s\n%s", err, m, tail(p.logged()))
		}
		return false
	})
	return m
}

// always makes every later scrape of wait and hold fail the test unless the conditions are met.
func (p *process) always(conditions ...condition) { p.guards = append(p.guards, conditions...) }

// guard says that brokers are well and must stay untouched from now on: reachable, and not dialed, closed or moved to another
// state.
func (p *process) guard(ids ...int) {
	p.Helper()
	m := p.wait(ready(ids...))
	for _, id := range ids {
		p.always(is(1, ofBroker(id, "reachable")))
		for _, name := range []string{"attempts_total", "closes_total", "state_changes_total"} {
			p.always(sums(m.sum("broker_connection_"+name, "broker_id", itoa(id)), "broker_connection_"+name, "broker_id", itoa(id)))
		}
	}
}

var live = regexp.MustCompile(`lab: (\d+) bytes are live`)

// liveHeap makes it collect its garbage, some times, and returns the least that was left. It is not what a scrape says, which
// allocates before it reads the number.
func (p *process) liveHeap() float64 {
	p.Helper()
	least := math.Inf(1)
	for range 5 {
		before := len(live.FindAllString(p.logged(), -1))
		p.signal(syscall.SIGUSR1)
		var said [][]string
		if !poll(patience, func() bool { said = live.FindAllStringSubmatch(p.logged(), -1); return len(said) > before }) {
			p.Fatalf("it does not collect its garbage:\n%s", tail(p.logged()))
		}
		left, err := strconv.ParseFloat(said[len(said)-1][1], 64)
		if err != nil {
			p.Fatal(err)
		}
		least = min(least, left)
	}
	return least
}

// collectGarbage makes it collect its garbage and returns the next metrics.
func (p *process) collectGarbage() metrics {
	p.Helper()
	p.liveHeap()
	return p.scrape()
}
