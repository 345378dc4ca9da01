package app

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"kafka_connection_exporter/collector"
	"kafka_connection_exporter/config"
	"kafka_connection_exporter/fleet"
	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/security"
)

// plan is how one cluster should run.
type plan = fleet.Plan[config.Cluster]

// planFor gives a successor twice the time of one connection until it is shown.
func planFor(c config.Cluster) plan {
	return plan{Name: c.Name, Config: c, Grace: 2 * c.ConnectTimeout}
}

// member is everything that runs for one cluster: it is the fleet's Manager.
type member struct {
	manager  *manager.Manager
	shown    *collector.Cluster
	events   *eventLog
	logger   log.Logger
	warnings []string    // about what is unwise
	started  atomic.Bool // what is wrong before is an error instead of a line in the log
}

// builder makes clusters.
type builder struct {
	logger      log.Logger
	descriptors *descriptors
	histograms  bool          // for each broker
	naming      config.Naming // what mistakes call a setting
}

// build makes the parts of one cluster. It reads every file once, so that a wrong one is found now, and starts nothing.
func (b *builder) build(p plan) (*member, error) {
	c := &p.Config
	list, err := c.SeedList()
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", b.naming(seedSetting()), err)}
	}
	made := &member{logger: b.logger, warnings: c.Warnings(b.naming)}
	if c.Name != "" {
		made.logger = log.With(b.logger, "kafka_cluster", c.Name)
	}
	made.events = newEventLog(made.logger)
	dialer := newDialer(c, b.descriptors.share())
	material, err := made.buildTLS(c, dialer)
	if err != nil {
		return nil, err
	}
	credentials, err := buildSASL(c, dialer)
	if err != nil {
		return nil, err
	}
	durations := collector.NewDurations(c.Name, b.histograms)
	managed := managerConfig(c, list, dialer)
	managed.Observer, managed.OnEvent = durations.Observer(), made.events.add
	if credentials != nil {
		managed.CredentialVersion = credentials.CredentialVersion
	}
	if made.manager, err = manager.New(managed); err != nil {
		return nil, err
	}
	made.shown = collector.NewCluster(c.Name, made.manager,
		collector.Options{BrokersExpected: int(c.BrokersExpected), FileErrors: fileErrors(material), Durations: durations})
	return made, nil
}

func seedSetting() *config.Setting {
	for _, s := range config.Settings() {
		if s.Flag == "kafka.seed" {
			return s
		}
	}
	return nil
}

// FirstRound implements fleet.Manager.
func (c *member) FirstRound() <-chan struct{} { return c.manager.FirstRound() }

// Run implements fleet.Manager: the manager works, and its events are logged until it has ended.
func (c *member) Run(ctx context.Context) error {
	c.started.Store(true)
	for _, warning := range c.warnings {
		_ = level.Warn(c.logger).Log("msg", warning)
	}
	logCtx, stop := context.WithCancel(context.Background())
	logged := make(chan struct{})
	go func() { c.events.run(logCtx); close(logged) }()
	err := c.manager.Run(ctx)
	stop()
	<-logged
	return err
}

// logFile has the form of security.TLSOptions.OnChange.
func (c *member) logFile(f security.FileStatus) {
	if !c.started.Load() {
		return
	}
	if f.Failure != "" {
		_ = level.Warn(c.logger).Log("msg", "a TLS file cannot be used, what was loaded before stays in use", "file", f.Path, "kind", f.File, "err", f.Failure)
		return
	}
	_ = level.Info(c.logger).Log("msg", "a TLS file can be used again", "file", f.Path, "kind", f.File)
}
