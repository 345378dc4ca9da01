package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"

	"kafka_connection_exporter/collector"
	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/security"
	"kafka_connection_exporter/seeds"
	"kafka_connection_exporter/wire"
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
	o, done, code, err := parse(args, stdout)
	if done {
		return code
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
		fmt.Fprintf(stderr, "%s: error: %s\n", name, oneLine(err))
		if errors.As(err, new(usageError)) {
			return statusUsage
		}
		return statusFail
	}
	return e.run(ctx, s)
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// exporter is everything that runs, before it runs.
type exporter struct {
	logger  log.Logger
	bridge  *slog.Logger
	events  *eventLog
	manager *manager.Manager
	handler http.Handler
	started atomic.Bool
}

// build makes all parts from the options. It reads every file once, so that a wrong one is found now, and starts nothing.
func build(o *options, stderr io.Writer) (*exporter, error) {
	e := &exporter{}
	e.logger, e.bridge = newLogger(stderr, o.logFormat, o.logLevel)
	e.events = newEventLog(e.logger)
	list, err := seeds.Parse(o.seeds, seeds.Security{TLS: o.tls, SASL: o.saslOptions.Mechanism != ""})
	if err != nil {
		return nil, usageError{err}
	}
	dialer := o.dialer()
	material, err := e.buildTLS(o, dialer)
	if err != nil {
		return nil, err
	}
	credentials, err := buildSASL(o, dialer)
	if err != nil {
		return nil, err
	}
	if err := web.Validate(*o.web.WebConfigFile); err != nil {
		return nil, fmt.Errorf("web config %s: %w", *o.web.WebConfigFile, err)
	}
	durations := collector.NewDurations(o.cluster, o.brokerHistograms)
	config := o.managerConfig(list, dialer)
	config.Observer, config.OnEvent = durations.Observer(), e.events.add
	if credentials != nil {
		config.CredentialVersion = credentials.CredentialVersion
	}
	if e.manager, err = manager.New(config); err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	options := collector.Options{BrokersExpected: o.brokersExpected, Durations: durations, FileErrors: fileErrors(material)}
	registry.MustRegister(collector.New(o.cluster, e.manager, options))
	registerOwn(o, registry)
	e.handler, err = newHandler(o, registry, registry, e.ready)
	return e, err
}

// registerOwn registers what is about the exporter itself.
func registerOwn(o *options, registry *prometheus.Registry) {
	labeled := prometheus.WrapRegistererWith(prometheus.Labels{"kafka_cluster": o.cluster}, registry)
	labeled.MustRegister(versioncollector.NewCollector("kafka_connection"))
	if !o.disableExporterMetrics {
		registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
}

func (e *exporter) ready() bool { return e.manager.Snapshot().Refresh.Rounds > 0 }

func (o *options) dialer() *wire.Dialer {
	dialer := &net.Dialer{FallbackDelay: -1}
	return &wire.Dialer{
		Timeout:         o.connectTimeout,
		AttemptDelay:    o.attemptDelay,
		ClientID:        o.clientID,
		SoftwareVersion: softwareVersion(),
		Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
		DialAddress: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", addr.String())
		},
	}
}

// softwareVersion returns the version in the alphabet that brokers accept (KIP-511); they refuse every other one.
func softwareVersion() string {
	clean := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' {
			return r
		}
		return '-'
	}, version.Version)
	if clean = strings.Trim(clean, "-."); clean == "" {
		return "dev"
	}
	return clean
}

func (o *options) managerConfig(list seeds.List, dialer *wire.Dialer) manager.Config {
	return manager.Config{
		Seeds: list, Dialer: dialer, ClusterID: o.clusterID,
		RefreshInterval: o.refreshInterval, HedgeDelay: o.hedgeDelay, GiveUpAfter: o.giveUpAfter,
		ConnectRate: o.connectRate, BackoffBase: o.backoffBase, BackoffMax: o.backoffMax,
		CheckInterval: o.checkInterval, CheckTimeout: o.checkTimeout,
		HandshakeInterval: o.handshakeInterval, SeedCheckInterval: o.seedCheckInterval,
		SASLRetryInterval: o.saslOptions.RetryInterval, Retention: o.retention,
	}
}

// buildTLS puts TLS into the dialer if it is wanted.
func (e *exporter) buildTLS(o *options, dialer *wire.Dialer) (*security.TLS, error) {
	if !o.tls {
		return nil, nil
	}
	o.tlsOptions.OnChange = e.logFile
	material, err := security.NewTLS(o.tlsOptions)
	if err != nil {
		return nil, usageError{err}
	}
	if err := material.Check(); err != nil {
		return nil, err
	}
	dialer.TLS = material.Config
	return material, nil
}

// logFile logs a change of state of a TLS file. Before the start a bad one is an error of its own.
func (e *exporter) logFile(f security.FileStatus) {
	if !e.started.Load() {
		return
	}
	if f.Failure != "" {
		_ = level.Warn(e.logger).Log("msg", "a TLS file cannot be used, what was loaded before stays in use", "file", f.Path, "kind", f.File, "err", f.Failure)
		return
	}
	_ = level.Info(e.logger).Log("msg", "a TLS file can be used again", "file", f.Path, "kind", f.File)
}

// fileErrors is what the collector asks for, in the order of its labels.
func fileErrors(material *security.TLS) func() [3]float64 {
	if material == nil {
		return nil
	}
	return func() (counts [3]float64) {
		for i, s := range material.Status() {
			counts[i] = float64(s.Errors)
		}
		return counts
	}
}

// buildSASL puts SASL into the dialer if it is wanted.
func buildSASL(o *options, dialer *wire.Dialer) (*security.SASL, error) {
	if o.saslOptions.Mechanism == "" {
		return nil, nil
	}
	credentials, err := security.NewSASL(o.saslOptions)
	if err != nil {
		return nil, usageError{err}
	}
	if err := credentials.Check(); err != nil {
		return nil, err
	}
	dialer.SASL = credentials.Mechanism
	return credentials, nil
}

// run runs all parts until ctx ends or one of them cannot go on, and ends them in order: the server first, so that no
// scrape sees a manager that is being taken apart, then the manager, then the log of what it did last.
func (e *exporter) run(ctx context.Context, s *server) int {
	e.started.Store(true)
	_ = level.Info(e.logger).Log("msg", "starting", "version", version.Info())
	managerCtx, stopManager := context.WithCancel(context.Background())
	logCtx, stopLog := context.WithCancel(context.Background())
	var work, logWork sync.WaitGroup
	logWork.Go(func() { e.events.run(logCtx) })
	ended := make(chan error, 1)
	work.Go(func() { ended <- e.manager.Run(managerCtx) })
	s.start()
	var err error
	select {
	case <-ctx.Done():
		_ = level.Info(e.logger).Log("msg", "stopping")
	case err = <-s.failed:
	case err = <-ended:
	}
	s.stop()
	stopManager()
	work.Wait()
	stopLog()
	logWork.Wait()
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			_ = level.Error(e.logger).Log("msg", strings.TrimSpace(line))
		}
		return statusFail
	}
	_ = level.Info(e.logger).Log("msg", "stopped")
	return statusGood
}
