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

// newLogger returns the exporter's logger, the same one in the form that the exporter-toolkit wants, and the queue through
// which both write to w once it is started. The bridge adds a time and a caller of its own, so it is built on the logger that
// has none yet.
func newLogger(w io.Writer, format, lowest string) (log.Logger, *slog.Logger, *logQueue) {
	newFormat := log.NewLogfmtLogger
	if format == "json" {
		newFormat = log.NewJSONLogger
	}
	queue := newLogQueue(w, func(w io.Writer, lost int) {
		_ = level.Warn(log.With(newFormat(w), "time", log.DefaultTimestampUTC)).Log(
			"msg", "lines of the log were lost because it is read too slowly", "count", lost)
	})
	plain := newFormat(queue)
	slogLevel := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[lowest]
	bridge := slog.New(sloggokit.NewGoKitHandler(plain, slogLevel))
	logger := level.NewFilter(plain, level.Allow(level.ParseDefault(lowest, level.InfoValue())))
	return log.With(logger, "time", log.DefaultTimestampUTC), bridge, queue
}
