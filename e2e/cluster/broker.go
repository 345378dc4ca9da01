//go:build e2e

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/pki"
	"kafka_connection_exporter/e2e/proc"
)

const startTimeout = 120 * time.Second

// Broker is one broker, which may or may not be running. Its methods are not for concurrent use.
type Broker struct {
	ID      int
	cluster *Cluster
	dir     string
	ports   map[string]int
	names   map[string]string // advertised host:port by listener
	proc    *proc.Process
	paused  bool
}

// Addr is the host:port where the broker listens; it stays the same over restarts.
func (b *Broker) Addr(listener string) string {
	port, ok := b.ports[listener]
	if !ok {
		panic(fmt.Sprintf("broker %d has no listener %s", b.ID, listener))
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// Advertised is the host:port that the broker tells clients of the listener.
func (b *Broker) Advertised(listener string) string {
	if name := b.names[listener]; name != "" {
		return name
	}
	return b.Addr(listener)
}

// Rack is the broker's rack.
func (b *Broker) Rack() string { return fmt.Sprintf("rack-%d", b.ID) }

// PID is the id of the running process.
func (b *Broker) PID() int { return b.proc.PID() }

// Running says whether the process exists; a paused one does.
func (b *Broker) Running() bool { return b.proc != nil && b.proc.Running() }

// Log is everything that the broker has logged.
func (b *Broker) Log() string { return b.proc.Log() }

// Kill sends SIGKILL and returns when the process is gone: clients have got their FIN or RST.
func (b *Broker) Kill(t testing.TB) {
	t.Helper()
	b.paused = false
	check(t, b.proc.Kill())
}

// Stop sends SIGTERM and returns when the broker has shut down, within 30 s.
func (b *Broker) Stop(t testing.TB) {
	t.Helper()
	check(t, b.proc.Terminate(30*time.Second))
}

// Pause sends SIGSTOP: the kernel still accepts connections, nobody answers.
func (b *Broker) Pause(t testing.TB) {
	t.Helper()
	b.paused = true
	check(t, b.proc.Signal(syscall.SIGSTOP))
}

// Resume sends SIGCONT.
func (b *Broker) Resume(t testing.TB) {
	t.Helper()
	b.paused = false
	check(t, b.proc.Signal(syscall.SIGCONT))
}

// Start launches a broker that is down, and returns when it names itself in its own metadata. The rest of the cluster must have a majority.
func (b *Broker) Start(t testing.TB) {
	t.Helper()
	check(t, b.launch())
	check(t, b.await(time.Now().Add(startTimeout), []int{b.ID}))
}

func (b *Broker) launch() error {
	p, err := proc.Start(proc.Spec{
		Name: fmt.Sprintf("broker %d", b.ID), Path: b.cluster.java, Dir: b.dir, Log: b.logFile(),
		Args: b.cluster.javaArgs("kafka.Kafka", b.configFile()),
	})
	if err != nil {
		return err
	}
	b.proc, b.paused = p, false
	return nil
}

// await returns when the broker itself names all ids. One of Kafka 2.3 gives up if its former session still lives in ZooKeeper; it is
// launched again.
func (b *Broker) await(deadline time.Time, ids []int) error {
	var last error
	for ; time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if !b.Running() {
			if b.cluster.opts.Version != V23 || !strings.Contains(b.proc.Tail(200), "NodeExists") {
				return fmt.Errorf("broker %d ended:\n%s", b.ID, b.proc.Tail(30))
			}
			if err := b.launch(); err != nil {
				return err
			}
		}
		named, err := b.named(2 * time.Second)
		if err == nil && containsAll(named, ids) {
			return nil
		}
		last = errors.Join(err, fmt.Errorf("it names %v", named))
	}
	return fmt.Errorf("broker %d does not name %v: %w\n%s", b.ID, ids, last, b.proc.Tail(30))
}

func (b *Broker) dataDir() string    { return filepath.Join(b.dir, "data") }
func (b *Broker) configFile() string { return filepath.Join(b.dir, "server.properties") }
func (b *Broker) logFile() string    { return filepath.Join(b.dir, "broker.log") }

func (b *Broker) keystore(listener string) string {
	return filepath.Join(b.dir, strings.ToLower(listener)+".pem")
}

func writePair(file string, pair pki.Pair) error {
	if err := os.WriteFile(file, append(append([]byte{}, pair.Key...), pair.Cert...), 0o600); err != nil {
		return fmt.Errorf("write keystore: %w", err)
	}
	return nil
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
