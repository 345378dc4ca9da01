//go:build e2e

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec says what to run. Output goes to the end of the file Log, both streams.
type Spec struct {
	Name string
	Path string
	Args []string
	Env  []string
	Dir  string
	Log  string
}

// Process is one child in a process group of its own. The kernel kills it when this process dies, however it dies.
type Process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// spawner runs every fork on one thread that never ends, because the kernel ties Pdeathsig to the forking thread.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// Start runs the process and returns as soon as it exists.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", spec.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = spec.Dir, log, log
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	spawner() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	p := &Process{name: spec.Name, cmd: cmd, log: spec.Log, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID is the process id, which is also the id of its process group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed once the process has ended and has been reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running says whether the process has not ended yet; a stopped (SIGSTOP) one is running.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ExitCode is valid after Done; it is -1 when a signal ended the process.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Signal sends sig to the whole group. A process that has ended is no error.
func (p *Process) Signal(sig syscall.Signal) error {
	err := syscall.Kill(-p.PID(), sig)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to %s: %w", sig, p.name, err)
	}
	return nil
}

// Kill sends SIGKILL and waits until the process is gone.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL, 10*time.Second) }

// Terminate sends SIGTERM and waits for the end, no longer than timeout.
func (p *Process) Terminate(timeout time.Duration) error { return p.end(syscall.SIGTERM, timeout) }

func (p *Process) end(sig syscall.Signal, timeout time.Duration) error {
	if !p.Running() {
		return nil
	}
	if err := p.Signal(sig); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(timeout):
		return fmt.Errorf("%s (pid %d) still runs %v after %v", p.name, p.PID(), timeout, sig)
	}
}

// Log is everything the process has written so far.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Tail is the last lines of the log.
func (p *Process) Tail(lines int) string {
	all := strings.Split(strings.TrimRight(p.Log(), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
