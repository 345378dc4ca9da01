package lab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// metrics is one scrape: values by series, without the prefix of the names and without the empty label of the cluster.
type metrics map[string]float64

var shorten = strings.NewReplacer(`{kafka_cluster=""}`, "", `kafka_cluster="",`, "", `,kafka_cluster=""`, "")

func parse(text string) metrics {
	m := make(metrics)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		end := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || end < 0 {
			continue
		}
		if value, err := strconv.ParseFloat(line[end+1:], 64); err == nil {
			m[strings.TrimPrefix(shorten.Replace(line[:end]), "kafka_connection_")] = value
		}
	}
	return m
}

// String is what a person needs when a test fails: neither zeroes of closed sets nor buckets nor what is about Go.
func (m metrics) String() string {
	var b strings.Builder
	for _, s := range slices.Sorted(maps.Keys(m)) {
		quiet := m[s] == 0 && (strings.Contains(s, "_total") || strings.Contains(s, "state=")) || strings.Contains(s, "_bucket") ||
			strings.HasPrefix(s, "go_") || strings.HasPrefix(s, "process_")
		if !quiet {
			fmt.Fprintf(&b, "%s %v\n", s, m[s])
		}
	}
	return b.String()
}

// series writes a name and pairs of label and value as the metrics do.
func series(name string, pairs ...string) string {
	labels := make([]string, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		labels = append(labels, fmt.Sprintf("%s=%q", pairs[i], pairs[i+1]))
	}
	slices.Sort(labels)
	if len(labels) == 0 {
		return name
	}
	return name + "{" + strings.Join(labels, ",") + "}"
}

func itoa(id int) string { return strconv.Itoa(id) }

// ofBroker is a series of a broker; name without broker_.
func ofBroker(id int, name string, pairs ...string) string {
	return series("broker_"+name, append(pairs, "broker_id", itoa(id))...)
}

// ofSeed is a series of a seed; name without seed_.
func ofSeed(seed, name string, pairs ...string) string {
	return series("seed_"+name, append(pairs, "seed", seed)...)
}

// find returns the series of a metric with these labels among others.
func (m metrics) find(name string, pairs ...string) []string {
	var found []string
	for s := range m {
		rest, ok := strings.CutPrefix(s, name)
		if !ok || rest != "" && rest[0] != '{' {
			continue
		}
		for i := 0; i < len(pairs); i += 2 {
			ok = ok && strings.Contains(rest, fmt.Sprintf("%s=%q", pairs[i], pairs[i+1]))
		}
		if ok {
			found = append(found, s)
		}
	}
	slices.Sort(found)
	return found
}

// sum adds up what find finds.
func (m metrics) sum(name string, pairs ...string) float64 {
	sum := 0.0
	for _, s := range m.find(name, pairs...) {
		sum += m[s]
	}
	return sum
}

// condition is what a scrape must show; the error says what is missing.
type condition func(m metrics) error

func all(conditions ...condition) condition {
	return func(m metrics) error {
		for _, c := range conditions {
			if err := c(m); err != nil {
				return err
			}
		}
		return nil
	}
}

// is wants a series to have this value.
func is(want float64, series string) condition {
	return func(m metrics) error {
		if got, ok := m[series]; !ok || got != want {
			return fmt.Errorf("%s is %v (present: %t), want %v", series, got, ok, want)
		}
		return nil
	}
}

// atLeast wants a series to have reached this value.
func atLeast(want float64, series string) condition {
	return func(m metrics) error {
		if got, ok := m[series]; !ok || got < want {
			return fmt.Errorf("%s is %v (present: %t), want at least %v", series, got, ok, want)
		}
		return nil
	}
}

// atMost wants a series to be no more than this.
func atMost(want float64, series string) condition {
	return func(m metrics) error {
		if got := m[series]; got > want {
			return fmt.Errorf("%s is %v, want at most %v", series, got, want)
		}
		return nil
	}
}

// sums wants the series with these labels to add up to a value.
func sums(want float64, name string, pairs ...string) condition {
	return func(m metrics) error {
		if got := m.sum(name, pairs...); got != want {
			return fmt.Errorf("all %s add up to %v, want %v", series(name, pairs...), got, want)
		}
		return nil
	}
}

// absent wants no series with these labels.
func absent(name string, pairs ...string) condition {
	return func(m metrics) error {
		if found := m.find(name, pairs...); len(found) > 0 {
			return fmt.Errorf("%v is there", found)
		}
		return nil
	}
}

// ready wants brokers to be reachable by one connection, without a failure.
func ready(ids ...int) condition {
	var each []condition
	for _, id := range ids {
		each = append(each, is(1, ofBroker(id, "reachable")), is(1, ofBroker(id, "connection_state", "state", "ready")),
			absent("broker_failing", "broker_id", itoa(id)), is(1, ofBroker(id, "open_connections")))
	}
	return all(each...)
}

// failing wants a broker not to be reachable, for this phase and reason and no other.
func failing(id int, phase, reason string) condition {
	return all(is(0, ofBroker(id, "reachable")), sums(1, "broker_failing", "broker_id", itoa(id)),
		is(1, ofBroker(id, "failing", "phase", phase, "reason", reason)))
}

// refusing wants a broker to accept no new connection, while the old one is well.
func refusing(id int, phase, reason string) condition {
	return all(is(1, ofBroker(id, "reachable")), is(0, ofBroker(id, "accepts_connections")),
		is(1, ofBroker(id, "failing", "phase", phase, "reason", reason)))
}

// seedWell wants seeds to be reachable.
func seedWell(names ...string) condition {
	var each []condition
	for _, name := range names {
		each = append(each, is(1, ofSeed(name, "reachable")), absent("seed_failing", "seed", name))
	}
	return all(each...)
}

// seedFailing wants a seed not to be reachable, for this phase and reason and no other.
func seedFailing(name, phase, reason string) condition {
	return all(is(0, ofSeed(name, "reachable")), sums(1, "seed_failing", "seed", name),
		is(1, ofSeed(name, "failing", "phase", phase, "reason", reason)))
}
