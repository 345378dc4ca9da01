package runbooks_test

import (
	"regexp"
	"strings"
	"testing"

	"kafka_connection_exporter/runbooks"
	"kafka_connection_exporter/wire"
)

var words = regexp.MustCompile(`labels: \{reason: (\w+), words: "([^"]+)"\}`)

// TestHints: every reason has a meaning, in the alerts' words, and one to three lines of what to do first.
func TestHints(t *testing.T) {
	said := make(map[string]string)
	for _, m := range words.FindAllStringSubmatch(read(t, "../alerts/rules.yml"), -1) {
		said[m[1]] = m[2]
	}
	for _, reason := range wire.Reasons() {
		meaning, _, page := runbooks.Hint(wire.PhaseRequest, reason)
		if meaning != said[reason.String()] {
			t.Errorf("%s means %q, and alerts say %q", reason, meaning, said[reason.String()])
		}
		if page != reason.String()+".md" {
			t.Errorf("%s is on the page %q", reason, page)
		}
		for _, s := range sections(t, "reasons/"+page) {
			if lines := strings.Split(strings.TrimSpace(s.body), "\n"); s.title == "First thing to do" && len(lines) > 3 {
				t.Errorf("%s begins with %d lines of what to do first", page, len(lines))
			}
		}
		for _, phase := range wire.Phases() {
			_, first, _ := runbooks.Hint(phase, reason)
			if !strings.HasSuffix(first, ".") || len(first) > 250 || strings.ContainsAny(first, "`\n") {
				t.Errorf("the first thing to do about %s/%s is %q", phase, reason, first)
			}
		}
	}
}

// TestHintOfPhase: where the phase makes a difference, the hint does.
func TestHintOfPhase(t *testing.T) {
	_, dial, _ := runbooks.Hint(wire.PhaseDial, wire.ReasonTimeout)
	_, sasl, _ := runbooks.Hint(wire.PhaseSASL, wire.ReasonTimeout)
	if dial == sasl || !strings.Contains(dial, "firewall") {
		t.Errorf("%q and %q", dial, sasl)
	}
}
