package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"kafka_connection_exporter/collector"
)

// metrics is what a scrape shows: the cluster, which has nearly all of the series, and the rest, which the library renders.
type metrics struct {
	cluster *collector.Collector
	rest    *prometheus.Registry // histograms and what is about the exporter itself
	logger  *slog.Logger
	library http.Handler // renders everything, for the requests that handler leaves to it
	open    http.Handler // the same in OpenMetrics
}

// newMetricsHandler renders the ordinary scrape in a tenth of the library's time: see collector.WriteText. Everything else,
// which is protobuf for native histograms and a choice of families by name, is left to the library.
func newMetricsHandler(o *options, cluster *collector.Collector, rest *prometheus.Registry, logger *slog.Logger) (http.Handler, error) {
	all := prometheus.NewRegistry()
	all.MustRegister(cluster)
	opts := promhttp.HandlerOpts{
		EnableOpenMetrics:  true,
		ErrorLog:           slog.NewLogLogger(logger.Handler(), slog.LevelError),
		DisableCompression: true, // done below
	}
	if !o.disableExporterMetrics {
		opts.Registry = rest
	}
	m := &metrics{cluster: cluster, rest: rest, logger: logger}
	m.library = promhttp.HandlerFor(prometheus.Gatherers{all, rest}, opts)
	opts.Registry = nil // its error counter is registered once
	m.open = promhttp.HandlerFor(untangled{prometheus.Gatherers{all, rest}}, opts)
	// The text repeats itself so much that the fastest level is nearly as good as the best, and takes a fifth of the time.
	compress, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, err
	}
	handler := http.Handler(compress(m))
	if !o.disableExporterMetrics {
		handler = promhttp.InstrumentMetricHandler(rest, handler)
	}
	return handler, nil
}

// textFormats says of the formats that are text whether they are OpenMetrics.
var textFormats = map[expfmt.FormatType]bool{expfmt.TypeTextPlain: false, expfmt.TypeOpenMetrics: true}

// ServeHTTP implements http.Handler.
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	openMetrics, known := textFormats[format.FormatType()]
	if !known || r.URL.Query().Has("name[]") {
		if openMetrics {
			m.open.ServeHTTP(w, r)
			return
		}
		m.library.ServeHTTP(w, r)
		return
	}
	families, err := m.rest.Gather()
	if err != nil {
		m.logger.Error("error gathering metrics", "err", err)
		http.Error(w, fmt.Sprintf("An error has occurred while serving metrics:\n\n%s", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(format))
	w.Header().Add("Vary", "Accept")
	if err := m.cluster.WriteText(w, openMetrics); err != nil {
		return // the scraper has gone, and knows it
	}
	encoder := expfmt.NewEncoder(w, format)
	if openMetrics {
		untangle(families)
	}
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			return
		}
	}
	if closer, ok := encoder.(expfmt.Closer); ok {
		_ = closer.Close() // writes OpenMetrics' last line
	}
}

// untangle makes counters whose name without _total is another family's as well, go_memstats_alloc_bytes, families of no known type:
// in OpenMetrics the two would be one family twice, which strict parsers refuse. Values and names stay.
func untangle(families []*dto.MetricFamily) {
	names := make(map[string]bool, len(families))
	for _, f := range families {
		names[f.GetName()] = true
	}
	for _, f := range families {
		if base, ok := strings.CutSuffix(f.GetName(), "_total"); ok && names[base] && f.GetType() == dto.MetricType_COUNTER {
			f.Type = dto.MetricType_UNTYPED.Enum()
			for _, m := range f.Metric {
				m.Untyped, m.Counter = &dto.Untyped{Value: m.Counter.Value}, nil
			}
		}
	}
}

// untangled is a gatherer for OpenMetrics.
type untangled struct{ prometheus.Gatherer }

// Gather implements prometheus.Gatherer.
func (u untangled) Gather() ([]*dto.MetricFamily, error) {
	families, err := u.Gatherer.Gather()
	untangle(families)
	return families, err
}
