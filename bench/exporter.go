package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// exporter is the program under test, as a process of its own.
type exporter struct {
	s   *stage
	pid int
	url string
}

var listening = regexp.MustCompile(`"Listening on" address=(\S+)`)

// startExporter runs the exporter with flags until the stage closes, and returns when it serves.
func startExporter(s *stage, flags ...string) *exporter {
	cmd := exec.Command(s.built(), append([]string{"--web.listen-address=127.0.0.1:0"}, flags...)...)
	log, err := cmd.StderrPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	e := &exporter{s: s, pid: cmd.Process.Pid}
	lines := bufio.NewScanner(log)
	var said strings.Builder
	for e.url == "" && lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			e.url = "http://" + found[1] + "/metrics"
		}
	}
	if e.url == "" {
		s.Fatal("the exporter does not serve:\n" + said.String())
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	return e
}

// transport leaves compression to whoever asks, so that bytes are those on the wire.
var transport = &http.Transport{DisableCompression: true}

// get scrapes once. The body is read in full, as it comes over the wire.
func (e *exporter) get(encoding string) (body []byte, took time.Duration) {
	req, err := http.NewRequest(http.MethodGet, e.url, nil)
	if err != nil {
		e.s.Fatal(err)
	}
	if encoding != "" {
		req.Header.Set("Accept-Encoding", encoding)
	}
	began := time.Now()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		e.s.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		e.s.Fatal(fmt.Sprintf("scrape: status %d, %v", resp.StatusCode, err))
	}
	return body, time.Since(began)
}

// sum adds up all series of a metric whose labels contain with.
func sum(page []byte, metric, with string) (total float64) {
	for line := range strings.Lines(string(page)) {
		rest, ok := strings.CutPrefix(line, metric)
		if !ok || rest[0] != '{' && rest[0] != ' ' || !strings.Contains(rest, with) {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64); err == nil {
			total += v
		}
	}
	return total
}

// awaitReady polls until all brokers that are not dead are connected and every one has a verdict, or limit has passed. It
// returns how many are connected.
func (e *exporter) awaitReady(n, dead int, limit time.Duration) (ready int) {
	pause := 200*time.Millisecond + time.Duration(n)*time.Millisecond/4 // a scrape of a large cluster is work
	for began := time.Now(); time.Since(began) < limit; <-time.After(pause) {
		page, _ := e.get("")
		ready = int(sum(page, "kafka_connection_broker_connection_state", `state="ready"`))
		if ready == n-dead && verdicts(page) == n {
			return ready
		}
	}
	return ready
}

func verdicts(page []byte) int {
	return strings.Count(string(page), "\nkafka_connection_broker_reachable{")
}
