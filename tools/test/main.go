// Test runs every test that this machine can, and says at the end what it left out and which Debian packages bring that. It needs Go and
// nothing else.
//
//	go run ./tools/test            # in the root of the repository; make test is the same
//	go run ./tools/test -run C06   # flags are for go test
//
// With CI=true nothing may be left out: a missing tool is an error.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"kafka_connection_exporter/e2e/need"
)

// group is one go test. The packages of a group run side by side as far as there are processors.
type group struct {
	name string
	dir  string
	args []string
}

func main() {
	began := time.Now()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	race := raceDetector()
	packages, err := ownPackages()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r := newReport(os.Stdout)
	if !race {
		r.leaveOut("the race detector", "gcc")
	}
	shuffled := []string{"-shuffle=on", "-count=1", "-timeout=30m"}
	if race {
		shuffled = append(shuffled, "-race")
	}
	kafka := group{"e2e", ".", append([]string{"-tags=e2e", "./e2e/..."}, shuffled...)}
	units := group{"packages", ".", append(packages, shuffled...)}
	bench := group{"bench", "bench", []string{"-count=1", "./..."}}

	// The scenarios on real Kafka wait most of the time, so the rest goes on beside them.
	var lanes sync.WaitGroup
	for _, lane := range [][]group{{kafka}, {units, bench}} {
		lanes.Go(func() {
			for _, g := range lane {
				g.run(ctx, r, os.Args[1:])
			}
		})
	}
	lanes.Wait()
	if !r.close(time.Since(began)) {
		os.Exit(1)
	}
}

// raceDetector says whether go test -race works here.
func raceDetector() bool {
	_, found := need.Find("gcc")
	return (found || os.Getenv("CC") != "") && os.Getenv("CGO_ENABLED") != "0"
}

// ownPackages are those of the module without e2e.
func ownPackages() ([]string, error) {
	cmd := exec.Command("go", "list", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var own []string
	for _, pkg := range strings.Fields(string(out)) {
		if !strings.Contains(pkg+"/", "/e2e/") {
			own = append(own, pkg)
		}
	}
	return own, nil
}

// run runs go test and tells the report what it says.
func (g group) run(ctx context.Context, r *report, flags []string) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"test", "-json"}, flags...), g.args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it takes its tests along
	cmd.Dir = g.dir
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		r.broken(g, err)
		return
	}
	done := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = writer.Close()
		done <- err
	}()
	failed := r.follow(reader)
	err := <-done
	var exit *exec.ExitError
	if err != nil && (!failed || !errors.As(err, &exit)) {
		r.broken(g, err)
	}
	r.finished(g, time.Since(began))
}
