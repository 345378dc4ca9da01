package app

import (
	"errors"
	"os"

	"github.com/prometheus/exporter-toolkit/web"

	"kafka_connection_exporter/config"
)

// options is everything that flags and the environment say.
type options struct {
	command string         // serve or check
	check   checkFlags     // of the second
	cluster config.Cluster // the only one, where no file names several
	file    fileOptions

	web                    *web.FlagConfig
	telemetryPath          string
	disableExporterMetrics bool
	brokerHistograms       bool
	logLevel, logFormat    string
	configCheck            bool
}

// usageError is a mistake in the flags, as opposed to one in the files or the machine.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

// complete adds what the environment holds, and checks it all. The error is a usageError that names every mistake.
func (o *options) complete() error {
	errs := o.file.mistakes()
	if o.file.path == "" {
		errs = append(errs, o.cluster.Check(config.FlagName), o.readSecrets())
	}
	errs = append(errs, o.badWeb()...)
	if err := errors.Join(errs...); err != nil {
		return usageError{errors.New(oneLine(err))}
	}
	return nil
}

// readSecrets takes secrets out of the variables that are named like the flags of their files, without _FILE.
func (o *options) readSecrets() error {
	var errs []error
	for _, s := range config.Settings() {
		if value := os.Getenv(s.SecretVariable()); value != "" {
			errs = append(errs, s.SetSecret(&o.cluster, value))
		}
	}
	return errors.Join(errs...)
}

// naming is what mistakes call a setting.
func (o *options) naming() config.Naming {
	if o.file.path != "" {
		return config.KeyName
	}
	return config.FlagName
}
