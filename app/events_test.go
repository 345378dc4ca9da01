package app

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

// logged runs an eventLog inside a bubble for as long as scenario does, and returns the lines that it wrote.
func logged(t *testing.T, scenario func(*eventLog)) []string {
	t.Helper()
	var text bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		l := newEventLog(log.NewLogfmtLogger(&text))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { l.run(ctx); close(done) }()
		scenario(l)
		cancel()
		<-done
	})
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("line %d is %s, want %s", i, got[i], want[i])
		}
	}
}

func unreachable(target string, r wire.Reason) manager.Event {
	return manager.Event{Kind: manager.EventUnreachable, Target: target, Address: "b.test:9092",
		Failure: &manager.Failure{Phase: wire.PhaseDial, Reason: r, Text: "the cause"}}
}

func reachable(target string) manager.Event {
	return manager.Event{Kind: manager.EventReachable, Target: target, Address: "b.test:9092"}
}

func TestEventLine(t *testing.T) {
	got := logged(t, func(l *eventLog) {
		l.add(unreachable("broker 3", wire.ReasonRefused))
		l.add(manager.Event{Kind: manager.EventRefreshed})
	})
	wantLines(t, got,
		`level=warn msg="cannot be reached" target="broker 3" address=b.test:9092 phase=dial reason=refused err="the cause"`,
		`level=info msg="metadata refresh succeeded"`)
}

func TestEveryKindHasWords(t *testing.T) {
	for kind := range manager.EventLoopback + 1 {
		if eventWords[kind].text == "" || eventWords[kind].level == nil {
			t.Errorf("an event of kind %d has no words", kind)
		}
	}
}

// TestNewChangesAreLoggedAtOnce even of a target that has just been logged.
func TestNewChangesAreLoggedAtOnce(t *testing.T) {
	got := logged(t, func(l *eventLog) {
		l.add(unreachable("broker 3", wire.ReasonRefused))
		l.add(unreachable("broker 3", wire.ReasonTimeout))
		l.add(reachable("broker 3"))
		l.add(unreachable("broker 4", wire.ReasonRefused))
	})
	wantLines(t, got, "reason=refused", "reason=timeout", "can be reached", `target="broker 4"`)
}

// TestFlapping: what repeats is counted, and where it ends is told once it has settled.
func TestFlapping(t *testing.T) {
	got := logged(t, func(l *eventLog) {
		for range 5 {
			l.add(unreachable("broker 3", wire.ReasonRefused))
			l.add(reachable("broker 3"))
			time.Sleep(10 * time.Second)
		}
		l.add(unreachable("broker 3", wire.ReasonRefused))
		time.Sleep(5 * time.Minute)
	})
	wantLines(t, got,
		"cannot be reached", "can be reached", "cannot be reached", "can be reached",
		`msg="repeated changes of state were counted instead of logged" count=7`,
		`msg="cannot be reached" target="broker 3" address=b.test:9092 phase=dial reason=refused err="the cause" suppressed=7`)
}

func TestRepeatsAreLoggedAgainAfterAWhile(t *testing.T) {
	got := logged(t, func(l *eventLog) {
		l.add(unreachable("broker 3", wire.ReasonRefused))
		time.Sleep(repeat)
		l.add(unreachable("broker 3", wire.ReasonRefused))
		time.Sleep(repeat + settled)
		synctest.Wait()
		if len(l.targets) != 0 {
			t.Errorf("%d targets are remembered for ever", len(l.targets))
		}
	})
	wantLines(t, got, "cannot be reached", "cannot be reached")
}

// TestCaseC43LogIsBounded: a hundred dead targets whose two families fail in different ways, for ten minutes.
// Done: 100 targets change between two reasons every 10 s for 10 minutes
// Shows: at least 200 lines and fewer than 500
func TestCaseC43LogIsBounded(t *testing.T) {
	got := logged(t, func(l *eventLog) {
		for range 60 {
			for target := range 100 {
				l.add(unreachable(fmt.Sprint("broker ", target), wire.ReasonRefused))
				l.add(unreachable(fmt.Sprint("broker ", target), wire.ReasonUnreachable))
			}
			time.Sleep(10 * time.Second)
		}
	})
	if len(got) >= 500 || len(got) < 200 {
		t.Errorf("%d lines", len(got))
	}
}

// TestSlowLog: a log that does not take lines must not hold up who has events.
func TestSlowLog(t *testing.T) {
	got := logged(t, func(l *eventLog) {
		release := make(chan struct{})
		inner := l.logger
		l.logger = log.LoggerFunc(func(keyvals ...any) error { <-release; return inner.Log(keyvals...) })
		l.add(reachable("broker 0"))
		synctest.Wait()
		for range eventQueue + 5 {
			l.add(reachable("broker 1"))
		}
		close(release)
		synctest.Wait()
	})
	wantLines(t, got, "broker 0", "broker 1", "broker 1", "broker 1", "broker 1", "count=4092", `msg="changes of state were lost because the log is too slow" count=5`)
}
