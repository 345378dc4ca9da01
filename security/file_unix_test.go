//go:build unix

package security

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipeIsNoSecretFile: to open a pipe waits for who writes to it, and would hold up the start and every connection.
func TestPipeIsNoSecretFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(pipe); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}
