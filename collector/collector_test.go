package collector

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

var update = flag.Bool("update", false, "write the golden files")

// fixed is a source that never changes.
type fixed manager.Snapshot

func (f fixed) Snapshot() manager.Snapshot { return manager.Snapshot(f) }

func exposition(t *testing.T, gatherer prometheus.Gatherer) []byte {
	t.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	return text.Bytes()
}

func registry(t testing.TB, c prometheus.Collector) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(c); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExposition(t *testing.T) {
	tests := map[string]struct {
		cluster   string
		snapshot  manager.Snapshot
		options   Options
		durations *Durations
	}{
		"start":   {"", atStart(), Options{}, NewDurations("", false)},
		"healthy": {"prod", healthy(), Options{BrokersExpected: 2, FileErrors: func() [3]float64 { return [3]float64{0, 1, 2} }}, observed("prod")},
		"trouble": {"prod", inTrouble(), Options{BrokersExpected: 3}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.options.Durations = tt.durations
			list := listOf(NewCluster(tt.cluster, fixed(tt.snapshot), tt.options))
			r := registry(t, New(list))
			r.MustRegister(NewShownDurations(list))
			got := exposition(t, r)
			golden := filepath.Join("testdata", name+".prom")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the exposition differs, see git diff after: go test ./collector -update\n%s", firstDifference(got, want))
			}
			problems, err := testutil.GatherAndLint(r)
			if err != nil || len(problems) > 0 {
				t.Errorf("%v %v", problems, err)
			}
		})
	}
}

func listOf(clusters ...*Cluster) func() []*Cluster { return func() []*Cluster { return clusters } }

// only is a collector of one cluster that never changes.
func only(name string, s manager.Snapshot, options Options) *Collector {
	return New(listOf(NewCluster(name, fixed(s), options)))
}

func observed(cluster string) *Durations {
	d := NewDurations(cluster, true)
	o := d.Observer()
	o.Phase(wire.PhaseDial, 3*time.Millisecond)
	o.Request(1, 20*time.Millisecond)
	o.Request(99, 20*time.Millisecond)
	o.Round(700 * time.Millisecond)
	return d
}

func firstDifference(got, want []byte) string {
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "got  " + a[i] + "\nwant " + b[i]
		}
	}
	return "one is longer than the other"
}

// TestBrokerHistogramsVanish with the broker, and start anew if it comes back.
func TestBrokerHistogramsVanish(t *testing.T) {
	source := fixed(healthy())
	d := observed("")
	r := prometheus.NewRegistry()
	r.MustRegister(NewShownDurations(listOf(NewCluster("", &source, Options{Durations: d}))))
	has := func(id, count string) bool {
		line := `kafka_connection_broker_request_latency_seconds_count{broker_id="` + id + `",kafka_cluster=""} ` + count + "\n"
		return bytes.Contains(exposition(t, r), []byte(line))
	}
	if !has("1", "1") || !has("2", "0") || has("99", "1") {
		t.Error("the series are not those of the brokers that are known")
	}
	brokers := source.Brokers
	source.Brokers = nil
	exposition(t, r)
	source.Brokers = brokers
	if !has("1", "0") {
		t.Error("a forgotten broker's histogram is remembered")
	}
	entries := 0
	d.seen.Range(func(any, any) bool { entries++; return true })
	if entries != 2 {
		t.Errorf("%d brokers are remembered", entries)
	}
}

func TestNamesAreNotDescribedTwice(t *testing.T) {
	var all []string
	for _, f := range slices.Concat(table, durationFamilies, processTable) {
		all = append(all, f.name)
		if !strings.HasSuffix(f.help, ".") {
			t.Errorf("the help of %s is no sentence", f.name)
		}
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("%d of %d names are different", n, len(all))
	}
}

func large(n int) manager.Snapshot {
	s := healthy()
	one := s.Brokers[0]
	s.Brokers = nil
	for i := range n {
		one.ID = int32(i)
		one.Host = "b" + strconv.Itoa(i) + ".test"
		s.Brokers = append(s.Brokers, one)
	}
	return s
}

func BenchmarkGather1000(b *testing.B) {
	r := prometheus.NewRegistry()
	r.MustRegister(only("prod", large(1000), Options{}))
	series := 0
	for b.Loop() {
		families, err := r.Gather()
		if err != nil {
			b.Fatal(err)
		}
		series = 0
		for _, f := range families {
			series += len(f.GetMetric())
		}
	}
	b.ReportMetric(float64(series), "series")
	b.ReportMetric(float64(runtime.NumCPU()), "cpus")
	b.ReportAllocs()
}
