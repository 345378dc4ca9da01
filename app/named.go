package app

import (
	"fmt"

	"github.com/alecthomas/kingpin/v2"
)

// named is a flag's value whose errors say which flag they are about. Kingpin's own do not, and a value may as well come
// from the environment.
type named struct {
	kingpin.Value
	flag string
}

// nameErrors puts a named around every value of a.
func nameErrors(a *kingpin.Application) {
	for _, f := range a.Model().Flags {
		a.GetFlag(f.Name).SetValue(named{f.Value, f.Name})
	}
}

// Set implements kingpin.Value.
func (n named) Set(text string) error {
	if err := n.Value.Set(text); err != nil {
		return fmt.Errorf("--%s=%q: %w", n.flag, text, err)
	}
	return nil
}

// IsBoolFlag is asked by kingpin whether the flag has no value.
func (n named) IsBoolFlag() bool {
	b, ok := n.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// IsCumulative is asked by kingpin whether the flag may be repeated.
func (n named) IsCumulative() bool {
	c, ok := n.Value.(interface{ IsCumulative() bool })
	return ok && c.IsCumulative()
}
