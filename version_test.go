package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVersionOfBuild: a binary of plain go build says which commit it is.
func TestVersionOfBuild(t *testing.T) {
	revision, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Skip("left out, this is no checkout: ", err)
	}
	binary := filepath.Join(t.TempDir(), "exporter")
	if out, err := exec.Command("go", "build", "-buildvcs=true", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(binary, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	// The toolchain's own version of a commit without a tag ends in the first letters of its hash.
	commit := strings.TrimSpace(string(revision))
	if text := string(out); !strings.Contains(text, commit) || !strings.Contains(text, commit[:12]) || strings.Contains(text, "version dev") {
		t.Errorf("built from %s, it says\n%s", commit, text)
	}
}
