package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"time"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

func refresh(s *stage, p plan, out io.Writer) {
	section(out, "Metadata refresh", fmt.Sprintf(`Describe: one DescribeCluster request on an open connection, decoded. Refresh: a whole round of a manager that is connected to
every broker, from its first attempt until the answer is applied to all of them; checks are paused meanwhile. The fake cluster
is another process. Allocations are those of this process. %d of each.`, p.rounds))
	t := newTable(out, "brokers", "what", "median", "p95", "allocations", "allocated bytes")
	for _, n := range p.sizesOr(1000) {
		refreshOne(s, p, t, n)
	}
}

func refreshOne(s *stage, p plan, t table, n int) {
	s = s.nested()
	defer s.close()
	seed := startFakes(s, n, 0)
	cfg, err := newConfig([]string{seed}, new(net.Dialer).DialContext)
	if err != nil {
		s.Fatal(err)
	}
	report := func(what string, took figures, c cost) {
		t.row(strconv.Itoa(n), what, short(took.median()), short(took.at(0.95)), many(c.allocations), many(c.bytes))
	}
	took, c := describes(s, p, cfg, false)
	report("Describe, nothing known", took, c)
	took, c = describes(s, p, cfg, true)
	report("Describe, the same list as before", took, c)
	took, c = roundsOf(s, p, cfg, n)
	report("refresh", took, c)
}

// cost is what one of a number of repetitions allocates.
type cost struct{ allocations, bytes float64 }

// costOf runs work, which repeats something so many times.
func costOf(times int, work func()) cost {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return cost{float64(after.Mallocs-before.Mallocs) / float64(times), float64(after.TotalAlloc-before.TotalAlloc) / float64(times)}
}

// describes asks again and again, with what is known from the answer before or without.
func describes(s *stage, p plan, cfg manager.Config, known bool) (took figures, c cost) {
	seed := cfg.Seeds.At(0)
	conn, _, err := cfg.Dialer.Dial(context.Background(), wire.Peer{Host: seed.Host, Port: seed.Port, NodeID: -1})
	if err != nil {
		s.Fatal(err)
	}
	defer func() { conn.Close(); <-conn.Ended() }()
	var list []wire.BrokerInfo
	ask := func() {
		view, err := conn.Describe(context.Background(), list)
		if err != nil {
			s.Fatal(err)
		}
		if known {
			list = view.Brokers
		}
	}
	ask()
	c = costOf(p.rounds, func() {
		for range p.rounds {
			began := time.Now()
			ask()
			took = append(took, time.Since(began))
		}
	})
	return took, c
}

func roundsOf(s *stage, p plan, cfg manager.Config, n int) (took figures, c cost) {
	rounds := make(chan time.Duration, 16)
	cfg.Observer.Round = func(d time.Duration) {
		select {
		case rounds <- d:
		default: // nobody measures yet
		}
	}
	cfg.ConnectRate, cfg.RefreshInterval = 2000, 100*time.Millisecond
	cfg.CheckInterval, cfg.HandshakeInterval, cfg.SeedCheckInterval = time.Hour, 0, 0
	m, stop, err := runManager(cfg)
	if err != nil {
		s.Fatal(err)
	}
	defer stop()
	if !eventually(time.Minute, func() bool { return allReady(m, n) }) {
		s.Fatal("the manager does not connect to all brokers")
	}
	for len(rounds) > 0 {
		<-rounds
	}
	<-rounds // the first one that is measured begins with the next
	c = costOf(p.rounds, func() {
		for range p.rounds {
			took = append(took, <-rounds)
		}
	})
	return took, c
}

func allReady(m *manager.Manager, n int) bool {
	brokers := m.Snapshot().Brokers
	for i := range brokers {
		if brokers[i].State != manager.StateReady || brokers[i].Reachable != manager.VerdictGood {
			return false
		}
	}
	return len(brokers) == n
}

// eventually polls cond until it holds, or limit has passed.
func eventually(limit time.Duration, cond func() bool) bool {
	for began := time.Now(); time.Since(began) < limit; <-time.After(poll) {
		if cond() {
			return true
		}
	}
	return false
}

// poll is how often a state is looked at that tells nobody when it changes.
const poll = time.Millisecond
