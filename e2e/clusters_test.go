//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/freeport"
)

// scramTLS is a listener of the shared clusters of Kafka 4.4: SASL_SSL with SCRAM-SHA-512. They have toxic, too.
const scramTLS = "SCRAMTLS"

const (
	unresolvable = "kafka-x.invalid"
	userName     = "exporter"
	userPassword = "correct-horse-2F8a"
)

// versions are all that the scenarios run on, newest first.
var versions = []string{cluster.V44, cluster.V39, cluster.V23}

// slots is how many scenarios run at once. They wait most of the time; more would make Kafka and the race detector too slow for the
// time-outs that the scenarios run with.
const slots = 8

var turns = make(chan struct{}, slots)

// turn waits for one of the slots and keeps it until the test ends. Who has one waits for no cluster any more.
func turn(t *testing.T) {
	t.Helper()
	turns <- struct{}{}
	t.Cleanup(func() { <-turns })
}

// opened is what the run has started, to be closed at its end.
var opened struct {
	mu    sync.Mutex
	close []func(keepLogs bool)
}

func closeAtEnd(name string, closeIt func(keepLogs bool) (kept string)) {
	opened.mu.Lock()
	defer opened.mu.Unlock()
	opened.close = append(opened.close, func(keepLogs bool) {
		if kept := closeIt(keepLogs); kept != "" {
			fmt.Fprintf(os.Stderr, "logs of Kafka %s: %s\n", name, kept)
		}
	})
}

// waiting is for go test's limit on parallel tests: those that wait for a cluster count as running, the limit that matters is slots.
const waiting = "100"

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", waiting)
	}
	code := m.Run()
	for _, closeIt := range opened.close {
		closeIt(code != 0)
	}
	exporter.Cleanup()
	if dir, err := scratchDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

var scratchDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "kafka-e2e-scratch-") })

// scratch is a folder that lives as long as the run.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := scratchDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// lots are the clusters that scenarios may break, one scenario at a time each; nil is one that is not open. Most scenarios want the newest
// version, so there are two of it.
var lots = map[string]chan *cluster.Cluster{
	cluster.V44: lotOf(2), cluster.V39: lotOf(1), cluster.V23: lotOf(1),
}

func lotOf(n int) chan *cluster.Cluster {
	lot := make(chan *cluster.Cluster, n)
	for range n {
		lot <- nil
	}
	return lot
}

// shared makes the test parallel and returns a healthy cluster of a version that it has for itself until it ends. One that a scenario broke
// beyond repair is replaced.
func shared(t *testing.T, version string) *cluster.Cluster {
	t.Helper()
	cluster.Need(t, version)
	t.Parallel()
	c := <-lots[version]
	t.Cleanup(func() { lots[version] <- c })
	if c != nil {
		if err := c.Heal(); err != nil {
			t.Logf("Kafka %s is beyond repair, logs in %s: %v", version, c.Close(true), err)
			c = nil
		}
	}
	if c == nil {
		opened, err := cluster.Open(sharedOptions(t, version))
		if err != nil {
			t.Fatal(err)
		}
		closeAtEnd(version, opened.Close)
		c = opened
	}
	turn(t)
	return c
}

func sharedOptions(t *testing.T, version string) cluster.Options {
	t.Helper()
	if version != cluster.V44 {
		return cluster.Options{Version: version}
	}
	between, err := freeport.Pick()
	if err != nil {
		t.Fatal(err)
	}
	return cluster.Options{
		Version: version,
		Users:   []cluster.User{{Name: userName, Password: userPassword}},
		Listeners: append(strangerListeners(t), []cluster.Listener{
			{Name: scramTLS, Protocol: "SASL_SSL", Mechanisms: []string{cluster.SCRAM512}},
			{Name: toxic, Protocol: "PLAINTEXT", Advertise: onlyBroker(2, fmt.Sprintf("127.0.0.1:%d", between))},
		}...),
	}
}

// onlyBroker makes one broker advertise addr.
func onlyBroker(id int, addr string) func(int, int) string {
	return func(b, _ int) string {
		if b == id {
			return addr
		}
		return ""
	}
}
