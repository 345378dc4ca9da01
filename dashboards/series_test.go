package dashboards_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"kafka_connection_exporter/collector"
	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

// exporter is what an exporter of a cluster of n brokers shows.
type exporter struct{ n int }

func (e exporter) Snapshot() manager.Snapshot {
	failure := &manager.Failure{Phase: wire.PhaseDial, Reason: wire.ReasonRefused}
	target := manager.Target{Reachable: manager.VerdictBad, Failure: failure, TLS: &wire.TLSInfo{Version: "TLS 1.3", NotAfter: time.Now()},
		Trace: wire.Trace{Started: time.Now(), Addresses: make([]wire.AddressTrace, 2)}}
	s := manager.Snapshot{ClusterID: "x", Refresh: manager.Refresh{Last: manager.VerdictGood},
		Seeds: []manager.Seed{{Name: "a:1", Target: target}}}
	for id := range e.n {
		s.Brokers = append(s.Brokers, manager.Broker{ID: int32(id), InMetadata: true, Fenced: manager.VerdictGood, Accepts: manager.VerdictBad,
			AcceptFail: failure, Identity: wire.IdentityVerified, Agrees: manager.VerdictGood, RegistryAgrees: manager.VerdictGood, Reports: 1, Target: target})
	}
	return s
}

// shown returns all families of an exporter of n brokers, with those that need a flag.
func shown(t *testing.T, n int) map[string]*dto.MetricFamily {
	t.Helper()
	durations := collector.NewDurations("", true)
	r := prometheus.NewRegistry()
	options := collector.Options{BrokersExpected: 1, FileErrors: func() [3]float64 { return [3]float64{} }, Durations: durations}
	clusters := func() []*collector.Cluster {
		return []*collector.Cluster{collector.NewCluster("", exporter{n}, options)}
	}
	process := func() collector.ProcessState { return collector.ProcessState{Config: &collector.ConfigState{}} }
	r.MustRegister(collector.New(clusters), collector.NewShownDurations(clusters), collector.NewProcess(process))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*dto.MetricFamily)
	for _, f := range families {
		all[f.GetName()] = f
	}
	return all
}

// touched counts the series that a selector reads: name, and labels with a fixed value.
func touched(families map[string]*dto.MetricFamily, name string, labels [][]string) (series int, unknown []string) {
	f, each := families[name], 1
	for _, suffix := range []string{"_sum", "_count", "_bucket"} {
		if base := families[strings.TrimSuffix(name, suffix)]; f == nil && base != nil {
			f = base
			if suffix == "_bucket" {
				each = len(f.Metric[0].GetHistogram().GetBucket()) + 1
			}
		}
	}
	if f == nil {
		return 0, []string{name}
	}
	for _, metric := range f.Metric {
		values := map[string]string{"job": "", "instance": ""}
		for _, l := range metric.Label {
			values[l.GetName()] = l.GetValue()
		}
		matches := true
		for _, l := range labels {
			value, ok := values[l[1]]
			if !ok && !slices.Contains(unknown, l[1]) {
				unknown = append(unknown, l[1])
			}
			if !strings.HasPrefix(l[3], "$") {
				matches = matches && regexp.MustCompile("^("+l[3]+")$").MatchString(value)
			}
		}
		if matches {
			series += each
		}
	}
	return series, unknown
}

// TestSeries: every metric and label of a query exists in the exporter, and no query of the overview touches more than 2,000
// series of a cluster of 100 brokers.
func TestSeries(t *testing.T) {
	families := shown(t, 100)
	most := 0
	for where, expr := range queries(t) {
		sum := 0
		for _, m := range selector.FindAllStringSubmatch(expr, -1) {
			n, unknown := touched(families, m[1], label.FindAllStringSubmatch(m[2], -1))
			if len(unknown) > 0 {
				t.Errorf("%s uses %q, which the exporter does not have", where, unknown)
			} else if n == 0 {
				t.Errorf("%s: %s finds nothing", where, m[0])
			}
			sum += n
		}
		if strings.HasPrefix(where, "overview.json") {
			most = max(most, sum)
			if sum > 2000 {
				t.Errorf("%s touches %d series with 100 brokers", where, sum)
			}
		}
	}
	t.Logf("the largest query of the overview touches %d series", most)
}
