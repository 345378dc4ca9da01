// Package runbooks gives the words of the pages in reasons/: what a reason means and what to do first. They are written
// once, and `check`, alerts and pages show the same.
package runbooks

import (
	"embed"
	"strings"

	"kafka_connection_exporter/wire"
)

//go:embed reasons/*.md
var reasons embed.FS

const (
	meaningBegins = "\nIn words: "
	meaningEnds   = ". Phases: "
	firstHeading  = "\n## First thing to do\n"
)

// Hint returns what the reason means, in the words of the alerts, what to do first when it occurs in that phase, in plain text,
// and the name of the page with the rest.
func Hint(p wire.Phase, r wire.Reason) (meaning, firstThing, page string) {
	page = r.String() + ".md"
	text, err := reasons.ReadFile("reasons/" + page)
	if err != nil {
		return r.String(), "", page
	}
	_, after, _ := strings.Cut(string(text), meaningBegins)
	meaning, _, _ = strings.Cut(after, meaningEnds)
	_, after, _ = strings.Cut(after, firstHeading)
	section, _, _ := strings.Cut(after, "\n## ")
	return meaning, plain(choose(section, p)), page
}

// choose returns the line for the phase, "- `phase`: …", or those that are for all.
func choose(section string, p wire.Phase) string {
	var all []string
	for line := range strings.Lines(section) {
		if special, ok := strings.CutPrefix(line, "- `"+p.String()+"`: "); ok {
			return special
		}
		if !strings.HasPrefix(line, "- `") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return strings.TrimSpace(strings.Join(all, " "))
}

// plain is without Markdown's signs for code.
func plain(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "`", "")) }
