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
	log  *childLog
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
	c := &child{t: t, cmd: command, log: &childLog{}, done: make(chan struct{})}
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
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"`, binary, "--web.systemd-socket", tarpit(t))
	cmd.ExtraFiles = []*os.File{file}
	c := launch(t, cmd)
	if c.url != "http://"+l.Addr().String() {
		t.Errorf("it listens on %s, not on %s", c.url, l.Addr())
	}
	c.await(`build_info\{.*`)
}

// serve starts the binary with stderr and seeds that are refused, each of which is a line of log, and waits until it serves.
func serve(t *testing.T, stderr *os.File) *child {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", wiretest.ClosedPort(t))
	command := exec.Command(binary, "--web.listen-address="+address)
	refused := wiretest.ClosedPort(t)
	for i := range 60 {
		command.Args = append(command.Args, fmt.Sprintf("--kafka.seed=127.0.0.%d:%d", i+1, refused))
	}
	command.Stderr = stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = stderr.Close()
	c := &child{t: t, cmd: command, url: "http://" + address, log: &childLog{}, done: make(chan struct{})}
	close(c.done) // nobody reads its log
	t.Cleanup(func() { _ = command.Process.Kill() })
	client := http.Client{Timeout: time.Second}
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if resp, err := client.Get(c.url + "/metrics"); err == nil {
			_ = resp.Body.Close()
			return c
		}
	}
	t.Fatal("it does not serve")
	return nil
}

// fullPipe returns the writing end of a pipe that blocks once room more bytes are written, as nobody reads.
func fullPipe(t *testing.T, room int) *os.File {
	t.Helper()
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(ends[0])
	syscall.CloseOnExec(ends[1])
	t.Cleanup(func() { _ = syscall.Close(ends[0]) })
	_ = syscall.SetNonblock(ends[1], true)
	for _, size := range []int{os.Getpagesize(), 1} {
		for err := error(nil); err == nil; {
			_, err = syscall.Write(ends[1], make([]byte, size))
		}
	}
	_ = syscall.SetNonblock(ends[1], false)
	if _, err := syscall.Read(ends[0], make([]byte, room)); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(ends[1]), "full")
}

// TestStderrThatNobodyReads: a pipe that is full from the start, or soon, holds up neither a scrape nor the end.
func TestStderrThatNobodyReads(t *testing.T) {
	for _, room := range []int{0, os.Getpagesize()} {
		c := serve(t, fullPipe(t, room))
		c.await(`seed_failing\{.*reason="refused".*seed="127.0.0.60:.*`)
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		if code := c.end(); code != 0 {
			t.Errorf("room for %d bytes: status %d", room, code)
		}
	}
}

// TestStderrWhoseReaderIsGone: the log is lost, the process goes on.
func TestStderrWhoseReaderIsGone(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	c := serve(t, write)
	c.await(`seed_failing\{.*reason="refused".*seed="127.0.0.60:.*`)
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	if code := c.end(); code != 0 {
		t.Errorf("status %d", code)
	}
}

// TestFewDescriptors: with more brokers than descriptors, every scrape is answered, and what is missing is told.
func TestFewDescriptors(t *testing.T) {
	cluster := wiretest.NewCluster("cluster-a")
	port := 0
	for id := range int32(100) {
		port = wiretest.Listen(t, wiretest.NewBroker(id, cluster, wiretest.Modern).Serve)
		cluster.Set(id, fmt.Sprintf("127.0.0.1:%d", port))
	}
	c := launch(t, exec.Command("/bin/sh", "-c", `ulimit -n 64; exec "$0" "$@"`, binary, "--web.listen-address=127.0.0.1:0",
		fmt.Sprintf("--kafka.seed=127.0.0.1:%d", port), "--connect.rate=1000", "--backoff.base=50ms", "--backoff.max=100ms"))
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	reachable, short := 0, 0
	for scrapes := 0; scrapes < 40 || scrapes < 300 && (reachable < 25 || short < 60); scrapes++ {
		<-time.After(50 * time.Millisecond)
		resp, err := client.Get(c.url + "/metrics")
		if err != nil {
			t.Fatalf("a scrape is not answered: %v", err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatalf("a scrape is cut off: %v", err)
		}
		reachable = len(regexp.MustCompile(`broker_reachable\{.*\} 1\n`).FindAll(body, -1))
		short = len(regexp.MustCompile(`broker_failing\{.*phase="dial",reason="other"\} 1\n`).FindAll(body, -1))
	}
	if reachable < 25 || short < 60 {
		t.Errorf("%d brokers are reachable, %d are short of a descriptor", reachable, short)
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	if code := c.end(); code != 0 {
		t.Errorf("status %d", code)
	}
	if log := c.log.String(); strings.Contains(log, "Accept error") || !strings.Contains(log, "ulimit -n") || strings.Count(log, "\n") > 500 {
		t.Errorf("the log:\n%s", log)
	}
}
