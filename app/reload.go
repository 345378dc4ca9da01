package app

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"kafka_connection_exporter/config"
)

// mistakes returns the lines of an error that was joined out of several.
func mistakes(err error) []string {
	return strings.Split(strings.TrimSpace(err.Error()), "\n")
}

// fingerprint tells one content of the file, and of all files that it names, from another; and one mistake from another, so that a
// wrong file is complained about once.
func (s *source) fingerprint() string {
	file, err := config.Load(s.options.file.path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(file.Hash)
}

// reloadIfChanged reloads unless what is in the file is in use already.
func (s *source) reloadIfChanged(logger log.Logger) {
	file, err := config.Load(s.options.file.path)
	if health := s.health.Load(); err == nil && health.Successful && health.Hash == file.Hash {
		return
	}
	s.reloadFor("a changed file", logger)
}

// reloadHandler is /-/reload, for those who are allowed to.
func (s *source) reloadHandler(logger log.Logger) http.Handler {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost && r.Method != http.MethodPut:
			w.Header().Set("Allow", "POST, PUT")
			http.Error(w, "Reloading changes something: use POST or PUT.", http.StatusMethodNotAllowed)
		case !s.options.file.lifecycle:
			http.Error(w, "Reloading by HTTP is off: start the exporter with --web.enable-lifecycle, or send it a SIGHUP.", http.StatusForbidden)
		default:
			changes, err := s.reload()
			logReload(log.With(logger, "remote", r.RemoteAddr), "HTTP", changes, err)
			if err != nil {
				http.Error(w, strings.Join(mistakes(err), "\n"), http.StatusBadRequest)
				return
			}
			fmt.Fprintln(w, changes)
		}
	})
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = level.Warn(logger).Log("msg", "a web page of another site wanted to reload the configuration", "remote", r.RemoteAddr, "origin", r.Header.Get("Origin"))
		http.Error(w, "Web pages of other sites may not reload the configuration.", http.StatusForbidden)
	}))
	return guard.Handler(handler)
}
