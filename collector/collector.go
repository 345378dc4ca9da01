package collector

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"kafka_connection_exporter/manager"
)

const prefix = "kafka_connection_"

// Source is what a Collector reads, once per scrape. A *manager.Manager is one.
type Source interface {
	Snapshot() manager.Snapshot
}

// Options is what a Collector needs to know besides.
type Options struct {
	BrokersExpected int               // 0: not configured
	FileErrors      func() [3]float64 // failed loads of the TLS files ca, cert and key; nil: no TLS. Must not block.
}

// Collector is the prometheus.Collector of one cluster.
type Collector struct {
	source  Source
	options Options
	table   []described
}

var _ prometheus.Collector = (*Collector)(nil)

// described is a family of the table with what does not change from scrape to scrape: the descriptor that a registry knows it
// by, and the text around its values.
type described struct {
	family
	desc   *prometheus.Desc
	layout layout
}

// New returns a collector of the cluster that the user calls by the name cluster.
func New(cluster string, source Source, options Options) *Collector {
	c := &Collector{source: source, options: options}
	constant := constLabels(cluster)
	for _, f := range table {
		desc := prometheus.NewDesc(prefix+f.name, f.help, f.labels, constant)
		c.table = append(c.table, described{f, desc, newLayout(f, constant)})
	}
	return c
}

func constLabels(cluster string) prometheus.Labels {
	return prometheus.Labels{"kafka_cluster": cluster}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, f := range c.table {
		descs <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	v := newView(c.source.Snapshot(), c.options)
	for i := range c.table {
		c.table[i].emit(v, sink{described: &c.table[i], metrics: metrics})
	}
}

// view is a snapshot with what all families need of it.
type view struct {
	manager.Snapshot
	options Options
	ids     []string // of the brokers
}

func newView(s manager.Snapshot, options Options) *view {
	v := &view{Snapshot: s, options: options, ids: make([]string, len(s.Brokers))}
	for i := range s.Brokers {
		v.ids[i] = strconv.Itoa(int(s.Brokers[i].ID))
	}
	return v
}
