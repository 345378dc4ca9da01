//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kafka_connection_exporter/e2e/exporter"
)

// The intervals that the scenarios run with, and what follows from them.
const (
	checkInterval   = time.Second
	checkTimeout    = 4 * time.Second
	refreshInterval = 2 * time.Second
	// busy is what a machine with too much to do may add to any time.
	busy = 15 * time.Second
	// verdictTimeout is the promise for a silent broker.
	verdictTimeout = checkInterval + checkTimeout + busy
	settleTimeout  = 45 * time.Second
	// noticeTimeout is for the cluster to forget a dead broker (5 s) and the exporter to hear of it.
	noticeTimeout = 60 * time.Second
	// scrapeLimit is less than any time-out of the intervals, and a scrape takes milliseconds: one that waits for a broker takes longer.
	scrapeLimit = 3 * time.Second
)

// impatient are the time-outs of scenarios in which somebody is silent. In all others nobody may look silent, however slow the machine is.
var impatient = []string{"--check.timeout=4s", "--connect.timeout=5s"}

// rare is for scenarios in which something must come at once, and not with the next check.
const rare = "--check.interval=1m"

// unhedged is for scenarios in which no seed may be dialed but for its own checks, however slow the machine is.
const unhedged = "--metadata.hedge-delay=1m"

// flags are the fast intervals, the seeds, and more flags that win.
func flags(seeds []string, more ...string) []string {
	fast := []string{
		"--kafka.seed=" + strings.Join(seeds, ","),
		"--check.interval=1s", "--check.timeout=30s", "--connect.timeout=30s",
		"--metadata.refresh-interval=2s", "--backoff.max=2s", "--handshake.interval=0s",
		"--log.level=debug",
	}
	name := func(flag string) string { before, _, _ := strings.Cut(flag, "="); return before }
	replaced := func(flag string) bool {
		return slices.ContainsFunc(more, func(m string) bool { return name(m) == name(flag) })
	}
	return append(slices.DeleteFunc(fast, replaced), more...)
}

// condition is what a scrape must show; the error says what is missing.
type condition func(exporter.Metrics) error

// all is met when every condition is.
func all(conditions ...condition) condition {
	return func(m exporter.Metrics) error {
		for _, c := range conditions {
			if err := c(m); err != nil {
				return err
			}
		}
		return nil
	}
}

// value wants the one sample with these labels to have a value.
func value(want float64, name string, pairs ...string) condition {
	return func(m exporter.Metrics) error {
		got, ok := m.Value(name, pairs...)
		if !ok {
			return fmt.Errorf("%s %v: no such sample, want %v", name, pairs, want)
		}
		if got != want {
			return fmt.Errorf("%s %v is %v, want %v", name, pairs, got, want)
		}
		return nil
	}
}

// atLeast wants the one sample with these labels to have reached a value.
func atLeast(want float64, name string, pairs ...string) condition {
	return func(m exporter.Metrics) error {
		got, ok := m.Value(name, pairs...)
		if !ok || got < want {
			return fmt.Errorf("%s %v is %v (present: %v), want at least %v", name, pairs, got, ok, want)
		}
		return nil
	}
}

// absent wants no sample with these labels.
func absent(name string, pairs ...string) condition {
	return func(m exporter.Metrics) error {
		if found := m.Find(name, pairs...); len(found) > 0 {
			return fmt.Errorf("%v is there, want none", found[0])
		}
		return nil
	}
}

// brokerIs wants the same value of a metric for each broker.
func brokerIs(want float64, name string, ids ...int) condition {
	return each(ids, func(id int) condition { return value(want, name, "broker_id", strconv.Itoa(id)) })
}

// ready wants brokers to be named by the cluster, reachable, connected, and without a failure.
func ready(ids ...int) condition {
	return all(
		brokerIs(1, "broker_reachable", ids...),
		brokerIs(1, "broker_in_metadata", ids...),
		each(ids, func(id int) condition {
			return all(
				value(1, "broker_connection_state", "broker_id", strconv.Itoa(id), "state", "ready"),
				absent("broker_failing", "broker_id", strconv.Itoa(id)),
			)
		}),
	)
}

// failing wants a broker's verdict to be 0 with one of the reasons, in one of the phases if any are given by "in".
func failing(id int, reasons []string, phases ...string) condition {
	return func(m exporter.Metrics) error {
		if err := brokerIs(0, "broker_reachable", id)(m); err != nil {
			return err
		}
		if phase, reason, ok := m.Failing(id); !ok || !among(reasons, reason) || !among(phases, phase) {
			return fmt.Errorf("broker %d fails in phase %q with reason %q, want one of %v in %v", id, phase, reason, reasons, phases)
		}
		return nil
	}
}

// accepts wants brokers to accept new connections.
func accepts(ids ...int) condition { return brokerIs(1, "broker_accepts_connections", ids...) }

// refusing wants a broker to accept no new connections for the reason, in the phase, while the old connection works.
func refusing(id int, phase, reason string) condition {
	return func(m exporter.Metrics) error {
		if err := all(brokerIs(1, "broker_reachable", id), brokerIs(0, "broker_accepts_connections", id))(m); err != nil {
			return err
		}
		if gotPhase, got, ok := m.Failing(id); !ok || got != reason || gotPhase != phase {
			return fmt.Errorf("broker %d fails in phase %q with reason %q, want %s in %s", id, gotPhase, got, reason, phase)
		}
		return nil
	}
}

// identity wants the exporter to have found out this, and nothing else, about who the brokers are.
func identity(status string, ids ...int) condition {
	return each(ids, func(id int) condition {
		var conditions []condition
		for _, s := range []string{"verified", "unverified", "wrong"} {
			want := 0.0
			if s == status {
				want = 1
			}
			conditions = append(conditions, value(want, "broker_identity", "broker_id", strconv.Itoa(id), "status", s))
		}
		return all(conditions...)
	})
}

// seedFailing is failing for a seed.
func seedFailing(seed string, reasons []string, phases ...string) condition {
	return func(m exporter.Metrics) error {
		if err := value(0, "seed_reachable", "seed", seed)(m); err != nil {
			return err
		}
		if phase, reason, ok := m.SeedFailing(seed); !ok || !among(reasons, reason) || !among(phases, phase) {
			return fmt.Errorf("seed %s fails in phase %q with reason %q, want one of %v in %v", seed, phase, reason, reasons, phases)
		}
		return nil
	}
}

// among says whether it is one of those that are wanted; none wanted are all.
func among(wanted []string, it string) bool { return len(wanted) == 0 || slices.Contains(wanted, it) }

func each(ids []int, f func(int) condition) condition {
	conditions := make([]condition, len(ids))
	for i, id := range ids {
		conditions[i] = f(id)
	}
	return all(conditions...)
}

// others are the ids without the given ones.
func others(ids []int, without ...int) []int {
	return slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return slices.Contains(without, id) })
}
