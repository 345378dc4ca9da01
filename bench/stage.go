package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// stage lends wiretest, whose helpers want a test, to a program: what they open is closed by close. Methods of testing.TB
// that they do not use are missing.
type stage struct {
	testing.TB
	mu       sync.Mutex
	cleanups []func()
	built    func() string
}

func newStage() *stage {
	s := &stage{}
	s.built = sync.OnceValue(s.build)
	return s
}

// Helper implements testing.TB.
func (s *stage) Helper() {}

// Fatal implements testing.TB: it ends the program. What is open ends with it.
func (s *stage) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, "bench:", fmt.Sprint(args...))
	s.close()
	os.Exit(1)
}

// Cleanup implements testing.TB.
func (s *stage) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

// close undoes everything, the last first.
func (s *stage) close() {
	s.mu.Lock()
	all := s.cleanups
	s.cleanups = nil
	s.mu.Unlock()
	for _, f := range slices.Backward(all) {
		f()
	}
}

// nested returns a stage of its own for a part of the work, which shares the exporter's binary.
func (s *stage) nested() *stage {
	n := &stage{built: s.built}
	s.Cleanup(n.close)
	return n
}

// closeOnSignal leaves no process behind when this one is told to end.
func (s *stage) closeOnSignal() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-told
		s.close()
		os.Exit(1)
	}()
}

// build builds the exporter from the folder above, as a user would, and returns the path.
func (s *stage) build() string {
	dir, err := os.MkdirTemp("", "exporter-bench-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "kafka_connection_exporter")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, ".")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatal(fmt.Sprintf("build the exporter: %v\n%s", err, out))
	}
	return path
}
