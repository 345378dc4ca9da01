package app

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
)

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 5 * time.Minute // longer than any scrape interval
	drainTimeout      = 2 * time.Second // for scrapes under way at the end
)

// server serves the metrics on all listeners. Each has an http.Server of its own, because the toolkit puts the web config
// into the one that it is given.
type server struct {
	listeners []net.Listener
	https     []*http.Server
	flags     *web.FlagConfig
	logger    *slog.Logger
	work      sync.WaitGroup
	failed    chan error // has room for every listener
}

// checkWeb finds faults of the web config, which would otherwise be an answer with status 500 to every request.
func checkWeb(o *options) error {
	if err := web.Validate(*o.web.WebConfigFile); err != nil {
		return fmt.Errorf("--web.config.file=%s: %w", *o.web.WebConfigFile, err)
	}
	return nil
}

// listen opens all listeners, so that a busy port is found before anything else starts.
func listen(o *options, handler http.Handler, logger *slog.Logger) (*server, error) {
	open := func() ([]net.Listener, error) { return tcpListeners(*o.web.WebListenAddresses) }
	if o.systemdSocket() {
		open = systemdListeners
	}
	listeners, err := open()
	if err != nil {
		return nil, err
	}
	s := &server{listeners: listeners, flags: o.web, logger: logger, failed: make(chan error, len(listeners))}
	calm := &calmLog{logger: logger}
	for range listeners {
		s.https = append(s.https, &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: readHeaderTimeout,
			IdleTimeout:       idleTimeout,
			ErrorLog:          log.New(calm, "", 0),
		})
	}
	return s, nil
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
	for i, l := range s.listeners {
		s.work.Go(func() {
			if err := web.Serve(l, s.https[i], s.flags, s.logger); !errors.Is(err, http.ErrServerClosed) {
				s.failed <- fmt.Errorf("serving on %s: %w", l.Addr(), err)
			}
		})
	}
}

// stop lets scrapes finish for a moment and ends the servers.
func (s *server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	for i, h := range s.https {
		s.work.Go(func() {
			if err := h.Shutdown(ctx); err != nil {
				_ = h.Close()
			}
			_ = s.listeners[i].Close() // of a server that never got as far as to serve
		})
	}
	s.work.Wait()
}

// newHandler has its own mux: whatever else registers with the default one, such as profiling, is not for everybody.
func newHandler(e *exporter, o *options, metrics http.Handler) (http.Handler, error) {
	if _, err := landingPage(o, 1); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(o.telemetryPath, metrics)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		landing, err := landingPage(o, len(e.fleet.Clusters()))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		landing.ServeHTTP(w, r)
	})
	mux.Handle("/-/reload", e.source.reloadHandler(e.logger))
	mux.HandleFunc("/-/healthy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "The process runs.") })
	mux.HandleFunc("/-/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !e.ready() {
			http.Error(w, "The first metadata refresh has not finished yet.", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "The first metadata refresh has finished.")
	})
	return mux, nil
}

// landingPage says how many clusters there are at the moment.
func landingPage(o *options, clusters int) (http.Handler, error) {
	watched := "It watches one cluster."
	if clusters != 1 {
		watched = fmt.Sprintf("It watches %d clusters.", clusters)
	}
	return web.NewLandingPage(web.LandingConfig{
		Name:        "Kafka Connection Exporter",
		Description: description + " " + watched,
		Version:     version.Info(),
		Profiling:   "false",
		Links: []web.LandingLinks{
			{Address: o.telemetryPath, Text: "Metrics", Description: "what Prometheus reads"},
			{Address: "/-/healthy", Text: "Healthy", Description: "the process runs"},
			{Address: "/-/ready", Text: "Ready", Description: "the first metadata refresh of every cluster has finished, good or bad"},
		},
	})
}
