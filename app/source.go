package app

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"kafka_connection_exporter/collector"
	"kafka_connection_exporter/config"
	"kafka_connection_exporter/fleet"
)

// source is where the configuration of the clusters comes from: the flags, or a file that can be read again. A reload is checked
// before it is applied, and applied as a whole or not at all.
type source struct {
	options *options
	fleet   *fleet.Fleet[config.Cluster, *member]
	turn    sync.Mutex // held during a reload: one at a time
	health  atomic.Pointer[collector.ConfigState]
	hangups chan os.Signal // SIGHUP, from listen on
}

func newSource(o *options, f *fleet.Fleet[config.Cluster, *member]) *source {
	return &source{options: o, fleet: f, hangups: make(chan os.Signal, 1)}
}

// listen makes SIGHUP a wish to reload, which follow fulfils.
func (s *source) listen() { signal.Notify(s.hangups, syscall.SIGHUP) }

// first returns how the clusters should run at the start.
func (s *source) first() ([]plan, error) {
	plans, hash, err := s.load()
	if err == nil && s.options.file.path != "" {
		s.health.Store(&collector.ConfigState{Successful: true, LastSuccess: time.Now(), Hash: hash})
	}
	return plans, err
}

// load returns the plans for the clusters of this shard. What is wrong with those of other shards, or with a file that any of them
// names, is an error here as well.
func (s *source) load() (all []plan, hash float64, err error) {
	loaded, err := s.options.loadClusters()
	if err == nil && s.options.file.path != "" {
		err = loaded.CheckFiles()
	}
	if err != nil {
		return nil, 0, err
	}
	for _, c := range loaded.Clusters {
		if fleet.Shard(c.Name, s.options.file.shards) == s.options.file.shard {
			all = append(all, planFor(c))
		}
	}
	return all, loaded.Hash, nil
}

var errNoFile = errors.New("there is nothing to load again: the clusters are not from a --config.file")

// reload reads the file again and makes the fleet what it says. After an error everything is as before.
func (s *source) reload() (fleet.Changes, error) {
	if s.options.file.path == "" {
		return fleet.Changes{}, errNoFile
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	plans, hash, err := s.load()
	var changes fleet.Changes
	if err == nil {
		changes, err = s.fleet.Apply(plans)
	}
	state := *s.health.Load()
	if state.Successful = err == nil; state.Successful {
		state.LastSuccess, state.Hash = time.Now(), hash
		state.Reloads++
	} else {
		state.Failed++
	}
	s.health.Store(&state)
	return changes, err
}

// state is what a scrape shows of the process.
func (s *source) state() collector.ProcessState {
	return collector.ProcessState{Clusters: len(s.fleet.Clusters()), Shard: s.options.file.shard, TotalShards: s.options.file.shards, Config: s.health.Load()}
}

// follow reloads on SIGHUP, and when the file has changed if that is wanted, until ctx ends.
func (s *source) follow(ctx context.Context, logger log.Logger) {
	defer signal.Stop(s.hangups)
	var changes <-chan time.Time
	if interval := s.options.file.autoReload; interval > 0 && s.options.file.path != "" {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		changes = ticker.C
	}
	var seen string
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.hangups:
			s.reloadFor("SIGHUP", logger)
		case <-changes:
			if now := s.fingerprint(); now != seen {
				seen = now
				s.reloadIfChanged(logger)
			}
		}
	}
}

// reloadFor reloads and logs what came of it, one line for each mistake.
func (s *source) reloadFor(who string, logger log.Logger) {
	changes, err := s.reload()
	logReload(logger, who, changes, err)
}

func logReload(logger log.Logger, who string, changes fleet.Changes, err error) {
	if err == nil {
		_ = level.Info(logger).Log("msg", "configuration loaded again", "for", who, "clusters", changes)
		return
	}
	for _, line := range mistakes(err) {
		_ = level.Error(logger).Log("msg", "the configuration was not loaded, what was loaded before stays in use", "for", who, "err", line)
	}
}
