package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"kafka_connection_exporter/config"
)

// fileOptions are the flags about a file with many clusters.
type fileOptions struct {
	path          string        // empty: the flags are about the only cluster
	print         bool          // what is effective, and exit
	autoReload    time.Duration // between two looks at the files; 0: none
	lifecycle     bool          // reload by HTTP
	shard, shards int
	ofCluster     []givenFlag // in the order of --help
}

// givenFlag is a flag about one cluster, and whether the user gave it.
type givenFlag struct {
	setting *config.Setting
	onLine  *bool
}

// how returns the ways in which the flag, or the secret that belongs to it, was given.
func (g givenFlag) how() (all []string) {
	variable := g.setting.Variable()
	if *g.onLine {
		all = append(all, "--"+g.setting.Flag)
	}
	for _, v := range []string{variable, g.setting.SecretVariable()} {
		if os.Getenv(v) != "" { // as kingpin does, which takes an empty one for none
			all = append(all, "the variable "+v)
		}
	}
	return all
}

// leastReload keeps a typing error from reading all files all the time.
const leastReload = time.Second

func (f *fileOptions) flags(a *kingpin.Application) {
	a.Flag("config.file", "YAML file with many clusters, instead of the flags about one: see docs/CONFIG.md.").StringVar(&f.path)
	a.Flag("config.print", "Print the configuration that is effective, as such a file, and exit. Secrets are shown by the names of their files only.").BoolVar(&f.print)
	a.Flag("config.auto-reload-interval", "With --config.file: time between two looks at the files, which are loaded again if they have changed. 0: only SIGHUP and --web.enable-lifecycle reload.").Default("0s").DurationVar(&f.autoReload)
	a.Flag("shard", "With --config.file: number of this process among those that share the clusters, from 0.").Default("0").IntVar(&f.shard)
	a.Flag("total-shards", "With --config.file: how many processes share the clusters.").Default("1").IntVar(&f.shards)
}

// mistakes returns what is wrong with the flags about the file, and with those that do not go with it.
func (f *fileOptions) mistakes() (all []error) {
	if f.autoReload < 0 || f.autoReload > 0 && f.autoReload < leastReload {
		all = append(all, wrong("config.auto-reload-interval", f.autoReload, fmt.Sprintf("at least %s, or 0 for never", leastReload)))
	}
	if f.shards < 1 {
		all = append(all, wrong("total-shards", f.shards, "at least 1"))
	} else if f.shard < 0 || f.shard >= f.shards {
		all = append(all, wrong("shard", f.shard, fmt.Sprintf("at least 0 and below --total-shards, which is %d", f.shards)))
	}
	if f.path == "" {
		return append(all, f.idle()...)
	}
	var given []string
	for _, g := range f.ofCluster {
		given = append(given, g.how()...)
	}
	if len(given) > 0 {
		all = append(all, fmt.Errorf("%s cannot be given together with --config.file, as this is about one cluster: say it in the file, under defaults if it is about all",
			strings.Join(given, ", ")))
	}
	return all
}

// idle refuses what would have no effect without a file.
func (f *fileOptions) idle() (all []error) {
	for _, i := range []struct {
		flag  string
		given bool
	}{
		{"config.auto-reload-interval", f.autoReload != 0},
		{"shard", f.shard != 0}, {"total-shards", f.shards != 1},
	} {
		if i.given {
			all = append(all, fmt.Errorf("--%s has no effect without --config.file", i.flag))
		}
	}
	return all
}

// loadClusters returns the clusters of the file, or the one that the flags are about. The errors of a file have positions.
func (o *options) loadClusters() (*config.File, error) {
	if o.file.path == "" {
		return &config.File{Clusters: []config.Cluster{o.cluster}}, nil
	}
	return config.Load(o.file.path)
}

// checkConfig is --config.check and --config.print: it reads every file that is named, and returns the exit status.
func (o *options) checkConfig(stdout, stderr io.Writer) int {
	loaded, err := o.loadClusters()
	if err == nil {
		err = loaded.CheckFiles()
	}
	if err = errors.Join(checkWeb(o), err); err != nil {
		complain(stderr, o, err)
		return statusFail
	}
	if !o.file.print {
		fmt.Fprintf(stdout, "The configuration is valid. Clusters: %d.\n", len(loaded.Clusters))
		return statusGood
	}
	if err := config.Print(stdout, loaded.Clusters); err != nil {
		fmt.Fprintf(stderr, "%s: error: %s\n", name, err)
		return statusFail
	}
	return statusGood
}
