// Package dashboards_test holds the dashboard to METRICS.md, and to what makes it readable.
package dashboards_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Panels        []panel
	Templating    struct {
		List []struct{ Name, Type, Definition string }
	}
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ UID string }
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct {
		Expr, RefID string
		Datasource  struct{ UID string }
	}
	Panels []panel
}

func load(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("kafka_connection.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// all returns the panels, those in collapsed rows included.
func (d dashboard) all() []panel {
	var flat []panel
	for _, p := range d.Panels {
		flat = append(append(flat, p), p.Panels...)
	}
	return flat
}

// queries returns every expression with where it stands.
func (d dashboard) queries() map[string]string {
	exprs := make(map[string]string)
	for _, p := range d.all() {
		for _, q := range p.Targets {
			exprs[fmt.Sprintf("panel %d %q, query %s", p.ID, p.Title, q.RefID)] = q.Expr
		}
	}
	for _, v := range d.Templating.List {
		exprs["variable "+v.Name] = v.Definition
	}
	return exprs
}

var (
	row    = regexp.MustCompile("^\\| `(\\w+)` \\| (\\w+) \\|")
	metric = regexp.MustCompile(`kafka_connection_[a-z_]+`)
)

// known returns the names of all series that METRICS.md documents.
func known(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"kafka_connection_build_info"}
	suffixes := map[string][]string{"histogram": {"_bucket", "_sum", "_count"}, "summary": {"_sum", "_count"}}
	for line := range strings.Lines(string(text)) {
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := "kafka_connection_" + m[1]
		if suffixes[m[2]] == nil {
			all = append(all, name)
		}
		for _, suffix := range suffixes[m[2]] {
			all = append(all, name+suffix)
		}
	}
	return all
}

func TestMetricNames(t *testing.T) {
	names := known(t)
	for where, expr := range load(t).queries() {
		for _, name := range metric.FindAllString(expr, -1) {
			if !slices.Contains(names, name) {
				t.Errorf("%s uses %s, which METRICS.md does not have", where, name)
			}
		}
	}
}

func TestPanels(t *testing.T) {
	d := load(t)
	ids := make(map[int]bool)
	for _, p := range d.all() {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("the id %d of %q is 0 or taken", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Title == "" {
			t.Errorf("panel %d has no title", p.ID)
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("%q has no description, no unit or no query", p.Title)
		}
		for _, q := range p.Targets {
			if q.Datasource.UID != "${datasource}" || p.Datasource.UID != "${datasource}" {
				t.Errorf("%q does not use the data source that is chosen", p.Title)
			}
		}
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 39 {
		t.Errorf("uid %q, title %q, schema version %d: want both and at least 39, that of Grafana 11", d.UID, d.Title, d.SchemaVersion)
	}
}

// TestGrid: no panel lies on another one, and none is outside of the 24 columns.
func TestGrid(t *testing.T) {
	taken := make(map[[2]int]string)
	for _, p := range load(t).Panels {
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.Y < 0 || g.X+g.W > 24 {
			t.Errorf("%q is outside of the grid: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%q lies on %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

var (
	reference = regexp.MustCompile(`\$\{?(\w+)`)
	builtIn   = []string{"__rate_interval", "__range", "__interval"}
)

// TestVariables: the variables that people choose by are there, and no query uses another one.
func TestVariables(t *testing.T) {
	d := load(t)
	names := slices.Clone(builtIn)
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
	}
	for _, name := range []string{"datasource", "kafka_cluster", "broker_id"} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no variable %s", name)
		}
	}
	for where, expr := range d.queries() {
		for _, m := range reference.FindAllStringSubmatch(expr, -1) {
			if !slices.Contains(names, m[1]) {
				t.Errorf("%s uses $%s, which does not exist", where, m[1])
			}
		}
		if !strings.Contains(expr, "$kafka_cluster") && where != "variable kafka_cluster" && where != "variable datasource" {
			t.Errorf("%s does not heed the chosen cluster", where)
		}
	}
}

// TestSyntax has promtool parse every query, where it is installed.
func TestSyntax(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: apt-get install prometheus)")
	}
	interval := regexp.MustCompile(`\$__\w+`)
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	for where, expr := range load(t).queries() {
		if strings.HasPrefix(where, "variable") {
			continue
		}
		fmt.Fprintf(&rules, "      - {record: 'q:%d', expr: %q}\n", strings.Count(rules.String(), "\n"), interval.ReplaceAllString(expr, "5m"))
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
