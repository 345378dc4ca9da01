package collector

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

// Durations holds the histograms, which cannot be made from a snapshot. The manager feeds them through Observer, ShownDurations
// shows them.
type Durations struct {
	phase   *prometheus.HistogramVec
	request prometheus.Histogram
	round   prometheus.Histogram
	broker  *prometheus.HistogramVec // nil: not wanted
	seen    sync.Map                 // label values of broker
}

// The buckets, in seconds, from a round trip on one machine to the default connect timeout.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// durationFamilies is for the documentation's test what table is for the others.
var durationFamilies = []family{
	{name: "phase_duration_seconds", kind: histogram, labels: []string{"phase"}, help: "Duration of successful phases of connection attempts, over all seeds and brokers."},
	{name: "request_duration_seconds", kind: histogram, help: "Round trip of checks, over all brokers."},
	{name: "metadata_refresh_duration_seconds", kind: histogram, help: "Duration of successful rounds, from the first attempt to the applied answer."},
	{name: "broker_request_latency_seconds", kind: histogram, labels: []string{"broker_id"}, help: "Round trip of the checks of the broker, in buckets."},
}

// NewDurations returns histograms of the cluster that the user calls by the name cluster, with perBroker also one for each
// broker.
func NewDurations(cluster string, perBroker bool) *Durations {
	opts := func(f family) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Name: prefix + f.name, Help: f.help, ConstLabels: prometheus.Labels{clusterLabel: cluster}, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}
	}
	d := &Durations{
		phase:   prometheus.NewHistogramVec(opts(durationFamilies[0]), durationFamilies[0].labels),
		request: prometheus.NewHistogram(opts(durationFamilies[1])),
		round:   prometheus.NewHistogram(opts(durationFamilies[2])),
	}
	if perBroker {
		d.broker = prometheus.NewHistogramVec(opts(durationFamilies[3]), durationFamilies[3].labels)
	}
	for _, p := range wire.Phases() {
		if p != wire.PhaseRequest {
			d.phase.WithLabelValues(p.String())
		}
	}
	return d
}

// Observer returns what feeds the histograms. Its functions may be called from many goroutines and do not block.
func (d *Durations) Observer() manager.Observer {
	return manager.Observer{
		Phase: func(p wire.Phase, took time.Duration) { d.phase.WithLabelValues(p.String()).Observe(took.Seconds()) },
		Round: func(took time.Duration) { d.round.Observe(took.Seconds()) },
		Request: func(broker int32, took time.Duration) {
			d.request.Observe(took.Seconds())
			if d.broker != nil {
				d.ofBroker(strconv.Itoa(int(broker))).Observe(took.Seconds())
			}
		},
	}
}

func (d *Durations) ofBroker(id string) prometheus.Observer {
	d.seen.Store(id, nil)
	return d.broker.WithLabelValues(id)
}

// ShownDurations shows the histograms of all clusters, those of brokers exactly as long as their cluster knows the broker. Which
// clusters there are is found out at each scrape, so it describes nothing beforehand.
type ShownDurations struct{ clusters func() []*Cluster }

// NewShownDurations returns a collector of the clusters that the function returns at the time of each scrape. It must not block.
func NewShownDurations(clusters func() []*Cluster) *ShownDurations { return &ShownDurations{clusters} }

var _ prometheus.Collector = (*ShownDurations)(nil)

// Describe implements prometheus.Collector.
func (s *ShownDurations) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s *ShownDurations) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range s.clusters() {
		if c.options.Durations != nil {
			c.options.Durations.collect(c.source, metrics)
		}
	}
}

func (d *Durations) collect(source Source, metrics chan<- prometheus.Metric) {
	d.phase.Collect(metrics)
	d.request.Collect(metrics)
	d.round.Collect(metrics)
	if d.broker == nil {
		return
	}
	ids := idsOf(source.Snapshot().Brokers)
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
		metrics <- d.ofBroker(id).(prometheus.Histogram)
	}
	d.seen.Range(func(id, _ any) bool {
		if !known[id.(string)] {
			d.seen.Delete(id)
			d.broker.DeleteLabelValues(id.(string))
		}
		return true
	})
}
