package collector

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"kafka_connection_exporter/manager"
)

// flushAt is how much text is collected before it is written.
const flushAt = 64 << 10

// WriteText writes what Collect emits, in Prometheus' text format 0.0.4 or in OpenMetrics 1.0 without its last line, "# EOF",
// because other families may follow. It is the same text, line for line, that a registry and expfmt make of Collect's metrics,
// in a tenth of the time and without a value on the heap for each of the 60 series of a broker. It returns w's first error.
func (c *Collector) WriteText(w io.Writer, openMetrics bool) error {
	views := newViews(c.clusters())
	t := &text{w: w, openMetrics: openMetrics, buf: make([]byte, 0, flushAt+flushAt/4)}
	for i := range c.table {
		t.begun = false
		for _, v := range views {
			c.table[i].emit(v, sink{described: &c.table[i], cluster: v.cluster, text: t})
			if t.err != nil {
				return t.err
			}
		}
	}
	t.flush()
	return t.err
}

// layout is what all lines of a family have in common.
type layout struct {
	name           string
	head, openHead string // the comment lines
	labels         []labelText
}

// labelText is the text around one label's value, in the order of the labels' names.
type labelText struct {
	before string // `{seed="`, or with all of a constant label
	index  int    // of the value; or constantLabel
}

const constantLabel = -1

// heads are the layouts of the table without labels: what the clusters share.
var heads = sync.OnceValue(func() (all []layout) {
	for _, f := range table {
		name := prefix + f.name
		head := func(name string) string {
			return "# HELP " + name + " " + f.help + "\n# TYPE " + name + " " + f.kind.String() + "\n"
		}
		l := layout{name: name, head: head(name), openHead: head(name)}
		if f.kind == counter {
			l.openHead = head(strings.TrimSuffix(name, "_total"))
		}
		all = append(all, l)
	}
	return all
})

// newLayout returns the layout of a family of the table, by its index.
func newLayout(index int, constLabels prometheus.Labels) layout {
	f, l := table[index], heads()[index]
	names := slices.Clone(f.labels)
	for label := range constLabels {
		names = append(names, label)
	}
	slices.Sort(names)
	separator := "{"
	for _, label := range names {
		piece := labelText{separator + label + `="`, slices.Index(f.labels, label)}
		if piece.index == constantLabel {
			piece.before = string(appendEscaped([]byte(piece.before), constLabels[label])) + `"`
		}
		l.labels = append(l.labels, piece)
		separator = ","
	}
	return l
}

// text is an exposition under way.
type text struct {
	w           io.Writer
	openMetrics bool
	buf         []byte
	begun       bool // the comment lines of the current family are written
	err         error
}

func (t *text) put(l *layout, value float64, labels []string) {
	t.begin(l, "", labels)
	t.buf = append(appendFloat(t.buf, value, t.openMetrics), '\n')
	t.flushIfLarge()
}

func (t *text) putSum(l *layout, sum manager.Sum, labels []string) {
	t.begin(l, "_sum", labels)
	t.buf = append(appendFloat(t.buf, sum.Total.Seconds(), t.openMetrics), '\n')
	t.begin(l, "_count", labels)
	if t.openMetrics {
		t.buf = append(strconv.AppendUint(t.buf, sum.Count, 10), '\n')
	} else {
		t.buf = append(appendFloat(t.buf, float64(sum.Count), false), '\n')
	}
	t.flushIfLarge()
}

// begin writes a line up to its value.
func (t *text) begin(l *layout, suffix string, labels []string) {
	if !t.begun {
		t.begun = true
		head := l.head
		if t.openMetrics {
			head = l.openHead
		}
		t.buf = append(t.buf, head...)
	}
	b := append(t.buf, l.name...)
	b = append(b, suffix...)
	for _, piece := range l.labels {
		b = append(b, piece.before...)
		if piece.index != constantLabel {
			b = append(appendEscaped(b, labels[piece.index]), '"')
		}
	}
	t.buf = append(b, "} "...)
}

func (t *text) flushIfLarge() {
	if len(t.buf) >= flushAt {
		t.flush()
	}
}

func (t *text) flush() {
	if t.err == nil {
		_, t.err = t.w.Write(t.buf)
	}
	t.buf = t.buf[:0]
}

// appendFloat writes a number as expfmt does: OpenMetrics wants to see that it is a float.
func appendFloat(b []byte, f float64, openMetrics bool) []byte {
	start := len(b)
	if whole := int64(f); float64(whole) == f && whole > -1e6 && whole < 1e6 {
		b = strconv.AppendInt(b, whole, 10) // the shortest float, too, but twenty times as fast; most values are small counts
	} else {
		b = strconv.AppendFloat(b, f, 'g', -1, 64)
	}
	if openMetrics && !bytes.ContainsAny(b[start:], "e.aI") {
		b = append(b, ".0"...)
	}
	return b
}

// appendEscaped writes a label's value.
func appendEscaped(b []byte, s string) []byte {
	if !strings.ContainsAny(s, "\\\n\"") {
		return append(b, s...)
	}
	for i := range len(s) {
		switch s[i] {
		case '\\':
			b = append(b, `\\`...)
		case '\n':
			b = append(b, `\n`...)
		case '"':
			b = append(b, `\"`...)
		default:
			b = append(b, s[i])
		}
	}
	return b
}
