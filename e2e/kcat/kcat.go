//go:build e2e

package kcat

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/need"
)

// How long kcat waits for an answer, in seconds; less where none is expected.
const (
	listTimeout    = "3"
	silenceTimeout = "1"
)

// List is kcat -L: the addresses, by id, of the brokers that are named to a client which starts at the seeds. The options are librdkafka's,
// written name=value.
func List(t testing.TB, seeds string, options ...string) (map[int]string, error) {
	t.Helper()
	return list(t, listTimeout, seeds, options)
}

func list(t testing.TB, timeout, seeds string, options []string) (map[int]string, error) {
	t.Helper()
	args := []string{"-L", "-J", "-m", timeout, "-b", seeds, "-X", "broker.address.family=v4"}
	for _, o := range options {
		args = append(args, "-X", o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var complaints strings.Builder
	cmd := exec.CommandContext(ctx, need.Path(t, "kcat"), args...)
	cmd.Stderr = &complaints
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kcat -L -b %s: %w\n%s", seeds, err, complaints.String())
	}
	var answer struct {
		Brokers []struct {
			ID   int
			Name string
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("kcat -L -b %s: %w\n%s", seeds, err, text)
	}
	named := map[int]string{}
	for _, b := range answer.Brokers {
		named[b.ID] = b.Name
	}
	return named, nil
}

// AwaitList returns when kcat -L lists exactly these brokers.
func AwaitList(t testing.TB, timeout time.Duration, seeds string, want map[int]string, options ...string) {
	t.Helper()
	await(t, timeout, func() error {
		got, err := List(t, seeds, options...)
		if err == nil && !maps.Equal(got, want) {
			err = fmt.Errorf("kcat -L -b %s lists %v, want %v", seeds, got, want)
		}
		return err
	})
}

// AwaitSilence returns when kcat gets no answer from the broker at addr.
func AwaitSilence(t testing.TB, timeout time.Duration, addr string, options ...string) {
	t.Helper()
	await(t, timeout, func() error {
		if named, err := list(t, silenceTimeout, addr, options); err == nil {
			return fmt.Errorf("kcat -L -b %s lists %v, want no answer", addr, named)
		}
		return nil
	})
}

func await(t testing.TB, timeout time.Duration, f func() error) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", timeout, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
