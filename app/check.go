package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"

	"kafka_connection_exporter/check"
	"kafka_connection_exporter/config"
)

// The exit statuses that only check has; statusFail is for faults, statusUsage for flags and files.
const (
	statusUnfinished  = 3
	statusInterrupted = 130
)

// A check that waits tries again after this long, doubled each time up to the second. Credentials that were rejected are shown again
// only after --sasl.retry-interval: waiting must not lock the account.
const (
	firstWait   = time.Second
	longestWait = 10 * time.Second
)

// checker is the command check.
type checker struct {
	options  *checkFlags
	targets  []checkTarget
	progress *progress
}

type checkTarget struct {
	check.Target
	timeout time.Duration
}

// runCheck checks the clusters and writes what it found out.
func runCheck(ctx context.Context, o *options, stdout, stderr io.Writer) int {
	c, err := newChecker(o, newProgress(stderr))
	if err != nil {
		complain(stderr, o, err)
		return statusUsage
	}
	if o.configCheck {
		fmt.Fprintln(stdout, "The configuration is valid.")
		return statusGood
	}
	reports := c.untilWell(ctx)
	c.progress.clear()
	if err := c.write(stdout, reports); err != nil {
		fmt.Fprintf(stderr, "%s: error: %s\n", name, oneLine(err))
		return statusFail
	}
	return c.status(reports)
}

// newChecker builds what the daemon would, so that it refuses the same in the same words.
func newChecker(o *options, p *progress) (*checker, error) {
	if err := o.check.bad(); err != nil {
		return nil, usageError{err}
	}
	clusters, err := o.clustersToCheck()
	if err != nil {
		return nil, err
	}
	b := &builder{logger: log.NewNopLogger(), descriptors: newDescriptors(descriptorLimit()), naming: o.naming()}
	c := &checker{options: &o.check, progress: p}
	vantage, _ := os.Hostname()
	var problems []error
	for i := range clusters {
		t, err := b.target(&clusters[i], o.check)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		t.Vantage, t.Progress = vantage, p.note
		c.targets = append(c.targets, t)
	}
	p.clusters = len(c.targets)
	return c, errors.Join(problems...)
}

// clustersToCheck returns those that are named, or all. Of a file, what is wrong anywhere is an error; of the files that it names, only
// those of the chosen clusters have to be here.
func (o *options) clustersToCheck() ([]config.Cluster, error) {
	loaded, err := o.loadClusters()
	if err != nil {
		return nil, err
	}
	if loaded.Clusters, err = choose(loaded.Clusters, o.check.clusters); err != nil {
		return nil, err
	}
	if o.file.path != "" {
		err = loaded.CheckFiles()
	}
	return loaded.Clusters, err
}

func choose(all []config.Cluster, names []string) (chosen []config.Cluster, err error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, c := range all {
		if c.Name != "" {
			known = append(known, c.Name)
		}
	}
	for _, name := range names {
		is := func(c config.Cluster) bool { return c.Name == name }
		i := slices.IndexFunc(all, is)
		if i < 0 {
			return nil, unknownCluster(name, known)
		}
		if !slices.ContainsFunc(chosen, is) {
			chosen = append(chosen, all[i])
		}
	}
	return chosen, nil
}

// target makes the dialer of a cluster as build does. To build the whole cluster first is what refuses the same.
func (b *builder) target(c *config.Cluster, f checkFlags) (checkTarget, error) {
	if _, err := b.build(planFor(*c)); err != nil {
		return checkTarget{}, err
	}
	list, err := c.SeedList()
	if err != nil {
		return checkTarget{}, err
	}
	dialer := newDialer(c, b.descriptors.share())
	if _, err := (&member{logger: b.logger}).buildTLS(c, dialer); err != nil {
		return checkTarget{}, err
	}
	if _, err := buildSASL(c, dialer); err != nil {
		return checkTarget{}, err
	}
	t := checkTarget{timeout: c.ConnectTimeout + time.Second, Target: check.Target{
		Name: c.Name, Seeds: list, Dialer: dialer, ClusterID: c.ClusterID, Expected: int(c.BrokersExpected),
		ConnectRate: c.ConnectRate, RequestTimeout: min(c.CheckTimeout, c.ConnectTimeout), RetryInterval: c.SASL.RetryInterval,
	}}
	if f.timeout > 0 {
		t.timeout = f.timeout
	}
	if f.expected > 0 {
		t.Expected = f.expected
	}
	return t, nil
}

// untilWell checks until all is well or --wait has passed.
func (c *checker) untilWell(ctx context.Context) []check.Report {
	deadline := time.Now().Add(c.options.wait)
	for pause := firstWait; ; pause = min(2*pause, longestWait) {
		reports := c.once(ctx)
		rest := time.Until(deadline)
		next := max(pause, c.forbidden(reports))
		if c.status(reports) == statusGood || ctx.Err() != nil || next >= rest {
			return reports
		}
		c.progress.say(fmt.Sprintf("not well yet, again in %s", next.Round(time.Second)))
		select {
		case <-time.After(next):
		case <-ctx.Done():
			for i := range reports {
				reports[i].Interrupted = true
			}
			return reports
		}
	}
}

// forbidden is how long credentials that were rejected must not be shown.
func (c *checker) forbidden(reports []check.Report) (wait time.Duration) {
	for i := range reports {
		if reports[i].Rejected() {
			wait = max(wait, c.targets[i].RetryInterval)
		}
	}
	return wait
}

// once checks all clusters at once.
func (c *checker) once(ctx context.Context) []check.Report {
	reports := make([]check.Report, len(c.targets))
	var all sync.WaitGroup
	for i, t := range c.targets {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, t.timeout)
			defer cancel()
			reports[i] = check.Run(ctx, t.Target)
		})
	}
	all.Wait()
	return reports
}

func (c *checker) status(reports []check.Report) int {
	warnings := 0
	for i := range reports {
		if reports[i].Interrupted {
			return statusInterrupted
		}
		warnings += reports[i].Warnings
	}
	switch worst := check.Worst(reports); {
	case worst == check.StatusFault, c.options.strict && warnings > 0:
		return statusFail
	case worst == check.StatusUnfinished:
		return statusUnfinished
	}
	return statusGood
}

func (c *checker) write(w io.Writer, reports []check.Report) error {
	switch c.options.output {
	case "json":
		return check.WriteJSON(w, reports)
	case "prometheus":
		return check.WritePrometheus(w, reports)
	}
	return check.WriteText(w, reports, c.options.style(w, os.Getenv))
}
