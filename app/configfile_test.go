package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafka_connection_exporter/config"
)

// checked runs the program with a file of clusters.
func checkedFile(t *testing.T, content string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clusters.yml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = Run(t.Context(), append(args, "--config.file="+path), &out, &errs)
	return code, out.String(), strings.ReplaceAll(errs.String(), filepath.Dir(path)+"/", "")
}

// TestCheckOfFile: status 1 and a line for each mistake, of the file and of the files that it names.
func TestCheckOfFile(t *testing.T) {
	code, stdout, stderr := checkedFile(t, "clusters: [{name: a, seeds: [a]}, {name: b, seeds: [b]}]", "--config.check")
	if code != 0 || stdout != "The configuration is valid. Clusters: 2.\n" || stderr != "" {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
	for content, want := range map[string]string{
		"clusters: [{name: a}]\ntls: {}": name + ": error: clusters.yml:1:12: a cluster has no seeds, add seeds: with one broker or more as host:port\n" +
			name + ": error: clusters.yml:2:1: the key \"tls\" belongs to a cluster, or under defaults, and not to the top of the file\n",
		"clusters: [{name: a, seeds: [a], tls: {enabled: true, ca_file: x}}]": name + ": error: clusters.yml:1:12: TLS ca file x: no such file or directory\n",
	} {
		for _, flag := range []string{"--config.check", "--config.print"} {
			if code, stdout, stderr := checkedFile(t, content, flag); code != 1 || stdout != "" || stderr != want {
				t.Errorf("%s: status %d: %s%s", flag, code, stdout, stderr)
			}
		}
	}
}

// TestPrint: what is printed is a file for --config.file, also where flags said it.
func TestPrint(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"--config.print", "--kafka.seed=a,b:1", "--kafka.cluster=main", "--check.interval=7s"}, &stdout, &stderr); code != 0 {
		t.Fatalf("status %d: %s", code, &stderr)
	}
	code, again, errs := checkedFile(t, stdout.String(), "--config.print")
	if code != 0 || again != stdout.String() || !strings.Contains(again, "interval: 7s") {
		t.Errorf("status %d: %s%s, from %s", code, errs, again, &stdout)
	}
}

// TestFlagsOfClustersAndFile: every flag about a cluster, and every variable of one, is named.
func TestFlagsOfClustersAndFile(t *testing.T) {
	for _, s := range config.Settings() {
		variables := []string{s.Variable()}
		if secret := s.SecretVariable(); secret != "" {
			variables = append(variables, secret)
		}
		for _, variable := range variables {
			t.Run(variable, func(t *testing.T) {
				value := s.Default
				if _, isBool := s.Field(&config.Cluster{}).(*bool); isBool || value == "" {
					value = "true"
				}
				t.Setenv(variable, value)
				if code, _, stderr := checkedFile(t, ""); code != 2 || !strings.Contains(stderr, "the variable "+variable+" cannot be given together") {
					t.Errorf("status %d: %s", code, stderr)
				}
			})
		}
	}
	code, _, stderr := checkedFile(t, "", "--tls", "--check.interval=1s", "--sasl.username=hunter2")
	if code != 2 || !strings.Contains(stderr, "--check.interval, --tls, --sasl.username cannot be given") || strings.Contains(stderr, "hunter2") {
		t.Errorf("status %d: %s", code, stderr)
	}
}
