package collector

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ProcessState is what there is to know about the process as a whole, at the time of a scrape.
type ProcessState struct {
	Clusters           int
	Shard, TotalShards int
	Config             *ConfigState // nil: the configuration is not from a file
}

// ConfigState is the health of the configuration file.
type ConfigState struct {
	Successful      bool // the last reload, or the start
	LastSuccess     time.Time
	Reloads, Failed uint64 // finished well, and not
	Hash            float64
}

// processTable is for the documentation's test what table is for the others. These families are about the process and have no
// label kafka_cluster.
var processTable = []family{
	{name: "clusters", kind: gauge, help: "Clusters that this process watches."},
	{name: "shard_info", kind: gauge, labels: []string{"shard", "total_shards"}, help: "Which part of the configured clusters this process watches."},
	{name: "config_last_reload_successful", kind: gauge, help: "Whether the last attempt to load the configuration file succeeded; 0: the one before is still in use."},
	{name: "config_last_reload_success_timestamp_seconds", kind: gauge, help: "When the configuration file was last loaded well."},
	{name: "config_reloads_total", kind: counter, labels: []string{"result"}, help: "Reloads of the configuration file."},
	{name: "config_hash", kind: gauge, help: "Hash of the configuration that is in use, to compare processes by."},
}

// Process is the prometheus.Collector of what is about the process as a whole.
type Process struct {
	state func() ProcessState
	descs []*prometheus.Desc
}

var _ prometheus.Collector = (*Process)(nil)

// NewProcess returns a collector of what the function returns at the time of a scrape. It must not block.
func NewProcess(state func() ProcessState) *Process {
	p := &Process{state: state}
	for _, f := range processTable {
		p.descs = append(p.descs, prometheus.NewDesc(prefix+f.name, f.help, f.labels, nil))
	}
	return p
}

// Describe implements prometheus.Collector.
func (p *Process) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range p.descs {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (p *Process) Collect(metrics chan<- prometheus.Metric) {
	s := p.state()
	put := func(i int, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if processTable[i].kind == counter {
			kind = prometheus.CounterValue
		}
		metrics <- prometheus.MustNewConstMetric(p.descs[i], kind, value, labels...)
	}
	put(0, float64(s.Clusters))
	put(1, 1, strconv.Itoa(s.Shard), strconv.Itoa(s.TotalShards))
	if c := s.Config; c != nil {
		put(2, boolean(c.Successful))
		put(3, timestamp(c.LastSuccess))
		put(4, float64(c.Reloads), "success")
		put(4, float64(c.Failed), "failure")
		put(5, c.Hash)
	}
}
