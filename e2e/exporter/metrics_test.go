//go:build e2e

package exporter

import (
	"strings"
	"testing"
)

const page = `# TYPE kafka_connection_up gauge
kafka_connection_up 1
# TYPE kafka_connection_broker_reachable gauge
kafka_connection_broker_reachable{broker_id="1"} 1
kafka_connection_broker_reachable{broker_id="2"} 0
# TYPE kafka_connection_broker_failing gauge
kafka_connection_broker_failing{broker_id="2",phase="dial",reason="refused"} 1
# TYPE kafka_connection_broker_connect_duration_seconds summary
kafka_connection_broker_connect_duration_seconds_sum{broker_id="1"} 0.5
kafka_connection_broker_connect_duration_seconds_count{broker_id="1"} 2
`

// TestMetrics: values are found by any subset of their labels, and nothing ambiguous is a value.
func TestMetrics(t *testing.T) {
	m, err := Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name  string
		pairs []string
		want  float64
		ok    bool
	}{
		{"up", nil, 1, true},
		{"kafka_connection_up", nil, 1, true},
		{"broker_reachable", []string{"broker_id", "2"}, 0, true},
		{"broker_reachable", []string{"broker_id", "3"}, 0, false},
		{"broker_reachable", nil, 0, false},
		{"broker_connect_duration_seconds_count", []string{"broker_id", "1"}, 2, true},
	}
	for _, tc := range cases {
		if got, ok := m.Value(tc.name, tc.pairs...); got != tc.want || ok != tc.ok {
			t.Errorf("Value(%s, %v) = %v, %v, want %v, %v", tc.name, tc.pairs, got, ok, tc.want, tc.ok)
		}
	}
	if phase, reason, ok := m.Failing(2); phase != "dial" || reason != "refused" || !ok {
		t.Errorf("Failing(2) = %s, %s, %v", phase, reason, ok)
	}
	if _, _, ok := m.Failing(1); ok {
		t.Error("broker 1 is failing")
	}
}

// witness is a test that only notes that it has failed.
type witness struct {
	testing.TB
	failed bool
}

func (w *witness) Helper()               {}
func (w *witness) Errorf(string, ...any) { w.failed = true }

// TestInspect: a forbidden secret is found wherever it stands, and nothing else is.
func TestInspect(t *testing.T) {
	for text, want := range map[string]bool{`err="password hunter2-hunter2"`: true, "": false, "hunter2": false} {
		w := &witness{}
		e := &Exporter{t: w, forbidden: []string{"first-secret", "hunter2-hunter2"}}
		if e.inspect("the log", text); w.failed != want {
			t.Errorf("inspect %q: failed %v, want %v", text, w.failed, want)
		}
	}
}
