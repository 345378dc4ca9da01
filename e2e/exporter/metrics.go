//go:build e2e

package exporter

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Prefix begins the name of every metric of the exporter.
const Prefix = "kafka_connection_"

// Metrics is one scrape. Histograms and summaries appear as their _sum and _count.
type Metrics struct {
	samples []Sample
}

// Sample is one line of a scrape.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// String is the sample as the exposition format has it, labels sorted.
func (s Sample) String() string {
	pairs := make([]string, 0, len(s.Labels))
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		pairs = append(pairs, fmt.Sprintf("%s=%q", name, s.Labels[name]))
	}
	return fmt.Sprintf("%s{%s} %s", s.Name, strings.Join(pairs, ","), strconv.FormatFloat(s.Value, 'g', -1, 64))
}

// Parse reads the text exposition format.
func Parse(r io.Reader) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return Metrics{}, fmt.Errorf("parse metrics: %w", err)
	}
	var m Metrics
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, metric := range families[name].GetMetric() {
			m.add(name, metric)
		}
	}
	return m, nil
}

func (m *Metrics) add(name string, metric *dto.Metric) {
	labels := map[string]string{}
	for _, pair := range metric.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	put := func(suffix string, value float64) {
		m.samples = append(m.samples, Sample{Name: name + suffix, Labels: labels, Value: value})
	}
	switch {
	case metric.Gauge != nil:
		put("", metric.Gauge.GetValue())
	case metric.Counter != nil:
		put("", metric.Counter.GetValue())
	case metric.Untyped != nil:
		put("", metric.Untyped.GetValue())
	case metric.Summary != nil:
		put("_sum", metric.Summary.GetSampleSum())
		put("_count", float64(metric.Summary.GetSampleCount()))
	case metric.Histogram != nil:
		put("_sum", metric.Histogram.GetSampleSum())
		put("_count", float64(metric.Histogram.GetSampleCount()))
	}
}

// Find returns the samples of a metric whose labels include all the pairs given as name, value, name, value ... The name may be written with
// or without Prefix.
func (m Metrics) Find(name string, pairs ...string) []Sample {
	if len(pairs)%2 != 0 {
		panic(fmt.Sprintf("Find %s: odd number of label names and values", name))
	}
	var found []Sample
	for _, s := range m.samples {
		if (s.Name == name || s.Name == Prefix+name) && s.has(pairs) {
			found = append(found, s)
		}
	}
	return found
}

// With returns the samples of all metrics whose labels include all the pairs.
func (m Metrics) With(pairs ...string) []Sample {
	var found []Sample
	for _, s := range m.samples {
		if s.has(pairs) {
			found = append(found, s)
		}
	}
	return found
}

// Value is the value of the one sample that Find finds; ok is false if there is none, or if there are several.
func (m Metrics) Value(name string, pairs ...string) (value float64, ok bool) {
	found := m.Find(name, pairs...)
	if len(found) != 1 {
		return 0, false
	}
	return found[0].Value, true
}

// Sum adds up what Find finds.
func (m Metrics) Sum(name string, pairs ...string) float64 {
	var sum float64
	for _, s := range m.Find(name, pairs...) {
		sum += s.Value
	}
	return sum
}

// Failing is the phase and the reason of a broker's failure; ok is false unless there is exactly one.
func (m Metrics) Failing(id int) (phase, reason string, ok bool) {
	return cause(m.Find("broker_failing", "broker_id", strconv.Itoa(id)))
}

// SeedFailing is Failing for a seed.
func (m Metrics) SeedFailing(seed string) (phase, reason string, ok bool) {
	return cause(m.Find("seed_failing", "seed", seed))
}

// String is all samples of the exporter itself, one a line.
func (m Metrics) String() string {
	var b strings.Builder
	for _, s := range m.samples {
		if strings.HasPrefix(s.Name, Prefix) && !strings.Contains(s.Name, "_build_info") {
			fmt.Fprintln(&b, s)
		}
	}
	return b.String()
}

func (s Sample) has(pairs []string) bool {
	for i := 0; i < len(pairs); i += 2 {
		if s.Labels[pairs[i]] != pairs[i+1] {
			return false
		}
	}
	return true
}

func cause(found []Sample) (phase, reason string, ok bool) {
	if len(found) != 1 {
		return "", "", false
	}
	return found[0].Labels["phase"], found[0].Labels["reason"], true
}
