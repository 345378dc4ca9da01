//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/freeport"
)

// Listeners of the shared cluster of Kafka 4.4 besides PLAINTEXT.
const (
	badName  = "BADNAME"  // broker 2 advertises a name that does not resolve
	badPort  = "BADPORT"  // broker 2 advertises a port where nobody listens
	scramTLS = "SCRAMTLS" // SASL_SSL with SCRAM-SHA-512
	toxic    = "TOXIC"    // broker 2 advertises a port at which a scenario may put a proxy
)

const (
	unresolvable = "kafka-x.invalid"
	userName     = "exporter"
	userPassword = "correct-horse-2F8a"
)

// versions are all that the scenarios run on, newest first.
var versions = []string{cluster.V44, cluster.V39, cluster.V23}

var clusters = map[string]*cluster.Cluster{}

func TestMain(m *testing.M) {
	code := m.Run()
	for version, c := range clusters {
		report(version, c.Close(code != 0))
	}
	for version, s := range secured {
		report(version+", secured", s.close(code != 0))
	}
	for version, c := range authorized {
		report(version+", with authorizer", c.Close(code != 0))
	}
	exporter.Cleanup()
	if scratchDir != "" {
		_ = os.RemoveAll(scratchDir)
	}
	os.Exit(code)
}

func report(version, kept string) {
	if kept != "" {
		fmt.Fprintf(os.Stderr, "logs of Kafka %s: %s\n", version, kept)
	}
}

var scratchDir string

// scratch is a folder that lives as long as the run.
func scratch(t *testing.T) string {
	t.Helper()
	if scratchDir == "" {
		dir, err := os.MkdirTemp("", "kafka-e2e-scratch-")
		if err != nil {
			t.Fatal(err)
		}
		scratchDir = dir
	}
	return scratchDir
}

// shared returns the healthy cluster of a version that all scenarios use, one after another. One that a scenario broke beyond repair is
// replaced.
func shared(t *testing.T, version string) *cluster.Cluster {
	t.Helper()
	if c := clusters[version]; c != nil {
		err := c.Heal()
		if err == nil {
			return c
		}
		t.Logf("Kafka %s is beyond repair, logs in %s: %v", version, c.Close(true), err)
		delete(clusters, version)
	}
	c, err := cluster.Open(sharedOptions(t, version))
	if err != nil {
		t.Fatal(err)
	}
	clusters[version] = c
	return c
}

func sharedOptions(t *testing.T, version string) cluster.Options {
	t.Helper()
	if version != cluster.V44 {
		return cluster.Options{Version: version}
	}
	closed, err := freeport.Pick()
	if err != nil {
		t.Fatal(err)
	}
	between, err := freeport.Pick()
	if err != nil {
		t.Fatal(err)
	}
	return cluster.Options{
		Version: version,
		Users:   []cluster.User{{Name: userName, Password: userPassword}},
		Listeners: append(strangerListeners(t), []cluster.Listener{
			{Name: badName, Protocol: "PLAINTEXT", Advertise: onlyBroker(2, unresolvable+":9092")},
			{Name: badPort, Protocol: "PLAINTEXT", Advertise: onlyBroker(2, fmt.Sprintf("127.0.0.1:%d", closed))},
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
