package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad: any file is clusters that security and seeds have nothing against and that are printed and read as the same, or
// mistakes with positions within the file.
func FuzzLoad(f *testing.F) {
	example, err := os.ReadFile("testdata/clusters.yml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	f.Add(two)
	for _, c := range mistakesOfFiles {
		f.Add(c[1])
	}
	for _, c := range mistakesOfClusters {
		f.Add("clusters:\n- name: a\n  seeds: [a:1]\n  " + c[0] + "\n")
	}
	path := filepath.Join(f.TempDir(), "c.yml")
	f.Fuzz(func(t *testing.T, content string) {
		if strings.Contains(content, "cluster_files") {
			return // a file of the machine is no business of this test
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(path)
		if err != nil {
			checkProblems(t, content, err)
			return
		}
		for i := range loaded.Clusters {
			c := &loaded.Clusters[i]
			if _, err := c.SeedList(); err != nil || c.Check(KeyName) != nil || c.Name == "" {
				t.Errorf("%+v: %v, %v", c, err, c.Check(KeyName))
			}
		}
		again, err := Load(write(t, "c.yml", printed(t, loaded.Clusters)))
		if err != nil {
			t.Fatalf("what was printed: %v\n%s", err, printed(t, loaded.Clusters))
		}
		for i := range loaded.Clusters {
			if !loaded.Clusters[i].Equal(&again.Clusters[i]) {
				t.Errorf("%+v is read as %+v", loaded.Clusters[i], again.Clusters[i])
			}
		}
	})
}

func checkProblems(t *testing.T, content string, err error) {
	t.Helper()
	lines := bytes.Count([]byte(content), []byte("\n")) + strings.Count(content, "\r") + strings.Count(content, "\u0085") + strings.Count(content, "\u2028") + strings.Count(content, "\u2029") + 2
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%T", err)
	}
	line := 0
	for _, one := range joined.Unwrap() {
		var p *Problem
		if !errors.As(one, &p) || p.Line < max(line, 1) || p.Line > lines || p.Column < 1 || p.Text == "" || strings.ContainsAny(p.Text, "\r\n") {
			t.Fatalf("%+v of %d lines", one, lines)
		}
		line = p.Line
	}
}
