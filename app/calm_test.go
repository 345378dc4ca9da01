package app

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestCalmLog: a line that comes again, but for its numbers, is counted, and told once a minute.
func TestCalmLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := log.New(&calmLog{logger: slog.New(slog.NewTextHandler(&out, nil))}, "", 0)
		for i := range 90 { // one and a half minutes
			l.Printf("http: Accept error: accept tcp [::]:1: too many open files; retrying in %ds", i)
			l.Printf("http: TLS handshake error from 10.0.0.%d:%d: EOF", i, 1000+i)
			time.Sleep(time.Second)
		}
		l.Print("http: something new")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 5 || !strings.Contains(lines[0], "retrying in 0s") || !strings.Contains(lines[3], "10.0.0.60:1060: EOF") ||
			!strings.Contains(lines[2], "suppressed=59") || !strings.Contains(lines[4], "level=WARN msg=\"http: something new\"") {
			t.Errorf("got\n%s", strings.Join(lines, "\n"))
		}
	})
}

// TestCalmLogIsBounded in what it remembers, and so in what it writes: what clients send is in the text.
func TestCalmLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := &calmLog{logger: slog.New(slog.NewTextHandler(&out, nil))}
		for minute := range 3 {
			for i := range 10000 {
				fmt.Fprintf(c, "http: %s of minute %c\n", strings.Repeat("x", i%5000), 'a'+minute)
			}
			time.Sleep(calmTime)
		}
		if n := strings.Count(out.String(), "\n"); n > 3*calmTexts || len(c.texts) > calmTexts {
			t.Errorf("%d lines, and %d are remembered", n, len(c.texts))
		}
	})
}

// TestServersAreCalm: all listeners are in one log.
func TestServersAreCalm(t *testing.T) {
	o, _, _, err := parse([]string{"--kafka.seed=a", "--web.listen-address=127.0.0.1:0", "--web.listen-address=127.0.0.1:0"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s, err := listen(o, http.NotFoundHandler(), slog.New(slog.NewTextHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	for _, h := range s.https {
		h.ErrorLog.Print("http: Accept error: too many open files; retrying in 5ms")
		h.ErrorLog.Print("http: Accept error: too many open files; retrying in 10ms")
	}
	if len(s.https) != 2 || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%d servers wrote\n%s", len(s.https), &out)
	}
}
