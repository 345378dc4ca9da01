package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// secretText is what no message may hold.
const secretText = "hunter2"

// write puts files, name and content in turn, into a directory and returns the path of the first one.
func write(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0])
}

// load returns the clusters of a file that is right.
func load(t *testing.T, files ...string) *File {
	t.Helper()
	f, err := Load(write(t, files...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// says compares every mistake with the lines of want, which leave out the directory.
func says(t *testing.T, path, want string) {
	t.Helper()
	f, err := Load(path)
	if err == nil {
		t.Errorf("it is right: %+v", f.Clusters)
		return
	}
	if len(f.Clusters) > 0 {
		t.Error("there are clusters in spite of a mistake")
	}
	got := strings.ReplaceAll(err.Error(), filepath.Dir(path)+string(filepath.Separator), "")
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if strings.Contains(got, secretText) {
		t.Errorf("a secret is in %s", got)
	}
}

const two = "clusters: [{name: a, seeds: [a:1]}, {name: b, seeds: [b:1]}]\n"

// TestMistakesOfAFile: each has one sentence at its line and column.
func TestMistakesOfAFile(t *testing.T) {
	for _, c := range mistakesOfFiles {
		t.Run(c[0], func(t *testing.T) { says(t, write(t, "c.yml", c[1]), c[2]) })
	}
}

// TestMistakesOfACluster: the same below a cluster that has a name and seeds.
func TestMistakesOfACluster(t *testing.T) {
	for _, c := range mistakesOfClusters {
		t.Run(c[0], func(t *testing.T) {
			says(t, write(t, "c.yml", "clusters:\n- name: a\n  seeds: [a:1]\n  "+c[0]+"\n"), "c.yml:4:"+c[1])
		})
	}
}

// TestAllMistakesAtOnce, in the order in which one reads, over several files.
func TestAllMistakesAtOnce(t *testing.T) {
	path := write(t, "c.yml", "defaults: {chek: {}}\nclusters:\n- {name: a, seeds: [a:1], tls: {enabled: 1}}\ncluster_files: [d/*.yml, none.yml]\n",
		"d/1.yml", "clusters: [{name: a, seeds: []}]", "d/2.yml", "cluster_files: []\nclusters: [{name: b}]")
	says(t, path, strings.Join([]string{
		`c.yml:1:12: unknown key "chek", the nearest one is check`,
		`c.yml:3:42: tls.enabled is "1", it must be true or false`,
		`c.yml:4:26: none.yml: the file cannot be read: no such file or directory`,
		`d/1.yml:1:19: the name "a" is there twice, the first time at c.yml:3:10: every cluster has another one`,
		`d/1.yml:1:29: seeds is empty, name at least one broker as host:port`,
		`d/2.yml:1:1: cluster_files can only stand in the first file, name these files there`,
		`d/2.yml:2:12: a cluster has no seeds, add seeds: with one broker or more as host:port`,
	}, "\n"))
}

// TestManyMistakes: a hundred are told, and no file, however large, is more than that.
func TestManyMistakes(t *testing.T) {
	list := strings.Repeat("k=v,", 99) + "k=v"
	for name, content := range map[string]string{
		"wrong everywhere": "clusters:\n" + strings.Repeat("- {a: }\n", 5_000),
		"no clusters":      "clusters:\n" + strings.Repeat("- a\n", 100_000),
		"brackets":         strings.Repeat("[", 1_000_000),
		"braces":           strings.Repeat("{a: ", 100_000),
		"keys":             strings.Repeat("aaaaaaaaaaaaaaaaaaa: \n", 20_000),
		"a long key":       strings.Repeat("a", 1_000_000) + ": 1\nclusters: []",
		"seeds":            "clusters: [{name: a, seeds: [" + strings.Repeat("a,", 50_000) + "]}]",
		"inherited": "defaults: {sasl: {mechanism: OAUTHBEARER, oauth: {token_file: f, extension: [" + list + "]}}}\nclusters:\n" +
			strings.Repeat("- {name: a, seeds: [a]}\n", 1_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(write(t, "c.yml", content))
			if err == nil || strings.Count(err.Error(), "\n") > mostProblems {
				t.Errorf("it is right, or there are too many mistakes: %.200v", err)
			}
		})
	}
	_, err := Load(write(t, "c.yml", "clusters:\n"+strings.Repeat("- {a: }\n", 1000)))
	if n := strings.Count(err.Error(), "\n"); n != mostProblems || !strings.HasSuffix(err.Error(), "mend those before them first") {
		t.Errorf("%d lines", n)
	}
}

// TestMostClusters: there is a limit to what one file of 4 MiB can make.
func TestMostClusters(t *testing.T) {
	l := newLoader()
	l.most = 1
	l.file(write(t, "c.yml", two), draft{Cluster: builtIn}, nil)
	if err := l.problems.join(); err == nil || !strings.HasSuffix(err.Error(), ":1:37: there are more than 1 clusters, share them out over several files and processes") {
		t.Error(err)
	}
}

// TestDefaults: keys are merged one by one, of the first file, of the file itself and of the cluster.
func TestDefaults(t *testing.T) {
	f := load(t, "c.yml", "defaults: {check: {interval: 7s, timeout: 2s}, tls: {enabled: true, ca_file: ca.pem, server_name_override: [a=b]}}\nclusters: [{name: a, seeds: [a:1], check: {timeout: 3s}}]\ncluster_files: [d/*.yml]",
		"d/t.yml", "defaults: {check: {timeout: 1s}, tls: {cert_file: c.pem, key_file: ../k.pem}}\nclusters: [{name: t, seeds: [t:1]}, {name: p, seeds: [p:1], tls: {enabled: false}}]",
		"d/.hidden.yml", "no: clusters")
	dir := filepath.Dir(f.Files[0])
	a, team, plain := f.Clusters[0], f.Clusters[1], f.Clusters[2]
	if a.CheckInterval != 7*time.Second || a.CheckTimeout != 3*time.Second || a.TLS.CAFile != dir+"/ca.pem" || a.TLS.CertFile != "" {
		t.Errorf("%+v", a)
	}
	if team.CheckInterval != 7*time.Second || team.CheckTimeout != time.Second || team.TLS.CAFile != dir+"/ca.pem" || team.TLS.CertFile != dir+"/d/c.pem" || team.TLS.KeyFile != dir+"/k.pem" {
		t.Errorf("%+v", team)
	}
	if plain.TLS.Enabled || plain.TLS.CAFile != "" || len(plain.TLS.ServerNames) != 0 {
		t.Errorf("what has no effect is kept: %+v", plain.TLS)
	}
	if len(f.Files) != 2 {
		t.Errorf("files %q", f.Files)
	}
}

// TestEqual: order, comments, spelling and where it is said change nothing; every value does.
func TestEqual(t *testing.T) {
	one := load(t, "c.yml", "clusters: [{name: a, seeds: [a:1, b:9092], check: {interval: 90s}, backoff: {base: 1s}, tls: {enabled: true, server_name_override: [b=c, a=c]}, sasl: {mechanism: SCRAM-SHA-512, username: u, password_file: /p}}]").Clusters[0]
	same := load(t, "c.yml", "# new\ndefaults: {check: {interval: 1m30s}, sasl: {mechanism: sha512}}\nclusters:\n- backoff:\n    base: 1000ms\n  seeds:\n  - \"b\"\n  - SASL_SSL://A:1\n  name: 'a'\n  tls: {server_name_override: [a=c, b=c], enabled: true}\n  sasl: {username: u, password_file: /p}\n").Clusters[0]
	if !one.Equal(&same) {
		t.Errorf("%+v and %+v", one, same)
	}
	for _, s := range Settings() {
		other := one
		switch field := s.Field(&other).(type) {
		case *string:
			*field += "x"
		case *[]string:
			*field = append([]string{"x"}, *field...)
		case *bool:
			*field = !*field
		case *int32:
			*field++
		case *float64:
			*field++
		case *time.Duration:
			*field++
		}
		if one.Equal(&other) {
			t.Errorf("--%s makes no difference", s.Flag)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1d": 24 * time.Hour, "1m30s": 90 * time.Second, "250ms": 250 * time.Millisecond, "1.5h": 90 * time.Minute, "2w": 336 * time.Hour,
		"1500us": 1500 * time.Microsecond,
	} {
		c := load(t, "c.yml", "clusters: [{name: a, seeds: [a], backoff: {base: 1ms}, check: {timeout: "+text+"}}]").Clusters[0]
		if c.CheckTimeout != want {
			t.Errorf("%s is %s", text, c.CheckTimeout)
		}
	}
}

// TestProblems are of one type, with the position.
func TestProblems(t *testing.T) {
	_, err := Load(write(t, "c.yml", "clusters:\n- {name: a}\n"))
	var p *Problem
	if !errors.As(err, &p) || p.Line != 2 || p.Column != 3 || filepath.Base(p.File) != "c.yml" || fmt.Sprint(p) != err.Error() {
		t.Errorf("%v", err)
	}
}

// TestHash is that of Alertmanager for one file, and changes with every file.
func TestHash(t *testing.T) {
	one := load(t, "c.yml", two+"cluster_files: [d/*.yml]")
	again, err := Load(one.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	more := load(t, "c.yml", two+"cluster_files: [d/*.yml]", "d/x.yml", "clusters: []")
	if one.Hash != again.Hash || one.Hash == more.Hash || one.Hash != float64(uint64(one.Hash)) || one.Hash >= 1<<48 {
		t.Errorf("%f, %f and %f", one.Hash, again.Hash, more.Hash)
	}
}
