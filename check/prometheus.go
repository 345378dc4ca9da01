package check

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// metric is one family of --output=prometheus: a subset of the daemon's, with the same names, labels and words, so that what is
// built on them works, too.
type metric struct {
	name, help string
	samples    func(r *Report, put func(value float64, labels ...string))
}

var metrics = []metric{
	{"up", "Whether the last finished round of metadata refresh succeeded.", func(r *Report, put func(float64, ...string)) {
		put(boolean(r.Views.From != ""))
	}},
	{"cluster_info", "The id of the cluster, as configured or as first seen.", func(r *Report, put func(float64, ...string)) {
		if r.ClusterID != "" {
			put(1, "cluster_id", r.ClusterID)
		}
	}},
	{"brokers", "Brokers in the last good metadata.", func(r *Report, put func(float64, ...string)) { put(float64(r.Views.Named)) }},
	{"brokers_expected", "Brokers that the cluster should have, as configured.", func(r *Report, put func(float64, ...string)) {
		if r.Expected > 0 {
			put(float64(r.Expected))
		}
	}},
	{"seeds", "Configured seeds.", func(r *Report, put func(float64, ...string)) { put(float64(len(r.Seeds))) }},
	{"seed_reachable", "Whether the last finished attempt or check of the seed succeeded.", each(seedsOf, reachable)},
	{"seed_failing", "1 while the last attempt of the seed failed: where, and why.", each(seedsOf, failing)},
	{"broker_info", "The address that the broker advertises, and its rack.", each(brokersOf, func(r *Result, put putter) {
		put(1, "address", r.Address, "rack", r.Rack)
	})},
	{"broker_reachable", "Whether the last finished check of the broker succeeded.", each(brokersOf, reachable)},
	{"broker_failing", "1 while the broker cannot be reached or accepts no connections: where, and why.", each(brokersOf, failing)},
	{"broker_in_metadata", "Whether the last good metadata named the broker.", each(brokersOf, func(r *Result, put putter) { put(boolean(r.InMetadata)) })},
	{"broker_metadata_agrees", "Whether the broker names the same brokers as the majority does; 0 for all where there is none.",
		each(brokersOf, func(r *Result, put putter) { perhaps(r.ViewAgrees, put) })},
	{"broker_describe_cluster_agrees", "Whether DescribeCluster names the broker at the address that Metadata does, which is the one that clients dial; absent where it cannot be asked.",
		each(brokersOf, func(r *Result, put putter) { perhaps(r.DescribeOK, put) })},
	{"broker_certificate_expiry_timestamp_seconds", "When the first certificate of the chain that the broker presented ends.",
		each(brokersOf, func(r *Result, put putter) {
			if r.TLS != nil {
				put(float64(r.TLS.NotAfter.Unix()))
			}
		})},
	{"broker_tls_info", "What the last TLS handshake with the broker agreed on.", each(brokersOf, func(r *Result, put putter) {
		if r.TLS != nil && r.TLS.Version != "" {
			put(1, "version", r.TLS.Version, "cipher", r.TLS.Cipher)
		}
	})},
	{"check_timestamp_seconds", "When this check began.", func(r *Report, put func(float64, ...string)) { put(float64(r.Started.UnixMilli()) / 1000) }},
	{"check_duration_seconds", "How long this check took.", func(r *Report, put func(float64, ...string)) { put(r.Seconds) }},
}

type putter = func(value float64, labels ...string)

func seedsOf(r *Report) []Result   { return r.Seeds }
func brokersOf(r *Report) []Result { return r.Brokers }

// each puts the target's own label before those of write.
func each(of func(*Report) []Result, write func(*Result, putter)) func(*Report, putter) {
	return func(report *Report, put putter) {
		all := of(report)
		for i := range all {
			r := &all[i]
			target := []string{"seed", r.Seed}
			if r.BrokerID != nil {
				target = []string{"broker_id", strconv.Itoa(int(*r.BrokerID))}
			}
			write(r, func(value float64, labels ...string) { put(value, append(target, labels...)...) })
		}
	}
}

func reachable(r *Result, put putter) {
	switch r.State {
	case StateWell, StateFailed:
		put(boolean(r.State == StateWell))
	case StateNotTried: // the daemon's verdict on who is held back
		if r.Failure != nil {
			put(0)
		}
	}
}

func failing(r *Result, put putter) {
	if r.Failure != nil {
		put(1, "phase", r.Failure.Phase, "reason", r.Failure.Reason)
	}
}

func perhaps(b *bool, put putter) {
	if b != nil {
		put(boolean(*b))
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// WritePrometheus writes the reports in Prometheus' text format, for the textfile collector.
func WritePrometheus(w io.Writer, reports []Report) error {
	var b strings.Builder
	for _, m := range metrics {
		begun := false
		for i := range reports {
			m.samples(&reports[i], func(value float64, labels ...string) {
				if !begun {
					fmt.Fprintf(&b, "# HELP kafka_connection_%s %s\n# TYPE kafka_connection_%s gauge\n", m.name, m.help, m.name)
					begun = true
				}
				sample(&b, m.name, value, append([]string{"kafka_cluster", reports[i].Cluster}, labels...))
			})
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sample leaves out labels that are empty, which is the same to Prometheus.
func sample(b *strings.Builder, name string, value float64, labels []string) {
	var pairs []string
	for i := 0; i < len(labels); i += 2 {
		if labels[i+1] != "" {
			pairs = append(pairs, labels[i]+`="`+labelEscaper.Replace(clean(labels[i+1], false))+`"`)
		}
	}
	list := ""
	if len(pairs) > 0 {
		list = "{" + strings.Join(pairs, ",") + "}"
	}
	fmt.Fprintf(b, "kafka_connection_%s%s %s\n", name, list, strconv.FormatFloat(value, 'g', -1, 64))
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
