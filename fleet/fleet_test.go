package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a manager whose first round takes a while.
type fake struct {
	config  string
	first   chan struct{}
	running atomic.Int64
}

var errSpoilt = errors.New("spoilt")

// newFake understands "takes 3s", "never" and "spoilt" as configurations.
func newFake(p Plan[string]) (*fake, error) {
	if p.Config == "spoilt" {
		return nil, fmt.Errorf("%s: %w", p.Name, errSpoilt)
	}
	return &fake{config: p.Config, first: make(chan struct{})}, nil
}

func (f *fake) FirstRound() <-chan struct{} { return f.first }

func (f *fake) Run(ctx context.Context) error {
	f.running.Add(1)
	defer f.running.Add(-1)
	wait, _ := time.ParseDuration(strings.TrimPrefix(f.config, "takes "))
	if f.config == "gives up" {
		return errSpoilt
	}
	if f.config != "never" {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		close(f.first)
	}
	<-ctx.Done()
	return nil
}

func plans(list ...string) (all []Plan[string]) {
	for _, text := range list {
		name, config, _ := strings.Cut(text, ":")
		all = append(all, Plan[string]{name, config, 20 * time.Second})
	}
	return all
}

type stage struct {
	*testing.T
	*Fleet[string, *fake]
	done chan error
	stop context.CancelFunc
}

func inFleet(t *testing.T, first []Plan[string], f func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t, New(newFake, func(a, b string) bool { return a == b }), make(chan error, 1), nil}
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		go func() { s.done <- s.Fleet.Run(ctx, first) }()
		synctest.Wait()
		f(s)
		stop()
		synctest.Wait()
		for _, c := range s.Clusters() {
			if n := c.Manager.running.Load(); n != 0 {
				t.Errorf("%s still runs", c.Name)
			}
		}
	})
}

func (s *stage) want(list ...string) {
	s.Helper()
	var got []string
	for _, c := range s.Clusters() {
		got = append(got, c.Name+":"+c.Manager.config)
	}
	if !slices.Equal(got, list) {
		s.Errorf("shown are %q, want %q", got, list)
	}
}

func (s *stage) change(want string, list ...string) {
	s.Helper()
	changes, err := s.Apply(plans(list...))
	if got := changes.String(); err != nil || got != want {
		s.Errorf("%s, %v, want %s", got, err, want)
	}
	synctest.Wait()
}

func (s *stage) after(d time.Duration) { time.Sleep(d); synctest.Wait() } // the bubble's clock

// TestUnchangedGoOn: they keep their manager, whatever happens to others.
func TestUnchangedGoOn(t *testing.T) {
	inFleet(t, plans("b:takes 0s", "a:takes 0s"), func(s *stage) {
		before := s.Clusters()[0].Manager
		s.change("1 added, 0 changed, 1 removed, 1 unchanged", "a:takes 0s", "c:takes 0s")
		s.want("a:takes 0s", "c:takes 0s")
		if s.Clusters()[0].Manager != before {
			s.Error("a was started anew")
		}
	})
}

// TestChangedIsSwapped: the old one is shown and works until the new one has something to show, or its grace has passed.
func TestChangedIsSwapped(t *testing.T) {
	inFleet(t, plans("a:takes 0s"), func(s *stage) {
		old := s.Clusters()[0].Manager
		for config, after := range map[string]time.Duration{"takes 3s": 3 * time.Second, "never": 20 * time.Second} {
			shown := s.Clusters()[0].Manager
			s.change("0 added, 1 changed, 0 removed, 0 unchanged", "a:"+config)
			s.after(after - time.Millisecond)
			if s.Clusters()[0].Manager != shown || shown.running.Load() != 1 {
				s.Errorf("%s: swapped too early", config)
			}
			s.after(time.Millisecond)
			s.want("a:" + config)
			if shown.running.Load() != 0 {
				s.Errorf("%s: the old one still runs", config)
			}
		}
		if old.running.Load() != 0 {
			s.Error("the first one still runs")
		}
	})
}

// TestChangedAgain before the swap: the last word counts, also if it is the first one again.
func TestChangedAgain(t *testing.T) {
	inFleet(t, plans("a:takes 0s"), func(s *stage) {
		s.change("0 added, 1 changed, 0 removed, 0 unchanged", "a:takes 5s")
		s.after(time.Second)
		s.change("0 added, 1 changed, 0 removed, 0 unchanged", "a:takes 6s")
		s.change("0 added, 0 changed, 0 removed, 1 unchanged", "a:takes 6s")
		s.after(5 * time.Second)
		s.want("a:takes 0s")
		s.after(time.Second)
		s.want("a:takes 6s")
		s.change("0 added, 1 changed, 0 removed, 0 unchanged", "a:takes 7s")
		s.change("0 added, 0 changed, 0 removed, 1 unchanged", "a:takes 6s")
		s.after(time.Minute)
		s.want("a:takes 6s")
		s.change("0 added, 1 changed, 0 removed, 0 unchanged", "a:takes 8s")
		s.change("0 added, 0 changed, 1 removed, 0 unchanged")
		s.after(time.Minute)
		s.want()
	})
}

// TestAllOrNothing: one that cannot be built leaves everything as it is.
func TestAllOrNothing(t *testing.T) {
	inFleet(t, plans("a:takes 0s"), func(s *stage) {
		changes, err := s.Apply(plans("b:spoilt", "c:takes 0s", "d:spoilt"))
		if changes != (Changes{}) || !errors.Is(err, errSpoilt) || strings.Count(err.Error(), "spoilt") != 2 {
			s.Errorf("%v, %v", changes, err)
		}
		s.after(time.Minute)
		s.want("a:takes 0s")
	})
}

// TestReady: after the first round of all that were there at the start, whatever is added meanwhile; who is removed is not waited for.
func TestReady(t *testing.T) {
	inFleet(t, plans("a:takes 5s", "b:takes 1h"), func(s *stage) {
		s.change("1 added, 0 changed, 0 removed, 2 unchanged", "a:takes 5s", "b:takes 1h", "c:never")
		isReady := func() bool {
			select {
			case <-s.Ready():
				return true
			default:
				return false
			}
		}
		s.after(10 * time.Second)
		if isReady() {
			s.Error("ready although b is not")
		}
		s.change("0 added, 0 changed, 1 removed, 2 unchanged", "a:takes 5s", "c:never")
		s.after(time.Second)
		if !isReady() {
			s.Error("not ready although b is gone")
		}
	})
}

// TestOneGivesUp: its error ends the fleet, and names it.
func TestOneGivesUp(t *testing.T) {
	inFleet(t, plans("a:takes 0s", "b:gives up"), func(s *stage) {
		if err := <-s.done; !errors.Is(err, errSpoilt) || err.Error() != "cluster b: spoilt" {
			s.Errorf("%v", err)
		}
		if _, err := s.Apply(nil); !errors.Is(err, errEnded) {
			s.Errorf("after the end: %v", err)
		}
	})
}
