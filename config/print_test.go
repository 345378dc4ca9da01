package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/security"
)

var update = flag.Bool("update", false, "write what is made from the table of settings: docs and golden files")

// compare compares got with a file, or writes it.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s is not what the table of settings makes, %v; run go test ./config -update", path, err)
	}
}

// TestExample: the example of the README, as it is effective.
func TestExample(t *testing.T) {
	f, err := Load("testdata/clusters.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "testdata/effective.yml", strings.ReplaceAll(printed(t, f.Clusters), dir, "/etc/exporter"))
}

// TestREADMEExamples: what is shown there is what is tested here.
func TestREADMEExamples(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for file, fence := range map[string]string{"clusters.yml": "```yaml\n", "mistakes.yml": "```yaml\n", "mistakes.txt": "```\n"} {
		content, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(readme), fence+string(content)+"```\n") {
			t.Errorf("README.md does not have config/testdata/%s", file)
		}
	}
	_, err = Load("testdata/mistakes.yml")
	if err == nil {
		t.Fatal("the mistakes are none")
	}
	compare(t, "testdata/mistakes.txt", strings.ReplaceAll(err.Error(), "testdata/", "")+"\n")
}

func printed(t testing.TB, clusters []Cluster) string {
	t.Helper()
	var b bytes.Buffer
	if err := Print(&b, clusters); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// full has another value than the default in every setting of one mechanism.
func full(t testing.TB, mechanism need) Cluster {
	c := builtIn
	for i, s := range table {
		switch field := s.field(&c).(type) {
		case *string:
			*field = "/x" + string(rune('a'+i))
		case *[]string:
			*field = []string{"k=v", "é: #=\"'"}
		case *bool:
			*field = true
		case *int32:
			*field = 7
		case *float64:
			*field = 1e6
		case *time.Duration:
			*field = 90*time.Second + time.Duration(i)*time.Millisecond
		}
		if s.needs >= needsUser && s.needs != mechanism {
			s.reset(&c)
		}
	}
	c.Name, c.Seeds, c.TLS.MinVersion, c.BackoffMax = " - yes: #\n\"'", []string{"a:1", "[::1]:2"}, "1.3", 36*time.Hour
	c.SASL.OAuth.TokenFile, c.SASL.OAuth.TokenURL = "", "https://x"
	if c.SASL.Mechanism = mechanism.mechanisms()[0]; mechanism != needsOAuth {
		c.SASL.OAuth = builtIn.SASL.OAuth
	} else {
		c.SASL.OAuth.Extensions = []string{"k=v: 'w'"}
	}
	return c
}

// TestPrintIsRead: what is printed stands for the same clusters.
func TestPrintIsRead(t *testing.T) {
	for _, mechanism := range []need{needsUser, needsOAuth, needsKerberos} {
		c := full(t, mechanism)
		text := printed(t, []Cluster{c})
		f, err := Load(write(t, "c.yml", text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !c.Equal(&f.Clusters[0]) {
			t.Errorf("%+v\n%+v\n%s", c, f.Clusters[0], text)
		}
	}
}

// TestPrintHidesSecrets of the environment; those of files are never read.
func TestPrintHidesSecrets(t *testing.T) {
	c := full(t, needsUser)
	c.SASL.PasswordFile = ""
	c.Environment.Password = security.SecretValue(secretText)
	if text := printed(t, []Cluster{c}); strings.Contains(text, secretText) {
		t.Error(text)
	}
}

// TestTable: every row is complete and there once.
func TestTable(t *testing.T) {
	var flags, paths []string
	for _, s := range Settings() {
		flags, paths = append(flags, s.Flag), append(paths, s.Key())
		if s.Help == "" || !strings.HasSuffix(s.Help, ".") || s.secret != nil && !strings.HasSuffix(s.Flag, "-file") {
			t.Errorf("%+v", s)
		}
		if s.path != strings.HasSuffix(s.Flag, "-file") {
			t.Errorf("--%s: is it a file?", s.Flag)
		}
	}
	for _, all := range [][]string{flags, paths} {
		slices.Sort(all)
		if len(slices.Compact(all)) != len(table) {
			t.Errorf("one is there twice: %q", all)
		}
	}
}
