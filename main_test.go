package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kafka_connection_exporter")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "kafka_connection_exporter")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// child is the binary, as a process.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	log  *strings.Builder
	done chan struct{} // closed when its stderr has ended
}

// launch starts command, a run of the binary, and waits until it listens.
func launch(t *testing.T, command *exec.Cmd) *child {
	t.Helper()
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: command, log: &strings.Builder{}, done: make(chan struct{})}
	t.Cleanup(func() { _ = command.Process.Kill(); <-c.done })
	lines := bufio.NewScanner(stderr)
	listening := regexp.MustCompile(`"Listening on" address=(\S+)`)
	for c.url == "" && lines.Scan() {
		fmt.Fprintln(c.log, lines.Text())
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			c.url = "http://" + found[1]
		}
	}
	go func() {
		defer close(c.done)
		for lines.Scan() {
			fmt.Fprintln(c.log, lines.Text())
		}
	}()
	if c.url == "" {
		t.Fatalf("it does not listen:\n%s", c.log)
	}
	return c
}

func (c *child) metrics() string {
	c.t.Helper()
	resp, err := http.Get(c.url + "/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(body)
}

// await polls the metrics until pattern matches.
func (c *child) await(pattern string) string {
	c.t.Helper()
	re := regexp.MustCompile("(?m)^kafka_connection_" + pattern + "$")
	metrics := ""
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if metrics = c.metrics(); re.MatchString(metrics) {
			return metrics
		}
	}
	c.t.Fatalf("nothing matches %s:\n%s", pattern, metrics)
	return ""
}

// end waits for the exit and returns the status, or the signal as a negative number.
func (c *child) end() int {
	c.t.Helper()
	timer := time.AfterFunc(5*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	<-c.done
	_ = c.cmd.Wait()
	if status := c.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return -int(status.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

func tarpit(t *testing.T) string {
	return fmt.Sprintf("--kafka.seed=127.0.0.1:%d", wiretest.Listen(t, wiretest.Tarpit))
}

func TestSignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c := launch(t, exec.Command(binary, "--web.listen-address=127.0.0.1:0", tarpit(t)))
		began := time.Now()
		_ = c.cmd.Process.Signal(signal)
		if code := c.end(); code != 0 || time.Since(began) > 5*time.Second {
			t.Errorf("%s: status %d after %s:\n%s", signal, code, time.Since(began), c.log)
		}
		if !strings.Contains(c.log.String(), "msg=stopped") {
			t.Errorf("%s: the log does not tell that it stopped:\n%s", signal, c.log)
		}
	}
}

// TestSecondSignal: who cannot wait for the end gets it at once. A scrape that is not read to its end holds the server up.
func TestSecondSignal(t *testing.T) {
	c := launch(t, exec.Command(binary, "--web.listen-address=127.0.0.1:0", tarpit(t)))
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: a\r\nX-Half-A-Header: "); err != nil {
		t.Fatal(err)
	}
	c.await(`up\{.*|build_info\{.*`)
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	<-time.After(300 * time.Millisecond)
	began := time.Now()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	if code := c.end(); code != -int(syscall.SIGTERM) || time.Since(began) > time.Second {
		t.Errorf("status %d after %s:\n%s", code, time.Since(began), c.log)
	}
}

// TestSystemdSocket hands a listener over as systemd does: as descriptor 3, with the process' own id in the environment.
func TestSystemdSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_ = l.Close()
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"`, binary, "--web.systemd-socket", tarpit(t))
	cmd.ExtraFiles = []*os.File{file}
	c := launch(t, cmd)
	if c.url != "http://"+l.Addr().String() {
		t.Errorf("it listens on %s, not on %s", c.url, l.Addr())
	}
	c.await(`build_info\{.*`)
}
