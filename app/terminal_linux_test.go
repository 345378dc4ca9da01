package app

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kafka_connection_exporter/wire/wiretest"
)

// terminal opens a pseudo-terminal of that width and returns its two ends.
func terminal(t *testing.T, width uint16) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: 24}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close(); _ = tty.Close() })
	return screen, tty
}

// TestTerminal: on a terminal there are progress, colours and its width; NO_COLOR and --color=never are obeyed.
func TestTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	t.Setenv("LC_ALL", "C.UTF-8")
	cluster, _, seed := scripted(t, 3)
	cluster.Set(3, fmt.Sprintf("127.0.0.1:%d", wiretest.BlackholePort(t)))
	show := func(args ...string) string {
		screen, tty := terminal(t, 120)
		var shown bytes.Buffer
		read := make(chan struct{})
		go func() { _, _ = io.Copy(&shown, screen); close(read) }()
		code := Run(t.Context(), append([]string{"check", "--kafka.seed=" + seed, "--connect.timeout=700ms"}, args...), tty, tty)
		if code != statusFail {
			t.Errorf("status %d", code)
		}
		_ = tty.Close()
		<-read
		return shown.String()
	}
	text := show()
	if !strings.Contains(text, "2 of 3 brokers, 0 s, waiting for broker 3") || !strings.Contains(text, "\x1b[32m✓\x1b[0m") {
		t.Errorf("no progress or no colours:\n%q", text)
	}
	longest := 0
	for line := range strings.Lines(text) {
		longest = max(longest, len([]rune(line)))
	}
	if longest <= 82 {
		t.Errorf("the lines are no longer than %d, on a terminal of 120", longest)
	}
	if text = show("--color=never"); strings.Contains(text, "\x1b[32m") {
		t.Errorf("colours:\n%q", text)
	}
	t.Setenv("NO_COLOR", "1")
	if text = show(); strings.Contains(text, "\x1b[32m") {
		t.Errorf("colours in spite of NO_COLOR:\n%q", text)
	}
}
