package manager

import (
	"fmt"
	"strings"
	"time"
)

// GaveUpError ends Run when no round succeeded for Config.GiveUpAfter. Its text reports every target's last failure.
type GaveUpError struct {
	After    time.Duration
	Snapshot Snapshot
}

// Error returns a report of several lines.
func (e *GaveUpError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no metadata for %s, giving up; the last failure of each target:", e.After)
	line := func(name string, f *Failure) {
		if f == nil {
			fmt.Fprintf(&b, "\n  %s: none", name)
			return
		}
		fmt.Fprintf(&b, "\n  %s: %s: %s: %s", name, f.Phase, f.Reason, f.Text)
	}
	for _, s := range e.Snapshot.Seeds {
		line("seed "+s.Name, s.Failure)
	}
	for _, broker := range e.Snapshot.Brokers {
		line(fmt.Sprintf("broker %d (%s:%d)", broker.ID, broker.Host, broker.Port), broker.Failure)
	}
	return b.String()
}

func (m *Manager) gaveUp() error {
	m.publish()
	return &GaveUpError{After: m.cfg.GiveUpAfter, Snapshot: m.Snapshot()}
}
