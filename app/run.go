package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/version"

	"kafka_connection_exporter/collector"
	"kafka_connection_exporter/config"
	"kafka_connection_exporter/fleet"
)

// The exit statuses.
const (
	statusGood  = 0
	statusFail  = 1
	statusUsage = 2
)

// Run is the program: it returns the exit status when ctx ends, or when it cannot go on. What is wrong at the start is one
// line on stderr; nothing has been started then.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	nameVersion()
	o, done, code, err := parse(args, stdout)
	if done {
		return code
	}
	if err == nil && (o.file.print || o.configCheck && o.file.path != "") {
		return o.checkConfig(stdout, stderr)
	}
	if err == nil && o.command == commandCheck {
		return runCheck(ctx, o, stdout, stderr)
	}
	var e *exporter
	if err == nil {
		e, err = build(o, stderr)
	}
	if err == nil && o.configCheck {
		fmt.Fprintln(stdout, "The configuration is valid.")
		return statusGood
	}
	var s *server
	if err == nil {
		s, err = listen(o, e.handler, e.bridge)
	}
	if err != nil {
		complain(stderr, o, err)
		if errors.As(err, new(usageError)) {
			return statusUsage
		}
		return statusFail
	}
	return e.run(ctx, s)
}

// complain writes what is wrong: a line for each mistake in a file, else one.
func complain(w io.Writer, o *options, err error) {
	if o == nil || o.file.path == "" {
		fmt.Fprintf(w, "%s: error: %s\n", name, oneLine(err))
		return
	}
	for _, mistake := range mistakes(err) {
		fmt.Fprintf(w, "%s: error: %s\n", name, mistake)
	}
}

// oneLine writes what errors.Join puts on several lines on one.
func oneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "; ")
}

// exporter is everything that runs, before it runs.
type exporter struct {
	logger   log.Logger
	bridge   *slog.Logger
	lines    *logQueue // of both
	source   *source
	fleet    *fleet.Fleet[config.Cluster, *member]
	first    []plan
	handler  http.Handler
	warnings []string // about what is unwise
}

// build makes all parts from the options. It reads every file once, so that a wrong one is found now, and starts nothing.
func build(o *options, stderr io.Writer) (*exporter, error) {
	all := newDescriptors(descriptorLimit())
	e := &exporter{warnings: all.warnings()}
	e.logger, e.bridge, e.lines = newLogger(stderr, o.logFormat, o.logLevel)
	if err := checkWeb(o); err != nil {
		return nil, err
	}
	builder := &builder{logger: e.logger, descriptors: all, histograms: o.brokerHistograms, naming: o.naming()}
	e.fleet = fleet.New(builder.build, func(a, b config.Cluster) bool { return a.Equal(&b) })
	e.source = newSource(o, e.fleet)
	var err error
	if e.first, err = e.source.first(); err != nil {
		return nil, err
	}
	if err := tryAll(builder, e.first); err != nil {
		return nil, err
	}
	rest := prometheus.NewRegistry()
	rest.MustRegister(collector.NewShownDurations(e.clusters), collector.NewProcess(e.source.state))
	registerOwn(o, rest)
	metrics, err := newMetricsHandler(o, collector.New(e.clusters), rest, e.bridge)
	if err != nil {
		return nil, err
	}
	e.handler, err = newHandler(e, o, metrics)
	return e, err
}

// tryAll builds every cluster once for nothing, so that all mistakes are found before anything starts.
func tryAll(b *builder, plans []plan) error {
	var problems []error
	for _, p := range plans {
		if _, err := b.build(p); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// clusters returns what a scrape shows.
func (e *exporter) clusters() []*collector.Cluster {
	running := e.fleet.Clusters()
	all := make([]*collector.Cluster, len(running))
	for i, c := range running {
		all[i] = c.Manager.shown
	}
	return all
}

// registerOwn registers what is about the exporter itself.
func registerOwn(o *options, registry *prometheus.Registry) {
	labeled := prometheus.WrapRegistererWith(prometheus.Labels{"kafka_cluster": o.cluster.Name}, registry)
	labeled.MustRegister(versioncollector.NewCollector("kafka_connection"))
	if !o.disableExporterMetrics {
		registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
}

func (e *exporter) ready() bool {
	select {
	case <-e.fleet.Ready():
		return true
	default:
		return false
	}
}

// stopTimeout is how long the managers have to end their connections properly. Together with drainTimeout and flushTimeout it
// stays below the five seconds in which the process promises to end.
const stopTimeout = 2500 * time.Millisecond

// run runs all parts until ctx ends or one of them cannot go on, and ends them in order: the server first, so that no
// scrape sees a manager that is being taken apart, then the managers with the logs of what they did last.
func (e *exporter) run(ctx context.Context, s *server) int {
	e.lines.start()
	defer e.lines.stop()
	_ = level.Info(e.logger).Log("msg", "starting", "version", version.Info())
	for _, warning := range e.warnings {
		_ = level.Warn(e.logger).Log("msg", warning)
	}
	fleetCtx, stopFleet := context.WithCancel(context.Background())
	defer stopFleet()
	ended := make(chan error, 1)
	go func() { ended <- e.fleet.Run(fleetCtx, e.first) }()
	followed := make(chan struct{})
	e.source.listen()
	go func() { e.source.follow(fleetCtx, e.logger); close(followed) }()
	var err error
	managing := true
	select { // no scrape must see a moment without any cluster
	case <-e.fleet.Begun():
		s.start()
	case err := <-ended:
		ended <- err // for below; it has room
	}
	select {
	case <-ctx.Done():
		_ = level.Info(e.logger).Log("msg", "stopping")
	case err = <-s.failed:
	case err = <-ended:
		managing = false
	}
	s.stop()
	stopFleet()
	<-followed
	if managing {
		e.await(ended)
	}
	return e.report(err)
}

// await waits for the fleet, but not for ever.
func (e *exporter) await(ended <-chan error) {
	select {
	case <-ended:
	case <-time.After(stopTimeout):
		_ = level.Warn(e.logger).Log("msg", "connections have not ended in time", "waited", stopTimeout)
	}
}

// report logs why the exporter ended, one line for each of the cause's, and returns the exit status.
func (e *exporter) report(err error) int {
	if err == nil {
		_ = level.Info(e.logger).Log("msg", "stopped")
		return statusGood
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		_ = level.Error(e.logger).Log("msg", strings.TrimSpace(line))
	}
	return statusFail
}
