package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"

	"kafka_connection_exporter/wire/wiretest"
)

// gate is a writer that takes nothing until it is open.
type gate struct {
	open chan struct{}
	text bytes.Buffer
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.text.Write(p)
}

// numbered writes lines that say their number, and are so long that a few fill the queue.
func numbered(t *testing.T, q *logQueue, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		line := fmt.Sprintf("line=%d %s\n", i, strings.Repeat("x", logRoom/10))
		if n, err := io.WriteString(q, line); n != len(line) || err != nil {
			t.Errorf("%d of %d, %v", n, len(line), err)
		}
	}
}

// firstWords returns the first word of every line, or the whole line where it is short.
func firstWords(text string) (all []string) {
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if len(rest) < 100 && rest != "" {
			word += " " + rest
		}
		all = append(all, word)
	}
	return all
}

func tellPlainly(w io.Writer, lost int) { fmt.Fprintf(w, "lost %d lines\n", lost) }

// TestLogQueueKeepsOrder of lines by one writer, tells where some are missing, and how many.
func TestLogQueueKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newGate()
		q := newLogQueue(out, tellPlainly)
		q.start()
		numbered(t, q, 0, 1)
		synctest.Wait()       // the first is on its way
		numbered(t, q, 1, 20) // nine fill the queue
		close(out.open)
		synctest.Wait()
		numbered(t, q, 20, 22)
		q.stop()
		var want []string
		for i := range 10 {
			want = append(want, fmt.Sprintf("line=%d", i))
		}
		want = append(want, "lost 10 lines", "line=20", "line=21")
		if got := firstWords(out.text.String()); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestLogQueueIsFlushed at the end, also of the news that something was lost.
func TestLogQueueIsFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newGate()
		q := newLogQueue(out, tellPlainly)
		numbered(t, q, 0, 12)
		q.start()
		time.AfterFunc(flushTimeout/2, func() { close(out.open) })
		q.stop()
		if got := firstWords(out.text.String()); len(got) != 10 || got[0] != "line=0" || got[9] != "lost 3 lines" {
			t.Errorf("got %q", got)
		}
		q.stop() // again, and a line that comes too late: no harm
		numbered(t, q, 12, 13)
	})
}

// TestLogQueueEndsWithoutReader: who writes does not wait, who ends it not for long.
func TestLogQueueEndsWithoutReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newGate()
		q := newLogQueue(out, tellPlainly)
		q.start()
		began := time.Now()
		numbered(t, q, 0, 1000)
		if len(q.waiting) > logRoom+logRoom/5 || time.Since(began) != 0 {
			t.Errorf("%d bytes are waiting after %s", len(q.waiting), time.Since(began))
		}
		q.stop()
		if took := time.Since(began); took != flushTimeout {
			t.Errorf("it ended after %s", took)
		}
		close(out.open)
	})
}

// TestLogQueueTakesALongLine: one that is longer than the room is not lost for ever.
func TestLogQueueTakesALongLine(t *testing.T) {
	var out bytes.Buffer
	q := newLogQueue(&out, tellPlainly)
	q.start()
	line := strings.Repeat("x", 2*logRoom) + "\n"
	_, _ = io.WriteString(q, line)
	q.stop()
	if out.String() != line {
		t.Errorf("%d bytes of %d", out.Len(), len(line))
	}
}

// TestLostLinesAreALineOfTheLog in both formats, whatever the level.
func TestLostLinesAreALineOfTheLog(t *testing.T) {
	for format, want := range map[string]string{"logfmt": `level=warn time=`, "json": `"count":7`} {
		out := newGate()
		logger, _, q := newLogger(out, format, "error")
		for q.lost < 7 {
			_ = log.WithPrefix(logger, "level", "error").Log("msg", strings.Repeat("x", logRoom/3))
		}
		close(out.open)
		q.start()
		q.stop()
		lines := strings.Split(out.text.String(), "\n")
		if last := lines[len(lines)-2]; !strings.Contains(last, want) || !strings.Contains(last, "lost because") {
			t.Errorf("%s: %s", format, last)
		}
	}
}

// TestRunWithBlockedLog: nothing of the program waits for a log that nobody reads, neither the start nor the end.
func TestRunWithBlockedLog(t *testing.T) {
	out := newGate()
	t.Cleanup(func() { close(out.open) })
	address := fmt.Sprintf("127.0.0.1:%d", wiretest.ClosedPort(t))
	c := newCluster(t, 3)
	ctx, stop := context.WithCancel(t.Context())
	p := &process{t: t, url: "http://" + address, log: &syncBuffer{}, code: make(chan int, 1)}
	go func() {
		p.code <- Run(ctx, []string{"--web.listen-address=" + address, "--kafka.seed=" + c.addrs[0]}, io.Discard, out)
	}()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		if resp, err := http.Get(p.url + "/-/healthy"); err == nil {
			_ = resp.Body.Close()
			break
		}
	}
	p.wait(`kafka_connection_broker_reachable{broker_id="2",kafka_cluster=""} 1`)
	stop()
	select {
	case code := <-p.code:
		if code != 0 {
			t.Errorf("status %d", code)
		}
	case <-time.After(5 * time.Second):
		t.Error("it has not ended after 5 s")
	}
}
