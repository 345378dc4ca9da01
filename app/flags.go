package app

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	webflag "github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"kafka_connection_exporter/config"
)

const (
	name        = "kafka_connection_exporter"
	description = "Keeps one managed connection to every broker of an Apache Kafka cluster and tells Prometheus which brokers can be reached from here, and why not."
)

// exit is thrown by kingpin's Terminate, for --help and --version, and caught by parse.
type exit struct{ code int }

// parse reads the flags and the environment. done is true when there is nothing left to do but to exit with code.
func parse(args []string, stdout io.Writer) (o *options, done bool, code int, err error) {
	o = &options{}
	parser := newParser(o)
	parser.UsageWriter(stdout).ErrorWriter(stdout)
	defer func() {
		if thrown := recover(); thrown != nil {
			e, ok := thrown.(exit)
			if !ok {
				panic(thrown)
			}
			done, code = true, e.code
		}
	}()
	parser.Terminate(func(code int) { panic(exit{code}) })
	if o.command, err = parser.Parse(args); err != nil {
		return nil, false, 0, usageError{explain(err)}
	}
	if o.file.path == "" && len(o.cluster.Seeds) == 0 {
		return nil, false, 0, usageError{explain(errors.New("required flag(s) '--kafka.seed' not provided"))}
	}
	if err := o.complete(); err != nil {
		return nil, false, 0, err
	}
	return o, false, 0, nil
}

// explain adds the way out to kingpin's words.
func explain(err error) error {
	text := err.Error()
	for _, s := range config.Settings() {
		flag := "--" + strings.TrimSuffix(s.Flag, "-file")
		if s.SecretVariable() != "" && strings.Contains(text, "'"+flag+"'") {
			return fmt.Errorf("%s does not exist, because everybody can see flags in the process list: use %s-file or the variable %s",
				flag, flag, s.SecretVariable())
		}
	}
	return errors.New(text + ", try --help")
}

func newParser(o *options) *kingpin.Application {
	a := kingpin.New(name, description)
	a.DefaultEnvars()
	a.HelpFlag.Short('h').NoEnvar()
	a.Version(version.Print(name))
	a.VersionFlag.NoEnvar()
	o.clusterFlags(a)
	o.outputFlags(a)
	nameErrors(a)
	o.commands(a)
	return a
}

// clusterFlags makes a flag of each setting of a cluster.
func (o *options) clusterFlags(a *kingpin.Application) {
	for _, s := range config.Settings() {
		given := givenFlag{setting: s, onLine: new(bool)}
		o.file.ofCluster = append(o.file.ofCluster, given)
		clause := a.Flag(s.Flag, s.FlagHelp()).IsSetByUser(given.onLine)
		if s.Default != "" {
			clause.Default(s.Default)
		}
		switch field := s.Field(&o.cluster).(type) {
		case *string:
			if s.Values != nil {
				clause.EnumVar(field, s.Values...)
			} else {
				clause.StringVar(field)
			}
		case *[]string:
			clause.StringsVar(field)
		case *bool:
			clause.BoolVar(field)
		case *int32:
			clause.Int32Var(field)
		case *float64:
			clause.Float64Var(field)
		case *time.Duration:
			clause.DurationVar(field)
		}
	}
}

func (o *options) outputFlags(a *kingpin.Application) {
	o.web = webflag.AddFlags(a, ":19308")
	a.Flag("web.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&o.telemetryPath)
	a.Flag("web.disable-exporter-metrics", "Leave out the metrics about this process itself (go_*, process_*, promhttp_*).").BoolVar(&o.disableExporterMetrics)
	a.Flag("web.enable-lifecycle", "With --config.file: allow to reload it by POST or PUT /-/reload.").BoolVar(&o.file.lifecycle)
	a.Flag("collector.broker-histograms", "Add a histogram of round trips for every broker.").BoolVar(&o.brokerHistograms)
	a.Flag("log.level", fmt.Sprintf("Lowest level to log: %s.", strings.Join(logLevels, ", "))).Default("info").EnumVar(&o.logLevel, logLevels...)
	a.Flag("log.format", fmt.Sprintf("Format of the log: %s.", strings.Join(logFormats, ", "))).Default("logfmt").EnumVar(&o.logFormat, logFormats...)
	a.Flag("config.check", "Check the flags and every file that they name, and exit.").BoolVar(&o.configCheck)
	o.file.flags(a)
}
