package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Manager is what a cluster does, such as a *manager.Manager.
type Manager interface {
	// Run works until ctx ends and returns nil, or an error that ends the fleet.
	Run(ctx context.Context) error
	// FirstRound is closed when the manager has something to show, good or bad.
	FirstRound() <-chan struct{}
}

// Plan is how a cluster should run: its configuration, which C is.
type Plan[C any] struct {
	Name   string
	Config C
	Grace  time.Duration // for the first round of a successor, before it is shown all the same
}

// Cluster is one cluster that runs, or ran.
type Cluster[C, M any] struct {
	Plan[C]
	Manager M
}

// Changes is what an Apply did, in numbers of clusters.
type Changes struct{ Added, Changed, Removed, Unchanged int }

// String says it in words.
func (c Changes) String() string {
	return fmt.Sprintf("%d added, %d changed, %d removed, %d unchanged", c.Added, c.Changed, c.Removed, c.Unchanged)
}

// Fleet runs clusters. Run is the only one who changes which; everybody reads the list that it has published.
type Fleet[C any, M Manager] struct {
	build  func(Plan[C]) (M, error)
	equal  func(a, b C) bool
	shown  atomic.Pointer[[]*Cluster[C, M]]
	apply  chan request[C]
	ended  chan struct{}
	swaps  chan *member[C, M]
	failed chan error // room for one: the first counts
	begun  chan struct{}
	ready  chan struct{}

	// Owned by Run.
	ctx     context.Context
	work    sync.WaitGroup
	members map[string]*member[C, M]
}

type request[C any] struct {
	plans []Plan[C]
	reply chan result
}

type result struct {
	changes Changes
	err     error
}

// member is a cluster and, while it is being replaced, its successor.
type member[C any, M Manager] struct {
	cluster *Cluster[C, M]
	stop    context.CancelFunc
	next    *member[C, M] // runs, and is not shown yet
}

// New returns a fleet that has done nothing yet. build makes a manager without starting it; an error of it makes the whole Apply fail.
// equal compares configurations by what they do.
func New[C any, M Manager](build func(Plan[C]) (M, error), equal func(a, b C) bool) *Fleet[C, M] {
	f := &Fleet[C, M]{
		build: build, equal: equal, apply: make(chan request[C]), ended: make(chan struct{}), swaps: make(chan *member[C, M]),
		failed: make(chan error, 1), begun: make(chan struct{}), ready: make(chan struct{}), members: make(map[string]*member[C, M]),
	}
	f.publish()
	return f
}

// Clusters returns what is shown now, by name. The list never changes; a later one takes its place.
func (f *Fleet[C, M]) Clusters() []*Cluster[C, M] { return *f.shown.Load() }

// Begun is closed when the first plans run, and are shown.
func (f *Fleet[C, M]) Begun() <-chan struct{} { return f.begun }

// Ready is closed when every cluster of the first plans has finished its first round, good or bad, or was removed.
func (f *Fleet[C, M]) Ready() <-chan struct{} { return f.ready }

var errEnded = errors.New("the exporter is about to end")

// Apply makes the fleet what the plans say, all of it or, if a manager cannot be built, nothing. Clusters whose configuration is equal
// go on untouched, new ones are shown at once, and those that changed when their successor's first round has finished or its grace has
// passed. It returns when all of that is under way. Calls take turns.
func (f *Fleet[C, M]) Apply(plans []Plan[C]) (Changes, error) {
	r := request[C]{plans, make(chan result, 1)}
	select {
	case f.apply <- r:
		done := <-r.reply
		return done.changes, done.err
	case <-f.ended:
		return Changes{}, errEnded
	}
}

// Run starts the first plans and works until ctx ends, or until a manager ends by itself, and returns that one's error. When it returns,
// all managers have ended.
func (f *Fleet[C, M]) Run(ctx context.Context, first []Plan[C]) error {
	ctx, cancel := context.WithCancel(ctx)
	defer f.work.Wait()
	defer cancel()
	defer close(f.ended)
	f.ctx = ctx
	if _, err := f.change(first); err != nil {
		return err
	}
	close(f.begun)
	f.awaitFirst()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-f.failed:
			return err
		case r := <-f.apply:
			var done result
			done.changes, done.err = f.change(r.plans)
			r.reply <- done
		case m := <-f.swaps:
			f.swap(m)
		}
	}
}

// change builds everything first, and then starts, replaces and ends.
func (f *Fleet[C, M]) change(plans []Plan[C]) (c Changes, err error) {
	built := make(map[string]*member[C, M])
	keep := make(map[string]bool, len(plans))
	var problems []error
	for _, p := range plans {
		keep[p.Name] = true
		if f.runsAlready(p) {
			c.Unchanged++
			continue
		}
		manager, err := f.build(p)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		built[p.Name] = &member[C, M]{cluster: &Cluster[C, M]{p, manager}}
	}
	if err := errors.Join(problems...); err != nil {
		return Changes{}, err
	}
	for name, m := range f.members {
		if !keep[name] {
			c.Removed++
			m.end()
			delete(f.members, name)
		} else if m.next != nil && built[name] == nil && f.equal(m.cluster.Config, planOf(plans, name).Config) {
			m.next.stop() // back to what is still shown
			m.next = nil
		}
	}
	for name, m := range built {
		f.start(m)
		if before := f.members[name]; before != nil {
			c.Changed++
			f.replace(before, m)
		} else {
			c.Added++
			f.members[name] = m
		}
	}
	f.publish()
	return c, nil
}

// runsAlready says whether the cluster, or its successor, runs by an equal configuration. A cluster that is being replaced and shall
// be what it still is counts as such.
func (f *Fleet[C, M]) runsAlready(p Plan[C]) bool {
	m := f.members[p.Name]
	if m == nil {
		return false
	}
	return f.equal(m.cluster.Config, p.Config) || m.next != nil && f.equal(m.next.cluster.Config, p.Config)
}

func planOf[C any](plans []Plan[C], name string) Plan[C] {
	return plans[slices.IndexFunc(plans, func(p Plan[C]) bool { return p.Name == name })]
}

// start runs a manager; Run waits for it.
func (f *Fleet[C, M]) start(m *member[C, M]) {
	ctx, stop := context.WithCancel(f.ctx)
	m.stop = stop
	f.work.Go(func() {
		defer stop()
		if err := m.cluster.Manager.Run(ctx); err != nil {
			select {
			case f.failed <- fmt.Errorf("%s%w", prefix(m.cluster.Name), err):
			default:
			}
		}
	})
}

func prefix(name string) string {
	if name == "" {
		return ""
	}
	return "cluster " + name + ": "
}

// replace keeps a cluster in sight until its successor has something to show.
func (f *Fleet[C, M]) replace(before, m *member[C, M]) {
	if before.next != nil {
		before.next.stop()
	}
	before.next = m
	f.work.Go(func() {
		timer := time.NewTimer(m.cluster.Grace)
		defer timer.Stop()
		select {
		case <-m.cluster.Manager.FirstRound():
		case <-timer.C:
		case <-f.ctx.Done():
			return
		}
		select {
		case f.swaps <- m:
		case <-f.ctx.Done():
		}
	})
}

// swap shows a successor in one step, unless it was replaced or removed meanwhile.
func (f *Fleet[C, M]) swap(m *member[C, M]) {
	before := f.members[m.cluster.Name]
	if before == nil || before.next != m {
		return
	}
	f.members[m.cluster.Name] = m
	f.publish()
	before.stop()
}

// end ends a cluster and its successor.
func (m *member[C, M]) end() {
	m.stop()
	if m.next != nil {
		m.next.stop()
	}
}

func (f *Fleet[C, M]) publish() {
	list := make([]*Cluster[C, M], 0, len(f.members))
	for _, name := range slices.Sorted(maps.Keys(f.members)) {
		list = append(list, f.members[name].cluster)
	}
	f.shown.Store(&list)
}

// awaitFirst closes ready in time.
func (f *Fleet[C, M]) awaitFirst() {
	first := f.Clusters()
	f.work.Go(func() {
		for _, c := range first {
			select {
			case <-c.Manager.FirstRound():
			case <-f.ctx.Done():
				return
			}
		}
		close(f.ready)
	})
}
