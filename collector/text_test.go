package collector

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"kafka_connection_exporter/manager"
)

var formats = map[bool]expfmt.Format{
	false: expfmt.NewFormat(expfmt.TypeTextPlain),
	true:  expfmt.NewFormat(expfmt.TypeOpenMetrics),
}

// byLibrary is what client_golang and expfmt make of the collector.
func byLibrary(t testing.TB, c *Collector, openMetrics bool) string {
	t.Helper()
	families, err := registry(t, c).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, formats[openMetrics])
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

// blocks are the families of an exposition with their samples in order: which family, or which broker, comes first is left to
// the writer.
func blocks(text string) []string {
	all := strings.SplitAfter(text, "\n")
	var found [][]string
	for _, line := range all {
		if strings.HasPrefix(line, "# HELP") {
			found = append(found, nil)
		}
		if line != "" {
			found[len(found)-1] = append(found[len(found)-1], line)
		}
	}
	var joined []string
	for _, block := range found {
		slices.Sort(block[2:])
		joined = append(joined, strings.Join(block, ""))
	}
	slices.Sort(joined)
	return joined
}

func compareText(t testing.TB, c *Collector) {
	t.Helper()
	for openMetrics := range formats {
		var text strings.Builder
		if err := c.WriteText(&text, openMetrics); err != nil {
			t.Fatal(err)
		}
		got, want := strings.Join(blocks(text.String()), ""), strings.Join(blocks(byLibrary(t, c, openMetrics)), "")
		if got != want {
			t.Errorf("OpenMetrics %v: the text differs from the library's\n%s", openMetrics, firstDifference([]byte(got), []byte(want)))
		}
	}
}

// TestTextIsTheLibrarys: the fast way and the library's way to the same text.
func TestTextIsTheLibrarys(t *testing.T) {
	for name, snapshot := range map[string]manager.Snapshot{"start": atStart(), "healthy": healthy(), "trouble": inTrouble(), "large": large(30)} {
		t.Run(name, func(t *testing.T) {
			compareText(t, only("a \"quoted\\\n cluster", snapshot, Options{BrokersExpected: 3, FileErrors: func() [3]float64 { return [3]float64{0, 1, 1e21} }}))
		})
	}
}

// TestSeveralClusters: each family once, with the lines of all clusters, in both ways to the text.
func TestSeveralClusters(t *testing.T) {
	c := New(listOf(NewCluster("a", fixed(healthy()), Options{}), NewCluster("b", fixed(inTrouble()), Options{}), NewCluster("c", fixed(atStart()), Options{})))
	compareText(t, c)
	var text strings.Builder
	if err := c.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "# TYPE kafka_connection_seeds gauge\n"); n != 1 {
		t.Errorf("a family %d times", n)
	}
	for _, name := range []string{"a", "b", "c"} {
		if line := `kafka_connection_seeds{kafka_cluster="` + name + `"} 1`; !strings.Contains(text.String(), line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

// FuzzText: whatever brokers call themselves, and whatever the numbers are, the text is what the library makes of it.
func FuzzText(f *testing.F) {
	f.Add("prod", "b1.test", "rack\\\"\n", uint64(1), int64(1500), 1.0)
	f.Add("", "\xff\xfe", "\u2028", uint64(math.MaxUint64), int64(-1), 1e6)
	f.Add("x", "::1", "", uint64(999999), int64(1e15), math.NaN())
	f.Add("x", "", "r", uint64(1000000), int64(math.MinInt64), math.Inf(-1))
	f.Fuzz(func(t *testing.T, cluster, host, rack string, count uint64, nanos int64, errors float64) {
		s := inTrouble()
		b := &s.Brokers[0]
		b.Host, b.Rack, b.Attempts, b.Throttled = host, rack, count, time.Duration(nanos)
		b.RoundTrips = manager.Sum{Count: count, Total: time.Duration(nanos)}
		b.LastSuccess = time.Unix(0, nanos)
		s.ClusterID = rack
		compareText(t, only(strings.ToValidUTF8(cluster, "?"), s, Options{FileErrors: func() [3]float64 { return [3]float64{errors, -errors, errors / 3} }}))
	})
}

// TestLabelsAreBounded: a broker may call itself what it likes.
func TestLabelsAreBounded(t *testing.T) {
	for in, want := range map[string]string{
		"b1.test":                "b1.test",
		strings.Repeat("x", 255): strings.Repeat("x", 255),
		strings.Repeat("ä", 200): strings.Repeat("ä", 127) + "…",
		"a\xffb":                 "a\ufffdb",
	} {
		if got := validLabel(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

type brokenPipe struct{ writes int }

var errBroken = errors.New("broken pipe")

func (b *brokenPipe) Write([]byte) (int, error) { b.writes++; return 0, errBroken }

// TestTextStopsWithItsReader: a scrape that nobody reads any more is not rendered to its end.
func TestTextStopsWithItsReader(t *testing.T) {
	var w brokenPipe
	if err := only("", large(1000), Options{}).WriteText(&w, false); !errors.Is(err, errBroken) || w.writes > 1 {
		t.Errorf("%v after %d writes", err, w.writes)
	}
}

func BenchmarkText1000(b *testing.B) {
	c := only("prod", large(1000), Options{})
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		var n counting
		if err := c.WriteText(&n, true); err != nil {
			b.Fatal(err)
		}
		size = int(n)
	}
	b.ReportMetric(float64(size), "bytes")
}

type counting int

func (c *counting) Write(p []byte) (int, error) { *c += counting(len(p)); return len(p), nil }
