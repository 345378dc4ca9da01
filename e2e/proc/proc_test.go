//go:build e2e

package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const panicEnv = "PROC_TEST_PANIC"

// TestChildDiesWithTest: a test that panics leaves no child behind.
func TestChildDiesWithTest(t *testing.T) {
	if dir := os.Getenv(panicEnv); dir != "" {
		p, err := Start(Spec{Name: "sleep", Path: "/bin/sleep", Args: []string{"60"}, Log: filepath.Join(dir, "log")})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("pid=%d\n", p.PID())
		panic("as ordered")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildDiesWithTest$")
	cmd.Env = append(os.Environ(), panicEnv+"="+t.TempDir())
	out, err := cmd.Output()
	if err == nil {
		t.Fatal("the inner test did not panic")
	}
	_, rest, _ := strings.Cut(string(out), "pid=")
	first, _, _ := strings.Cut(rest, "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("no pid in %q", out)
	}
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if dead(pid) {
			return
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Fatalf("process %d outlives its parent", pid)
}

// dead says whether a process is gone, or a zombie that waits for an init that never reaps.
func dead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// TestEnd: the exit status of a process that ends by itself, by SIGTERM and by SIGKILL.
func TestEnd(t *testing.T) {
	dir := t.TempDir()
	run := func(script string) *Process {
		p, err := Start(Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(dir, "log")})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := run("echo hello; exit 3")
	<-p.Done()
	if p.ExitCode() != 3 || p.Running() || p.Tail(1) != "hello" {
		t.Errorf("status %d, running %v, log %q", p.ExitCode(), p.Running(), p.Tail(1))
	}
	p = run("/bin/sleep 60 & wait")
	if err := p.Terminate(5 * time.Second); err != nil || p.ExitCode() != -1 {
		t.Errorf("SIGTERM: status %d, %v", p.ExitCode(), err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("Kill of an ended process: %v", err)
	}
}
