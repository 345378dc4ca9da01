package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
)

const (
	readHeaderTimeout = 10 * time.Second
	drainTimeout      = 2 * time.Second // for scrapes under way at the end
)

// server serves the metrics on all listeners.
type server struct {
	http      *http.Server
	listeners []net.Listener
	flags     *web.FlagConfig
	logger    *slog.Logger
	work      sync.WaitGroup
	failed    chan error // has room for every listener
}

// listen opens all listeners, so that a busy port is found before anything else starts.
func listen(o *options, handler http.Handler, logger *slog.Logger) (*server, error) {
	s := &server{
		http:   &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout},
		flags:  o.web,
		logger: logger,
	}
	var err error
	if o.web.WebSystemdSocket != nil && *o.web.WebSystemdSocket {
		s.listeners, err = systemdListeners()
	} else {
		s.listeners, err = tcpListeners(*o.web.WebListenAddresses)
	}
	s.failed = make(chan error, len(s.listeners))
	return s, err
}

func systemdListeners() ([]net.Listener, error) {
	all, err := activation.Listeners()
	if err == nil && len(all) == 0 {
		err = errors.New("systemd handed over no socket, is this a unit with a .socket?")
	}
	if err != nil {
		return nil, fmt.Errorf("--web.systemd-socket: %w", err)
	}
	return all, nil
}

func tcpListeners(addresses []string) ([]net.Listener, error) {
	var all []net.Listener
	for _, address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			for _, open := range all {
				_ = open.Close()
			}
			return nil, fmt.Errorf("--web.listen-address=%s: %w", address, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// start serves in the background. What goes wrong arrives on failed.
func (s *server) start() {
	for _, l := range s.listeners {
		s.work.Go(func() {
			if err := web.Serve(l, s.http, s.flags, s.logger); !errors.Is(err, http.ErrServerClosed) {
				s.failed <- err
			}
		})
	}
}

// stop lets scrapes finish for a moment and ends the server.
func (s *server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
	for _, l := range s.listeners {
		_ = l.Close() // of a server that never started
	}
	s.work.Wait()
}

// newHandler has its own mux: whatever else registers with the default one, such as profiling, is not for everybody.
func newHandler(o *options, gatherer prometheus.Gatherer, registerer prometheus.Registerer, ready func() bool) (http.Handler, error) {
	metrics := promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true, Registry: registerer})
	if !o.disableExporterMetrics {
		metrics = promhttp.InstrumentMetricHandler(registerer, metrics)
	}
	landing, err := web.NewLandingPage(web.LandingConfig{
		Name:        "Kafka Connection Exporter",
		Description: description,
		Version:     version.Info(),
		Profiling:   "false",
		Links: []web.LandingLinks{
			{Address: o.telemetryPath, Text: "Metrics", Description: "what Prometheus reads"},
			{Address: "/-/healthy", Text: "Healthy", Description: "the process runs"},
			{Address: "/-/ready", Text: "Ready", Description: "the first metadata refresh has finished, good or bad"},
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(o.telemetryPath, metrics)
	mux.Handle("/{$}", landing)
	mux.HandleFunc("/-/healthy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "The process runs.") })
	mux.HandleFunc("/-/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "The first metadata refresh has not finished yet.", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "The first metadata refresh has finished.")
	})
	return mux, nil
}
