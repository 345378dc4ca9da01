package collector

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"kafka_connection_exporter/manager"
)

const prefix = "kafka_connection_"

// Source is what a Collector reads, once per scrape. A *manager.Manager is one.
type Source interface {
	Snapshot() manager.Snapshot
}

// Options is what is to be known about a cluster besides.
type Options struct {
	BrokersExpected int               // 0: not configured
	FileErrors      func() [3]float64 // failed loads of the TLS files ca, cert and key; nil: no TLS. Must not block.
	Durations       *Durations        // nil: no histograms
}

// Cluster is one cluster that a Collector shows. It never changes.
type Cluster struct {
	name    string // what the user calls it, the label kafka_cluster
	source  Source
	options Options
	layouts []layout // the text around the values of each family of the table
}

// NewCluster returns a cluster that the user calls by the name.
func NewCluster(name string, source Source, options Options) *Cluster {
	c := &Cluster{name: name, source: source, options: options}
	for i := range table {
		c.layouts = append(c.layouts, newLayout(i, prometheus.Labels{clusterLabel: name}))
	}
	return c
}

// clusterLabel is on every line, so that many clusters can be told apart, in one exporter or in many.
const clusterLabel = "kafka_cluster"

// Collector is the prometheus.Collector of all clusters: each family once, with the lines of all of them.
type Collector struct {
	clusters func() []*Cluster
	table    []described
}

var _ prometheus.Collector = (*Collector)(nil)

// described is a family of the table with the descriptor that a registry knows it by.
type described struct {
	family
	index int // in the table
	desc  *prometheus.Desc
}

// New returns a collector of the clusters that the function returns at the time of each scrape. It must not block.
func New(clusters func() []*Cluster) *Collector {
	c := &Collector{clusters: clusters}
	for i, f := range table {
		labels := slices.Concat(f.labels, []string{clusterLabel})
		c.table = append(c.table, described{f, i, prometheus.NewDesc(prefix+f.name, f.help, labels, nil)})
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, f := range c.table {
		descs <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	for _, v := range newViews(c.clusters()) {
		for i := range c.table {
			c.table[i].emit(v, sink{described: &c.table[i], cluster: v.cluster, metrics: metrics})
		}
	}
}

// view is a snapshot with what all families need of it.
type view struct {
	manager.Snapshot
	cluster *Cluster
	options Options
	ids     []string // of the brokers
}

func newViews(clusters []*Cluster) []*view {
	all := make([]*view, len(clusters))
	for i, c := range clusters {
		all[i] = newView(c)
	}
	return all
}

func newView(c *Cluster) *view {
	v := &view{Snapshot: c.source.Snapshot(), cluster: c, options: c.options}
	v.ids = idsOf(v.Brokers)
	return v
}

func idsOf(brokers []manager.Broker) []string {
	ids := make([]string, len(brokers))
	for i := range brokers {
		ids[i] = strconv.Itoa(int(brokers[i].ID))
	}
	return ids
}
