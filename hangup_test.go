package main

import (
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestHangup: without a file to load again it says so, and goes on.
func TestHangup(t *testing.T) {
	c := launch(t, exec.Command(binary, "--web.listen-address=127.0.0.1:0", tarpit(t)))
	_ = c.cmd.Process.Signal(syscall.SIGHUP)
	for deadline := time.Now().Add(15 * time.Second); !strings.Contains(c.log.String(), "there is nothing to load again"); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log does not tell that nothing was loaded:\n%s", c.log)
		}
	}
	c.await(`up\{.*|build_info\{.*`)
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	if code := c.end(); code != 0 {
		t.Errorf("status %d:\n%s", code, c.log)
	}
}

// childLog is what a child has written so far.
type childLog struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *childLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all of it.
func (l *childLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
