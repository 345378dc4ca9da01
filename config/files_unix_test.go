//go:build unix

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFilesThatAreNone: what cannot be read is one sentence, and holds nobody up.
func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	large := two + "#" + strings.Repeat("x", maxFile)
	must(os.Mkdir(path("dir"), 0o755), syscall.Mkfifo(path("pipe"), 0o600), os.Symlink("loop", path("loop")),
		os.Symlink("gone", path("dangling")), os.WriteFile(path("large"), []byte(large), 0o600), os.WriteFile(path("closed"), []byte(two), 0))
	want := map[string]string{
		"missing":  "the file cannot be read: no such file or directory",
		"dir":      "this is a directory, name a file; several files are named by cluster_files",
		"pipe":     "this is no regular file, name one",
		"loop":     "the file cannot be read: too many levels of symbolic links",
		"dangling": "the file cannot be read: no such file or directory",
		"large":    "the file is larger than 4 MiB, share its clusters out over cluster_files",
		"closed":   "the file cannot be read: permission denied",
	}
	if os.Geteuid() == 0 {
		delete(want, "closed") // to whom it is open
	}
	for name, sentence := range want {
		says(t, path(name), name+":1:1: "+sentence)
		must(os.WriteFile(path("main"), []byte(two+"cluster_files: ["+name+"]"), 0o600))
		says(t, path("main"), "main:2:17: "+name+": "+sentence)
	}
	if f, err := Load(path("missing")); len(f.Files) != 1 || errors.Is(err, fs.ErrInvalid) {
		t.Errorf("files to watch: %q", f.Files)
	}
}

// TestFollowedByName: where the file is a link, as in a ConfigMap, paths are relative to the link, which stays.
func TestFollowedByName(t *testing.T) {
	real := write(t, "v1/c.yml", "clusters: [{name: a, seeds: [a], tls: {enabled: true, ca_file: ca.pem}}]")
	link := filepath.Join(filepath.Dir(filepath.Dir(real)), "c.yml")
	if err := os.Symlink("v1/c.yml", link); err != nil {
		t.Fatal(err)
	}
	f, err := Load(link)
	if err != nil || f.Clusters[0].TLS.CAFile != filepath.Join(filepath.Dir(link), "ca.pem") {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestEachFileOnce: one that two patterns name, or that names itself, is read once.
func TestEachFileOnce(t *testing.T) {
	f := load(t, "a[b]/c.yml", two+"cluster_files: ['*.yml', d.yml, './d.yml']", "a[b]/d.yml", "clusters: [{name: d, seeds: [d]}]")
	if len(f.Files) != 2 || len(f.Clusters) != 3 {
		t.Errorf("%q and %d clusters", f.Files, len(f.Clusters))
	}
}

// TestCheckFiles: a file that a cluster names is looked for, and its content is not shown.
func TestCheckFiles(t *testing.T) {
	path := write(t, "c.yml", "clusters:\n- {name: a, seeds: [a], sasl: {mechanism: PLAIN, username: u, password_file: p}}\n- {name: b, seeds: [b], sasl: {mechanism: PLAIN, username: u, password_file: q}}\n- {name: c, seeds: [c], sasl: {mechanism: PLAIN, username: u, password_file: r}}",
		"p", secretText+"\n", "q", secretText+"\n"+secretText)
	f, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path) + "/"
	want := "c.yml:3:3: SASL PLAIN: the password: q has more than one line, or a zero byte\nc.yml:4:3: SASL PLAIN: the password: r: no such file or directory"
	if err := f.CheckFiles(); err == nil || strings.ReplaceAll(err.Error(), dir, "") != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := f.Blame("b", errors.New("of no use")); strings.ReplaceAll(err.Error(), dir, "") != "c.yml:3:3: of no use" {
		t.Error(err)
	}
}
