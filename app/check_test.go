package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/check"
	"kafka_connection_exporter/config"
	"kafka_connection_exporter/wire/wiretest"
)

// scripted starts n good brokers on loopback and returns them with the address of the first.
func scripted(t testing.TB, n int32) (*wiretest.Cluster, []*wiretest.Broker, string) {
	t.Helper()
	cluster := wiretest.NewCluster("cluster-a")
	var all []*wiretest.Broker
	seed := ""
	for id := int32(1); id <= n; id++ {
		b := wiretest.NewBroker(id, cluster, wiretest.Modern)
		address := fmt.Sprintf("127.0.0.1:%d", wiretest.Listen(t, b.Serve))
		cluster.Set(id, address)
		all = append(all, b)
		if id == 1 {
			seed = address
		}
	}
	return cluster, all, seed
}

// tried runs the command and returns what it writes.
func tried(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs syncBuffer
	code = Run(ctx, append([]string{"check"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// TestCheckStatus: the exit status says how it went, and the text or the error why.
func TestCheckStatus(t *testing.T) {
	_, _, seed := scripted(t, 3)
	broken, _, half := scripted(t, 2)
	broken.Set(2, fmt.Sprintf("127.0.0.1:%d", wiretest.ClosedPort(t)))
	fenced, _, hidden := scripted(t, 2)
	fenced.SetMember(2, wiretest.Member{Host: "127.0.0.1", Port: int32(wiretest.ClosedPort(t)), Fenced: true})
	silent := fmt.Sprintf("127.0.0.1:%d", wiretest.Listen(t, wiretest.Tarpit))
	missing := filepath.Join(t.TempDir(), "ca.pem")
	for _, c := range []struct {
		name string
		args []string
		code int
		says string // on stdout, or on stderr for 2
	}{
		{"well", []string{"--kafka.seed=" + seed}, 0, "3 of 3 brokers can be reached"},
		{"a broker is dead", []string{"--kafka.seed=" + half}, 1, "dial/refused:"},
		{"a fenced broker is dead", []string{"--kafka.seed=" + hidden}, 1, "fenced:"},
		{"a seed is dead", []string{"--kafka.seed=" + seed, "--kafka.seed=127.0.0.1:1"}, 1, "1 of 2 seeds and 3 of 3"},
		{"too few", []string{"--kafka.seed=" + seed, "--expect-brokers=4"}, 1, "1 of 4 brokers that are expected are missing"},
		{"too few, as the daemon is told", []string{"--kafka.seed=" + seed, "--kafka.brokers-expected=4"}, 1, "1 of 4 brokers"},
		{"not in time", []string{"--kafka.seed=" + silent, "--timeout=100ms"}, 3, "not finished in time"},
		{"silent", []string{"--kafka.seed=" + silent, "--connect.timeout=200ms"}, 1, "api_versions/timeout:"},
		{"no seed", nil, 2, "--kafka.seed"},
		{"unknown flag", []string{"--kafka.seed=a", "--nope"}, 2, "--nope"},
		{"bad seed", []string{"--kafka.seed=a:b"}, 2, `has the port "b"`},
		{"bad file", []string{"--kafka.seed=a", "--tls", "--tls.ca-file=" + missing}, 2, missing},
		{"name without a file", []string{"--kafka.seed=a", "main"}, 2, `no cluster "main"`},
		{"bad output", []string{"--kafka.seed=a", "--output=xml"}, 2, "--output"},
		{"negative", []string{"--kafka.seed=a", "--wait=-1s"}, 2, "--wait is -1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := tried(t.Context(), c.args...)
			said := strings.Join(strings.Fields(stdout), " ")
			if c.code == statusUsage {
				said = stderr
			}
			if code != c.code || !strings.Contains(said, c.says) {
				t.Errorf("status %d, want %d, saying %q:\n%s%s", code, c.code, c.says, stdout, stderr)
			}
			if c.code != statusUsage && stderr != "" {
				t.Errorf("where it is no terminal, stderr has %q", stderr)
			}
		})
	}
}

// TestCheckRefusesAlike: what serve refuses, check refuses in the same words.
func TestCheckRefusesAlike(t *testing.T) {
	for _, args := range [][]string{
		{"--kafka.seed=a:b"}, {"--kafka.seed=a", "--tls.ca-file=x"}, {"--kafka.seed=a", "--tls", "--tls.ca-file=/nope"},
		{"--kafka.seed=a", "--sasl.mechanism=PLAIN"}, {"--kafka.seed=a", "--connect.rate=0"}, {"--kafka.seed=a", "--sasl.password=x"},
	} {
		var serve syncBuffer
		Run(t.Context(), args, &serve, &serve)
		if code, _, stderr := tried(t.Context(), args...); code != statusUsage || stderr != serve.String() {
			t.Errorf("%v: status %d, %q, and serve says %q", args, code, stderr, serve.String())
		}
	}
}

// TestCheckStrict: warnings change the status only where that is wanted.
func TestCheckStrict(t *testing.T) {
	_, brokers, seed := scripted(t, 2)
	other := wiretest.NewCluster("cluster-a")
	other.Set(9, "127.0.0.1:1")
	brokers[1].On(kmsg.Metadata, wiretest.NewBroker(2, other, wiretest.Modern).Well)
	if code, stdout, _ := tried(t.Context(), "--kafka.seed="+seed); code != statusGood {
		t.Errorf("status %d:\n%s", code, stdout)
	}
	if code, stdout, _ := tried(t.Context(), "--kafka.seed="+seed, "--strict"); code != statusFail {
		t.Errorf("with --strict, status %d:\n%s", code, stdout)
	}
}

// TestCheckOutputs: every form is whole, and for another reader.
func TestCheckOutputs(t *testing.T) {
	_, _, seed := scripted(t, 2)
	code, stdout, _ := tried(t.Context(), "--kafka.seed="+seed, "--output=json", "--kafka.cluster=main")
	var document check.Document
	if err := json.Unmarshal([]byte(stdout), &document); err != nil || code != 0 || document.Status != check.StatusWell || document.Clusters[0].Cluster != "main" {
		t.Errorf("status %d, %v:\n%s", code, err, stdout)
	}
	code, stdout, _ = tried(t.Context(), "--kafka.seed="+seed, "--output=prometheus", "--kafka.cluster=main")
	if code != 0 || hasLines(stdout, []string{`kafka_connection_broker_reachable{kafka_cluster="main",broker_id="2"} 1`}) != nil {
		t.Errorf("status %d:\n%s", code, stdout)
	}
	if _, stdout, _ = tried(t.Context(), "--kafka.seed="+seed, "--color=always"); !strings.Contains(stdout, "\x1b[32m") {
		t.Errorf("no colour:\n%s", stdout)
	}
}

// TestCheckWaits: --wait goes on until the cluster is there.
func TestCheckWaits(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	cluster := wiretest.NewCluster("cluster-a")
	cluster.Set(1, address)
	time.AfterFunc(300*time.Millisecond, func() {
		if l, err := wiretest.ListenAgain(address); err == nil {
			wiretest.ServeListener(t, l, wiretest.NewBroker(1, cluster, wiretest.Modern).Serve)
		}
	})
	if code, stdout, _ := tried(t.Context(), "--kafka.seed="+address, "--wait=20s"); code != statusGood {
		t.Errorf("status %d:\n%s", code, stdout)
	}
}

// TestCheckWaitsWithoutLocking: a wrong password is not tried again and again while it waits.
func TestCheckWaitsWithoutLocking(t *testing.T) {
	_, brokers, seed := scripted(t, 2)
	accounts := wiretest.NewAccounts("right", 0, 0)
	for _, b := range brokers {
		b.Require(accounts)
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	code, stdout, _ := tried(t.Context(), "--kafka.seed="+seed, "--wait=1m", "--sasl.mechanism=PLAIN", "--sasl.username=me", "--sasl.password-file="+file)
	if n := len(accounts.Attempts()); code != statusFail || n != 1 || time.Since(start) > 20*time.Second {
		t.Errorf("status %d after %d attempts in %s:\n%s", code, n, time.Since(start), stdout)
	}
}

// TestCheckInterrupted: Ctrl-C shows what is known.
func TestCheckInterrupted(t *testing.T) {
	cluster, _, seed := scripted(t, 2)
	cluster.Set(2, fmt.Sprintf("127.0.0.1:%d", wiretest.BlackholePort(t)))
	for name, args := range map[string][]string{"in a check": nil, "while it waits": {"--connect.timeout=100ms", "--wait=1m"}} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, context.Canceled)
		code, stdout, _ := tried(withCancel(ctx), append(args, "--kafka.seed="+seed)...)
		cancel()
		if code != statusInterrupted || !strings.Contains(stdout, "interrupted") || !strings.Contains(stdout, "1 of 2 brokers") {
			t.Errorf("%s: status %d:\n%s", name, code, stdout)
		}
	}
}

// withCancel is cancelled when ctx ends, as by a signal.
func withCancel(ctx context.Context) context.Context {
	signalled, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, cancel)
	return signalled
}

// TestCheckFile: the clusters of a file are checked side by side, those that are named or all; a mistake is told at its line.
func TestCheckFile(t *testing.T) {
	_, _, good := scripted(t, 2)
	broken, _, bad := scripted(t, 2)
	broken.Set(2, fmt.Sprintf("127.0.0.1:%d", wiretest.ClosedPort(t)))
	file := filepath.Join(t.TempDir(), "clusters.yml")
	text := fmt.Sprintf("clusters:\n  - name: main\n    seeds: [%q]\n  - name: other\n    seeds: [%q]\n  - name: secret\n    seeds: [a]\n    tls: {enabled: true, ca_file: nope.pem}\n", good, bad)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names []string
		code  int
		says  string
	}{
		{[]string{"main"}, statusGood, "main: cluster cluster-a, 2 brokers"},
		{[]string{"main", "other"}, statusFail, "other: cluster cluster-a, 2 brokers"},
		{[]string{"nobody"}, statusUsage, "it has main, other, secret"},
		{nil, statusUsage, "nope.pem"},
	} {
		code, stdout, stderr := tried(t.Context(), append([]string{"--config.file=" + file}, c.names...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%v: status %d, want %d with %q:\n%s%s", c.names, code, c.code, c.says, stdout, stderr)
		}
	}
	if err := os.WriteFile(file, []byte("clusters:\n  - nom: main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := tried(t.Context(), "--config.file="+file); code != statusUsage || !strings.Contains(stderr, "clusters.yml:2:") {
		t.Errorf("status %d, %s", code, stderr)
	}
}

func TestClustersToCheck(t *testing.T) {
	o := &options{cluster: config.Cluster{Name: "main"}}
	o.check.clusters = []string{"main", "main"}
	if all, err := o.clustersToCheck(); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	o.check.clusters = []string{"main", "other"}
	if _, err := o.clustersToCheck(); err == nil || !strings.Contains(err.Error(), "it has main") {
		t.Errorf("%v", err)
	}
}

func TestLocale(t *testing.T) {
	for want, all := range map[bool][]map[string]string{
		true:  {{"LANG": "en_US.UTF-8"}, {"LC_ALL": "C.utf8", "LANG": "C"}, {"LC_CTYPE": "de_DE.UTF-8"}},
		false: {{}, {"LANG": "C"}, {"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}},
	} {
		for _, env := range all {
			if isUTF8(func(name string) string { return env[name] }) != want {
				t.Errorf("%v: want %t", env, want)
			}
		}
	}
}
