package app

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

// The commands.
const (
	commandServe = "serve"
	commandCheck = "check"
)

// checkFlags are the flags of check alone. They have no variables: a variable that is set for the daemon must not change what
// somebody types, and --timeout's would be that of --check.timeout.
type checkFlags struct {
	clusters      []string
	timeout, wait time.Duration
	expected      int
	output, color string
	strict        bool
}

var (
	outputs = []string{"text", "json", "prometheus"}
	colors  = []string{"auto", "always", "never"}
)

func (o *options) commands(a *kingpin.Application) {
	a.Command(commandServe, "Keep the connections and serve metrics until a signal comes. This is what happens without a command.").Default()
	c := a.Command(commandCheck, "Try every seed and every broker once, say how far each got, why it failed and what to do, and exit: "+
		"0 all is well, 1 there is a fault, 2 the flags or files are wrong, 3 it was not finished in time, and 130 after Ctrl-C.")
	f := &o.check
	c.Arg("cluster", "Names of clusters of --config.file. Default: all.").NoEnvar().StringsVar(&f.clusters)
	c.Flag("timeout", "For the whole check, which then says what was not finished. Default: --connect.timeout and one second.").NoEnvar().DurationVar(&f.timeout)
	c.Flag("wait", "Check again and again until all is well, for this long.").NoEnvar().Default("0s").DurationVar(&f.wait)
	c.Flag("expect-brokers", "Fewer brokers in the metadata than this are a fault. Default: --kafka.brokers-expected.").NoEnvar().IntVar(&f.expected)
	c.Flag("output", "What to write: "+strings.Join(outputs, ", ")+".").NoEnvar().Default("text").EnumVar(&f.output, outputs...)
	c.Flag("color", "Colours in text: "+strings.Join(colors, ", ")+"; auto is on a terminal, unless NO_COLOR is set.").NoEnvar().Default("auto").EnumVar(&f.color, colors...)
	c.Flag("strict", "Exit with 1 for warnings, too.").NoEnvar().BoolVar(&f.strict)
	for _, flag := range c.Model().Flags {
		c.GetFlag(flag.Name).SetValue(named{flag.Value, flag.Name})
	}
}

// bad returns what makes no sense.
func (f *checkFlags) bad() error {
	var all []error
	for name, d := range map[string]time.Duration{"timeout": f.timeout, "wait": f.wait} {
		if d < 0 {
			all = append(all, wrong(name, d, "positive"))
		}
	}
	if f.expected < 0 {
		all = append(all, wrong("expect-brokers", f.expected, "the number of brokers"))
	}
	return errors.Join(all...)
}

// unknownCluster is about a name that the file does not have.
func unknownCluster(name string, known []string) error {
	if len(known) == 0 {
		return usageError{fmt.Errorf("there is no cluster %q to choose: names are those of a --config.file", name)}
	}
	return usageError{fmt.Errorf("there is no cluster %q in the file, it has %s", name, strings.Join(known, ", "))}
}
