package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// TestDemo: the faults that the introduction promises are there to see.
func TestDemo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--web.listen-address=127.0.0.1:0"}, io.Discard, write)
		_ = write.Close()
	}()
	lines := bufio.NewScanner(read)
	listening := regexp.MustCompile(`"Listening on" address=(\S+)`)
	address := ""
	for address == "" && lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			address = found[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	for _, want := range []string{
		`broker_reachable\{broker_id="0",kafka_cluster="demo"\} 1`,
		`broker_reachable\{broker_id="1",kafka_cluster="demo"\} 1`,
		`broker_failing\{broker_id="2",kafka_cluster="demo",phase="resolve",reason="dns_.*"\} 1`,
		`seed_failing\{kafka_cluster="demo",phase="dial",reason="refused",seed="127.0.0.1:1"\} 1`,
		`seed_reachable\{kafka_cluster="demo",seed="127.0.0.1:\d\d+"\} 1`,
	} {
		await(t, "http://"+address+"/metrics", regexp.MustCompile(want))
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func await(t *testing.T, url string, want *regexp.Regexp) {
	t.Helper()
	var body []byte
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, _ = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if want.Match(body) {
			return
		}
	}
	t.Errorf("%s is not there:\n%s", want, body)
}
