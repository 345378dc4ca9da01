// Package docs_test holds the documents to the code: a reason or phase without its section, or a link that leads nowhere,
// fails.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kafka_connection_exporter/wire"
)

// section is a heading and what follows it up to the next heading.
type section struct {
	level int
	title string
	body  string
}

func sections(t *testing.T, path string) []section {
	t.Helper()
	var all []section
	inCode := false
	for line := range strings.Lines(read(t, path)) {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if level := len(line) - len(strings.TrimLeft(line, "#")); level > 0 && strings.HasPrefix(line[level:], " ") && !inCode {
			all = append(all, section{level: level, title: strings.TrimSpace(line[level:])})
		} else if len(all) > 0 {
			all[len(all)-1].body += line
		}
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func names[T interface{ String() string }](all []T) []string {
	var texts []string
	for _, v := range all {
		texts = append(texts, v.String())
	}
	return texts
}

var word = regexp.MustCompile(`^[a-z][a-z_]*$`)

// TestHeadings: every reason has its section, and every phase has one below "Phases", and nothing else looks like them.
func TestHeadings(t *testing.T) {
	var reasons, phases []string
	for _, s := range sections(t, "REASONS.md") {
		switch {
		case s.level == 2 && word.MatchString(s.title):
			reasons = append(reasons, s.title)
		case s.level == 3:
			phases = append(phases, s.title)
		}
	}
	compare(t, "reasons", reasons, names(wire.Reasons()))
	compare(t, "phases", phases, names(wire.Phases()))
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("REASONS.md has sections for the %s\n%v, want\n%v", what, got, want)
	}
}

var (
	parts       = []string{"Means", "Phases", "Likely causes", "Do", "Do not conclude"}
	part        = regexp.MustCompile(`(?m)^- \*\*([A-Za-z ]+):\*\* (.*)$`)
	code        = regexp.MustCompile("`([^`]+)`")
	provocation = regexp.MustCompile(`"([a-z_]+): ([a-z_]+)"`)
)

// phasesOf returns the phases that the section of each reason names.
func phasesOf(t *testing.T) map[string][]string {
	t.Helper()
	occurs := make(map[string][]string)
	for _, s := range sections(t, "REASONS.md") {
		if s.level != 2 || !word.MatchString(s.title) {
			continue
		}
		for _, m := range part.FindAllStringSubmatch(s.body, -1) {
			if m[1] != "Phases" {
				continue
			}
			for _, phase := range code.FindAllStringSubmatch(m[2], -1) {
				occurs[s.title] = append(occurs[s.title], phase[1])
			}
		}
	}
	return occurs
}

// TestParts: every reason's section has the same five parts in the same order.
func TestParts(t *testing.T) {
	for _, s := range sections(t, "REASONS.md") {
		if s.level != 2 || !word.MatchString(s.title) {
			continue
		}
		var got []string
		for _, m := range part.FindAllStringSubmatch(s.body, -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, parts) {
			t.Errorf("%s has the parts %q, want %q", s.title, got, parts)
		}
	}
}

// TestPhases: a reason is said to occur in phases that exist, among them all in which a test of package wire provokes it.
func TestPhases(t *testing.T) {
	occurs, phases := phasesOf(t), names(wire.Phases())
	for reason, in := range occurs {
		for _, phase := range in {
			if !slices.Contains(phases, phase) {
				t.Errorf("%s is said to occur in %q, which is no phase", reason, phase)
			}
		}
	}
	provoked := 0
	for _, m := range provocation.FindAllStringSubmatch(read(t, "../wire/reasons_test.go"), -1) {
		phase, reason := m[1], m[2]
		if !slices.Contains(phases, phase) {
			continue
		}
		provoked++
		if !slices.Contains(occurs[reason], phase) {
			t.Errorf("wire's tests provoke %s in phase %s, REASONS.md says %v", reason, phase, occurs[reason])
		}
	}
	if provoked == 0 {
		t.Error("no provocation was found in ../wire/reasons_test.go")
	}
}

// documents are all whose links are checked, relative to the root of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "METRICS.md", "CHANGELOG.md"}
	if _, err := os.Stat("../ARCHITECTURE.md"); err == nil {
		all = append(all, "ARCHITECTURE.md")
	}
	found, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		all = append(all, filepath.Join("docs", name))
	}
	return all
}

var (
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence = regexp.MustCompile("(?s)```.*?```")
)

// TestLinks: every relative link leads to a file or folder that is there and, with an anchor, to a heading in it.
func TestLinks(t *testing.T) {
	for _, document := range documents(t) {
		text := fence.ReplaceAllString(read(t, filepath.Join("..", document)), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join("..", document)
			if file != "" {
				target = filepath.Join("..", filepath.Dir(document), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", document, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", document, m[1], target)
			}
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// anchors makes the anchors of a document's headings as GitHub does.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	for _, s := range sections(t, path) {
		anchor := notInAnchor.ReplaceAllString(strings.ToLower(s.title), "")
		all = append(all, strings.ReplaceAll(anchor, " ", "-"))
	}
	return all
}
