package collector

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kafka_connection_exporter/manager"
)

// family is all that is to be known about a metric.
type family struct {
	name   string // without the prefix
	kind   kind
	labels []string // without kafka_cluster, which all have
	help   string
	emit   func(*view, sink)
}

type kind uint8

const (
	gauge kind = iota
	counter
	summary
	histogram
)

func (k kind) String() string { return [...]string{"gauge", "counter", "summary", "histogram"}[k] }

// sink takes the samples of one family, for a registry or as text.
type sink struct {
	*described
	cluster *Cluster
	metrics chan<- prometheus.Metric
	text    *text // nil: metrics
}

// longestLabel bounds a label's value in bytes; no name in DNS is longer.
const longestLabel = 255

// validLabel makes a label of what brokers tell, which may be of any bytes and any length. Prometheus refuses what is not UTF-8.
func validLabel(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) > longestLabel {
		s = strings.ToValidUTF8(s[:longestLabel], "") + "…"
	}
	return s
}

// put adds a sample.
func (s sink) put(value float64, labels ...string) {
	for i, label := range labels {
		labels[i] = validLabel(label)
	}
	if s.text != nil {
		s.text.put(&s.cluster.layouts[s.index], value, labels)
		return
	}
	kind := prometheus.GaugeValue
	if s.kind == counter {
		kind = prometheus.CounterValue
	}
	s.metrics <- prometheus.MustNewConstMetric(s.desc, kind, value, s.withCluster(labels)...)
}

func (s sink) putSum(sum manager.Sum, labels ...string) {
	if s.text != nil {
		s.text.putSum(&s.cluster.layouts[s.index], sum, labels)
		return
	}
	s.metrics <- prometheus.MustNewConstSummary(s.desc, sum.Count, sum.Total.Seconds(), nil, s.withCluster(labels)...)
}

// withCluster adds the cluster's label. The copy keeps the labels of the text, which nobody holds on to, off the heap.
func (s sink) withCluster(labels []string) []string {
	return append(append(make([]string, 0, len(labels)+1), labels...), s.cluster.name)
}

// cluster emits the one sample of a family without labels.
func cluster(value func(*view) float64) func(*view, sink) {
	return func(v *view, out sink) { out.put(value(v)) }
}

// perReason emits a closed set of reasons.
func perReason(counts func(*view) []uint64) func(*view, sink) {
	return func(v *view, out sink) {
		for i, n := range counts(v) {
			out.put(float64(n), reasons[i])
		}
	}
}

// perSeed emits one sample for each seed.
func perSeed(value func(*manager.Seed) float64) func(*view, sink) {
	return seeds(func(s *manager.Seed, out sink) { out.put(value(s), s.Name) })
}

func seeds(emit func(*manager.Seed, sink)) func(*view, sink) {
	return func(v *view, out sink) {
		for i := range v.Seeds {
			emit(&v.Seeds[i], out)
		}
	}
}

// perBroker emits one sample for each broker.
func perBroker(value func(*manager.Broker) float64) func(*view, sink) {
	return brokers(func(id string, b *manager.Broker, out sink) { out.put(value(b), id) })
}

func brokers(emit func(id string, b *manager.Broker, out sink)) func(*view, sink) {
	return func(v *view, out sink) {
		for i := range v.Brokers {
			emit(v.ids[i], &v.Brokers[i], out)
		}
	}
}

// perBrokerSet emits a closed set for each broker.
func perBrokerSet(names []string, value func(b *manager.Broker, i int) float64) func(*view, sink) {
	return brokers(func(id string, b *manager.Broker, out sink) {
		for i, name := range names {
			out.put(value(b, i), id, name)
		}
	})
}

// verdict emits 0 or 1, or nothing while there is no verdict.
func verdict(v manager.Verdict, out sink, labels ...string) {
	if v != manager.VerdictUnknown {
		out.put(boolean(v == manager.VerdictGood), labels...)
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// timestamp is t in seconds, or 0 for never.
func timestamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}
