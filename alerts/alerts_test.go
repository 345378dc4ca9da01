// Package alerts_test holds the rules to the metrics, the reasons and the runbooks. What the rules do is for promtool: make
// alerts.
package alerts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kafka_connection_exporter/wire"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// files returns the text of all files that match, by name.
func files(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			all[name] = read(t, name)
		}
	}
	return all
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

// TestRules: each rule says how bad it is, what it is and where to read on, is seen to fire in a test, and not to.
func TestRules(t *testing.T) {
	var tests strings.Builder
	for _, text := range files(t, "tests/*.yml") {
		tests.WriteString(text)
	}
	for name, body := range rules(t) {
		for _, key := range []string{"expr:", "for:", "severity:", "summary:", "description:", "runbook_url:"} {
			if strings.Count(body, " "+key)+strings.Count(body, "{"+key) != 1 {
				t.Errorf("%s has %s %d times", name, key, strings.Count(body, key))
			}
		}
		if !regexp.MustCompile(`severity: (critical|warning)\b`).MatchString(body) {
			t.Errorf("%s is neither critical nor a warning", name)
		}
		if page := "runbook_url: https://runbooks.example.com/kafka_connection_exporter/runbooks/alerts/" + name + ".md\n"; !strings.Contains(body, page) {
			t.Errorf("%s does not lead to its page", name)
		}
		if _, err := os.Stat("../runbooks/alerts/" + name + ".md"); err != nil {
			t.Errorf("%s has no page: %v", name, err)
		}
		if !regexp.MustCompile(`alertname: ` + name + `\n +exp_alerts:\n +- exp_labels:`).MatchString(tests.String()) {
			t.Errorf("no test makes %s fire", name)
		}
		if strings.Count(tests.String(), "alertname: "+name+", exp_alerts: []") < 2 {
			t.Errorf("no test sees that %s does not fire", name)
		}
	}
}

// TestExampleNamesRules: what the example for Alertmanager inhibits are rules that exist.
func TestExampleNamesRules(t *testing.T) {
	all := rules(t)
	var names []string
	for name := range all {
		names = append(names, name)
	}
	matcher := regexp.MustCompile(`alertname (?:=~ "([^"]+)"|= (\w+))`)
	found := matcher.FindAllStringSubmatch(read(t, "alertmanager.yml"), -1)
	if len(found) < 10 {
		t.Errorf("only %d matchers", len(found))
	}
	for _, m := range found {
		pattern := regexp.MustCompile("^(" + m[1] + m[2] + ")$")
		if !slices.ContainsFunc(names, pattern.MatchString) {
			t.Errorf("%s matches no rule", m[0])
		}
	}
}

// TestWords: every reason has its words, and nothing else has.
func TestWords(t *testing.T) {
	var got, want []string
	for _, m := range regexp.MustCompile(`labels: \{reason: (\w+), words: "[^"]+"\}`).FindAllStringSubmatch(read(t, "rules.yml"), -1) {
		got = append(got, m[1])
	}
	for _, r := range wire.Reasons() {
		want = append(want, r.String())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there are words for\n%v, want\n%v", got, want)
	}
}

var (
	row      = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\|([^|]*)\\|")
	selector = regexp.MustCompile(`\b(kafka_connection_[a-z_]+[a-z])(?:\{([^}]*)\})?`)
	label    = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
)

// documented returns the labels of every series of METRICS.md, by name.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	suffixes := map[string][]string{"histogram": {"_bucket", "_sum", "_count"}, "summary": {"_sum", "_count"}}
	target := []string{"kafka_cluster", "job", "instance", "vantage"} // of the scrape config, but for the first
	all := map[string][]string{"kafka_connection_build_info": target, "kafka_connection_exporter": target}
	for _, m := range row.FindAllStringSubmatch(read(t, "../METRICS.md"), -1) {
		labels := append(regexp.MustCompile(`\w+`).FindAllString(m[3], -1), append(target, "le")...)
		all["kafka_connection_"+m[1]] = labels
		for _, suffix := range suffixes[m[2]] {
			all["kafka_connection_"+m[1]+suffix] = labels
		}
	}
	return all
}

// TestMetricNames: rules, their tests and the runbooks use metrics and labels that exist.
func TestMetricNames(t *testing.T) {
	known := documented(t)
	for file, text := range files(t, "rules.yml", "tests/*.yml", "*.md", "../runbooks/*.md", "../runbooks/*/*.md") {
		for _, m := range selector.FindAllStringSubmatch(text, -1) {
			labels, ok := known[m[1]]
			if !ok {
				t.Errorf("%s names %s, which METRICS.md does not have", file, m[1])
			}
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(labels, l[1]) {
					t.Errorf("%s selects %s by %s, which it does not have", file, m[1], l[1])
				}
			}
		}
	}
}
