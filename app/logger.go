package app

import (
	"io"
	"log/slog"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	sloggokit "github.com/tjhop/slog-gokit"
)

var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"logfmt", "json"}
)

// newLogger returns the exporter's logger, and the same one in the form that the exporter-toolkit wants. The bridge adds a
// time and a caller of its own, so it is built on the logger that has none yet.
func newLogger(w io.Writer, format, lowest string) (log.Logger, *slog.Logger) {
	w = log.NewSyncWriter(w)
	plain := log.NewLogfmtLogger(w)
	if format == "json" {
		plain = log.NewJSONLogger(w)
	}
	slogLevel := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[lowest]
	bridge := slog.New(sloggokit.NewGoKitHandler(plain, slogLevel))
	logger := level.NewFilter(plain, level.Allow(level.ParseDefault(lowest, level.InfoValue())))
	return log.With(logger, "time", log.DefaultTimestampUTC), bridge
}
