// Package alerts_test holds the alerting rules to the documents. What the rules do is for promtool: make alerts.
package alerts_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rules splits the file into the text of each alert, by name.
func rules(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, text := range strings.Split(read(t, "rules.yml"), "- alert: ")[1:] {
		name, body, _ := strings.Cut(text, "\n")
		if all[name] != "" {
			t.Errorf("%s stands there twice", name)
		}
		all[name] = body
	}
	return all
}

// TestRules: each rule says how bad it is, what it is and where to read on, has a section in docs/ALERTS.md, and is seen to
// fire in tests.yml.
func TestRules(t *testing.T) {
	document, tests := read(t, "../docs/ALERTS.md"), read(t, "tests.yml")
	for name, body := range rules(t) {
		for _, key := range []string{"expr:", "for:", "severity:", "summary:", "description:", "runbook_url:"} {
			if strings.Count(body, " "+key) != 1 {
				t.Errorf("%s has %s %d times", name, key, strings.Count(body, " "+key))
			}
		}
		if !strings.Contains(document, "\n## "+name+"\n") {
			t.Errorf("%s has no section in docs/ALERTS.md", name)
		}
		if !regexp.MustCompile(`alertname: ` + name + `\n +exp_alerts:\n`).MatchString(tests) {
			t.Errorf("no test in tests.yml makes %s fire", name)
		}
	}
	for _, heading := range regexp.MustCompile(`(?m)^## (Kafka\w+)$`).FindAllStringSubmatch(document, -1) {
		if rules(t)[heading[1]] == "" {
			t.Errorf("docs/ALERTS.md describes %s, which is no rule", heading[1])
		}
	}
}

var runbook = regexp.MustCompile(`https://runbooks\.example\.com/kafka_connection_exporter/(docs/\w+\.md)#([\w-]*)`)

// TestRunbooks: every runbook is a section of a document, or the one of the reason of the moment.
func TestRunbooks(t *testing.T) {
	for name, body := range rules(t) {
		m := runbook.FindStringSubmatch(body)
		if m == nil {
			t.Errorf("%s has no runbook", name)
			continue
		}
		if m[2] == "" { // a template
			if m[1] != "docs/REASONS.md" || !strings.Contains(body, `label "reason"`) {
				t.Errorf("the runbook of %s is not the section of a reason", name)
			}
			continue
		}
		if !regexp.MustCompile(`(?mi)^## ` + m[2] + `$`).MatchString(read(t, "../"+m[1])) {
			t.Errorf("the runbook of %s is %s#%s, which does not exist", name, m[1], m[2])
		}
	}
}

var (
	row    = regexp.MustCompile("(?m)^\\| `(\\w+)` \\|")
	metric = regexp.MustCompile(`kafka_connection_[a-z_]+[a-z]`)
)

// TestMetricNames: the rules use metrics that exist.
func TestMetricNames(t *testing.T) {
	known := []string{"kafka_connection_build_info", "kafka_connection_exporter"}
	for _, m := range row.FindAllStringSubmatch(read(t, "../METRICS.md"), -1) {
		known = append(known, "kafka_connection_"+m[1])
	}
	for _, file := range []string{"rules.yml", "tests.yml", "../docs/ALERTS.md", "../docs/REASONS.md"} {
		for _, name := range metric.FindAllString(read(t, file), -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s names %s, which METRICS.md does not have", file, name)
			}
		}
	}
}
