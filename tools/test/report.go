package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"kafka_connection_exporter/e2e/need"
)

// event is a line of go test -json.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of what does not build
	Test        string
	Elapsed     float64 // in seconds
	Output      string
	FailedBuild string
}

// test is a test, a subtest, or, without a name, the package around them.
type test struct{ pkg, name string }

func (t test) String() string {
	return strings.TrimSuffix(strings.TrimPrefix(t.pkg, module)+" "+t.name, " ")
}

const module = "kafka_connection_exporter/"

// report collects what all groups say. Failures are printed as they come.
type report struct {
	mu      sync.Mutex
	out     io.Writer
	output  map[test]*strings.Builder
	failed  map[test]bool // also those above a test that failed
	parents map[test]bool

	passes, failures, skips int
	ran                     []string
	lacking                 map[string][]string // what was left out, by the tool that it lacks
	unnamed                 []string            // what was left out for another reason
	others                  func() []string     // tools that this machine lacks; a test that misses two may have named one only
}

func newReport(out io.Writer) *report {
	return &report{
		out: out, output: make(map[test]*strings.Builder), failed: make(map[test]bool), parents: make(map[test]bool),
		lacking: make(map[string][]string), others: need.Lacking,
	}
}

// follow reads the output of go test to its end and says whether a test failed.
func (r *report) follow(from io.Reader) (failed bool) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			failed = r.line(line) || failed
		}
		if err != nil {
			return failed
		}
	}
}

// line says whether it is about a failure. What is no event comes from go itself, as when it downloads a module.
func (r *report) line(line string) (failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		fmt.Fprint(r.out, line)
		return false
	}
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "run":
		if above := t.above(); above.name != "" {
			r.parents[above] = true
		}
	case "output":
		r.said(t).WriteString(e.Output)
	case "pass":
		r.pass(t, e)
	case "fail":
		r.fail(t, e)
	case "skip":
		r.skip(t)
	}
	return e.Action == "fail"
}

func (r *report) said(t test) *strings.Builder {
	if r.output[t] == nil {
		r.output[t] = new(strings.Builder)
	}
	return r.output[t]
}

// above is the test around a subtest, or the package around a test.
func (t test) above() test { return test{t.pkg, t.name[:max(0, strings.LastIndex(t.name, "/"))]} }

// pass counts tests without subtests, which count themselves.
func (r *report) pass(t test, e event) {
	delete(r.output, t)
	switch {
	case t.name == "":
		fmt.Fprintf(r.out, "ok    %-28s %6.1f s\n", t, e.Elapsed)
	case !r.parents[t]:
		r.passes++
	}
}

// fail prints what the test said. One that failed only because of a subtest does not count once more.
func (r *report) fail(t test, e event) {
	inherited := r.failed[t]
	if t.name != "" {
		for above := t; above != (test{pkg: t.pkg}); {
			above = above.above()
			r.failed[above] = true
		}
	}
	if !inherited && e.FailedBuild == "" || t.name == "" {
		fmt.Fprintf(r.out, "FAIL  %-28s %6.1f s\n%s", t, e.Elapsed, r.said(t))
	}
	if !inherited {
		r.failures++
	}
	delete(r.output, t)
}

// skip takes the reason from the last line that names tools. Packages without tests are skipped, too, and say nothing.
func (r *report) skip(t test) {
	said := r.said(t).String()
	delete(r.output, t)
	if t.name == "" {
		return
	}
	r.skips++
	var missing []string
	for line := range strings.Lines(said) {
		missing = append(missing, need.Missing(line)...)
	}
	if missing == nil {
		r.unnamed = append(r.unnamed, fmt.Sprintf("%s: %s", t, strings.TrimSpace(said)))
	}
	for _, tool := range missing {
		r.lacking[tool] = append(r.lacking[tool], t.String())
	}
}

// leaveOut notes something that is left out and is no test.
func (r *report) leaveOut(what, tool string) {
	r.lacking[tool] = append(r.lacking[tool], what)
}

// broken counts a go test that did not come to its end.
func (r *report) broken(g group, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
	fmt.Fprintf(r.out, "FAIL  %s: go test: %v\n", g.name, err)
}

func (r *report) finished(g group, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, fmt.Sprintf("%s (%v)", g.name, took.Round(time.Second)))
}

// close prints the summary and says whether all is well.
func (r *report) close(took time.Duration) bool {
	out := r.out
	fmt.Fprintf(out, "\n== %v: %s\n", took.Round(time.Second), strings.Join(r.ran, ", "))
	tools := slices.Sorted(maps.Keys(r.lacking))
	for _, tool := range tools {
		fmt.Fprintf(out, "left out without %s: %s\n", tool, strings.Join(topmost(r.lacking[tool]), ", "))
	}
	for _, what := range r.unnamed {
		fmt.Fprintf(out, "left out: %s\n", what)
	}
	if len(tools) > 0 {
		fmt.Fprintf(out, "All of it runs after: %s\n", need.Install(append(tools, r.others()...)))
	}
	incomplete := need.CI() && len(tools)+len(r.unnamed) > 0
	if incomplete {
		fmt.Fprintln(out, "CI=true, so nothing may be left out")
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", r.passes, r.failures, r.skips)
	return r.failures == 0 && !incomplete && r.passes > 0
}

// topmost sorts names and keeps of several subtests of one test that test with their number.
func topmost(names []string) []string {
	counts := make(map[string]int)
	for _, name := range names {
		top, _, _ := cutSubtest(name)
		counts[top]++
	}
	var all []string
	for _, top := range slices.Sorted(maps.Keys(counts)) {
		if i := slices.IndexFunc(names, func(n string) bool { return n == top }); i < 0 {
			top = fmt.Sprintf("%s (%d of its parts)", top, counts[top])
		}
		all = append(all, top)
	}
	return all
}

// cutSubtest cuts "e2e TestA/b" after TestA; packages have slashes, too.
func cutSubtest(name string) (top, sub string, found bool) {
	pkg, rest, hasTest := strings.Cut(name, " Test")
	if !hasTest {
		return name, "", false
	}
	top, sub, found = strings.Cut(rest, "/")
	return pkg + " Test" + top, sub, found
}
