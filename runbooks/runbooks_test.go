// Package runbooks_test holds the documents to the code: a reason or an alert without its page, or a link that leads nowhere,
// fails.
package runbooks_test

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

// pages returns the names of the pages in a folder.
func pages(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		all = append(all, strings.TrimSuffix(filepath.Base(file), ".md"))
	}
	return all
}

var alert = regexp.MustCompile(`(?m)^      - alert: (\w+)$`)

// TestPages: every reason and every alert has its page, and nothing else has.
func TestPages(t *testing.T) {
	compare(t, "reasons", pages(t, "reasons"), names(wire.Reasons()))
	var alerts []string
	for _, m := range alert.FindAllStringSubmatch(read(t, "../alerts/rules.yml"), -1) {
		alerts = append(alerts, m[1])
	}
	compare(t, "alerts", pages(t, "alerts"), alerts)
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there are pages for the %s\n%v, want\n%v", what, got, want)
	}
}

// TestParts: every page has the same parts in the same order, and a command to confirm it with.
func TestParts(t *testing.T) {
	for folder, last := range map[string]string{"reasons": "Do not conclude", "alerts": "How to keep it quiet"} {
		for _, page := range pages(t, folder) {
			all := sections(t, filepath.Join(folder, page+".md"))
			var got []string
			for _, s := range all {
				got = append(got, s.title)
				if s.title == "How to confirm" && !strings.Contains(s.body, "```sh\n") {
					t.Errorf("%s/%s.md has no command", folder, page)
				}
			}
			want := []string{page, "What it means", "How to confirm", "Usual causes", "The fix", last}
			if folder == "reasons" {
				want = slices.Insert(want, 1, "First thing to do")
			}
			if !slices.Equal(got, want) && (folder != "alerts" || !slices.Equal(got, want[:5])) {
				t.Errorf("%s/%s.md has the parts %q, want %q", folder, page, got, want)
			}
		}
	}
}

// TestIndex: README.md lists every page, and has a section for each phase.
func TestIndex(t *testing.T) {
	text := read(t, "README.md")
	for _, folder := range []string{"reasons", "alerts"} {
		for _, page := range pages(t, folder) {
			if !strings.Contains(text, "("+folder+"/"+page+".md) |") {
				t.Errorf("README.md does not list %s/%s.md", folder, page)
			}
		}
	}
	var phases []string
	for _, s := range sections(t, "README.md") {
		if s.level == 3 {
			phases = append(phases, s.title)
		}
	}
	compare(t, "phases", phases, names(wire.Phases()))
}

var (
	phasesLine  = regexp.MustCompile(`Phases: (.*)\.\n`)
	code        = regexp.MustCompile("`([^`]+)`")
	provocation = regexp.MustCompile(`"([a-z_]+): ([a-z_]+)"`)
)

// phasesOf returns the phases that the page of each reason names.
func phasesOf(t *testing.T) map[string][]string {
	t.Helper()
	occurs := make(map[string][]string)
	for _, reason := range pages(t, "reasons") {
		line := phasesLine.FindStringSubmatch(read(t, filepath.Join("reasons", reason+".md")))
		if line == nil {
			t.Fatalf("reasons/%s.md names no phases", reason)
		}
		for _, phase := range code.FindAllStringSubmatch(line[1], -1) {
			occurs[reason] = append(occurs[reason], phase[1])
		}
	}
	return occurs
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
			t.Errorf("wire's tests provoke %s in phase %s, its page says %v", reason, phase, occurs[reason])
		}
	}
	if provoked == 0 {
		t.Error("no provocation was found in ../wire/reasons_test.go")
	}
}

// documents are all whose links are checked.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../alerts/*.md", "../dashboards/*.md", "*.md", "alerts/*.md", "reasons/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) < 60 {
		t.Errorf("only %d documents", len(all))
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
		text := fence.ReplaceAllString(read(t, document), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := document
			if file != "" {
				target = filepath.Join(filepath.Dir(document), file)
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
