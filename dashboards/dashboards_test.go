package dashboards_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kafka_connection_exporter/dashboards"
	"kafka_connection_exporter/e2e/need"
)

// board is what the tests need of a dashboard, read from its file as Grafana reads it.
type board struct {
	UID, Title    string
	SchemaVersion int
	Editable      bool
	Panels        []panel
	Templating    struct{ List []variable }
	Links         []struct{ URL string }
}

type variable struct {
	Name, Type, Definition, AllValue string
	Multi, IncludeAll                bool
	Refresh                          int
	Datasource                       struct{ UID string }
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ UID string }
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct {
		Defaults struct {
			Unit       string
			Thresholds struct{ Steps []any }
		}
	}
	Targets []struct {
		Expr, RefID string
		Datasource  struct{ UID string }
	}
}

func load(t *testing.T) map[string]board {
	t.Helper()
	all := make(map[string]board)
	for name, text := range dashboards.Files() {
		var b board
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatal(err)
		}
		all[name] = b
	}
	return all
}

// queries returns every expression of both dashboards with where it stands.
func queries(t *testing.T) map[string]string {
	t.Helper()
	exprs := make(map[string]string)
	for name, b := range load(t) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				exprs[fmt.Sprintf("%s, panel %q, query %s", name, p.Title, q.RefID)] = q.Expr
			}
		}
	}
	return exprs
}

// TestFilesAreGenerated: the files are those that go generate would write.
func TestFilesAreGenerated(t *testing.T) {
	written, err := filepath.Glob("*.json")
	if err != nil || len(written) != len(dashboards.Files()) {
		t.Errorf("%q, %v", written, err)
	}
	for name, want := range dashboards.Files() {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not up to date: go generate ./dashboards (%v)", name, err)
		}
	}
}

// TestBoards: what a person needs to find, and to be led from one to the other and to the runbooks.
func TestBoards(t *testing.T) {
	for name, b := range load(t) {
		if len(b.UID) < 8 || b.Title == "" || b.SchemaVersion < 39 || b.Editable {
			t.Errorf("%s: uid %q, title %q, schema version %d (Grafana 11 has 39), editable %v", name, b.UID, b.Title, b.SchemaVersion, b.Editable)
		}
		if len(b.Links) != 2 || b.Links[1].URL != "${runbooks}/README.md" {
			t.Errorf("%s: links %+v", name, b.Links)
		}
		text := string(dashboards.Files()[name])
		for _, target := range []string{"${runbooks}/reasons/${__value.raw}.md", "/d/kafka-connection-broker?var-broker="} {
			if !strings.Contains(text, target) {
				t.Errorf("%s leads nowhere to %s", name, target)
			}
		}
	}
	if _, err := os.Stat("../runbooks/README.md"); err != nil {
		t.Error(err)
	}
}

// TestPanels has the intent of the rules of Grafana's dashboard-linter about panels: panel-datasource, panel-title-description,
// panel-units and panel-no-targets; and that none has the id of another.
func TestPanels(t *testing.T) {
	for name, b := range load(t) {
		ids := make(map[int]bool)
		for _, p := range b.Panels {
			if ids[p.ID] || p.ID == 0 {
				t.Errorf("%s: the id %d of %q is 0 or taken", name, p.ID, p.Title)
			}
			ids[p.ID] = true
			if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.FieldConfig.Defaults.Thresholds.Steps) == 0 || len(p.Targets) == 0 {
				t.Errorf("%s: %q lacks a title, a description, a unit, a threshold or a query", name, p.Title)
			}
			for _, q := range p.Targets {
				if q.Datasource.UID != "${datasource}" || p.Datasource.UID != "${datasource}" {
					t.Errorf("%s: %q does not use the data source that is chosen", name, p.Title)
				}
			}
		}
	}
}

// TestGrid: no panel lies on another one, and none is outside of the 24 columns.
func TestGrid(t *testing.T) {
	for name, b := range load(t) {
		taken := make(map[[2]int]string)
		for _, p := range b.Panels {
			g := p.GridPos
			if g.W < 1 || g.H < 1 || g.X+g.W > 24 {
				t.Errorf("%s: %q is outside of the grid: %+v", name, p.Title, g)
			}
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: %q lies on %q", name, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}

// TestVariables: template-datasource, template-job, template-instance, template-label-promql and
// template-on-time-change-reload of the dashboard-linter.
func TestVariables(t *testing.T) {
	for name, b := range load(t) {
		var names []string
		for _, v := range b.Templating.List {
			names = append(names, v.Name)
			if v.Type != "query" {
				continue
			}
			const onTimeRangeChanged = 2
			one := name == "broker.json" && v.Name == "broker" // 300 brokers on the page of one would be too many
			if v.Datasource.UID != "${datasource}" || v.Refresh != onTimeRangeChanged || !v.Multi || v.IncludeAll == one || (v.AllValue == ".*") == one {
				t.Errorf("%s: variable %s: %+v", name, v.Name, v)
			}
			if !strings.HasPrefix(v.Definition, "label_values(kafka_connection_") {
				t.Errorf("%s: variable %s is filled by %q", name, v.Name, v.Definition)
			}
		}
		if want := []string{"datasource", "job", "instance", "kafka_cluster", "broker", "runbooks"}; !slices.Equal(names, want) {
			t.Errorf("%s has the variables %q, want %q", name, names, want)
		}
	}
}

var (
	selector  = regexp.MustCompile(`\b(kafka_connection_[a-z_]+)(\{[^}]*\})?(\[[^\]]*\])?`)
	label     = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	reference = regexp.MustCompile(`\$\{?(\w+)`)
	grows     = regexp.MustCompile(`(_total|_sum|_count|_bucket)$`)
	growth    = regexp.MustCompile(`(rate|increase)\($`)
)

// TestQueries: target-job, target-instance, target-counter-agg and target-rate-interval: every selector heeds what is chosen,
// and what only grows is seen as a rate, over the interval that fits.
func TestQueries(t *testing.T) {
	known := []string{"job", "instance", "kafka_cluster", "broker", "__rate_interval", "__range", "__interval"}
	for where, expr := range queries(t) {
		for _, m := range selector.FindAllStringSubmatchIndex(expr, -1) {
			name, labels, window := expr[m[2]:m[3]], expr[max(0, m[4]):max(0, m[5])], expr[max(0, m[6]):max(0, m[7])]
			heeds := []string{`job=~"$job"`, `instance=~"$instance"`, `kafka_cluster=~"$kafka_cluster"`}
			if strings.HasPrefix(name, "kafka_connection_broker_") {
				heeds = append(heeds, `broker_id=~"$broker"`)
			}
			for _, want := range heeds {
				if !strings.Contains(labels, want) {
					t.Errorf("%s does not heed %s: %s", where, want, expr)
				}
			}
			if grows.MatchString(name) && (!growth.MatchString(expr[:m[0]]) || window != "[$__rate_interval]" && window != "[15m]") {
				t.Errorf("%s shows %s%s, which only grows", where, name, window)
			}
		}
		for _, m := range reference.FindAllStringSubmatch(expr, -1) {
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s uses $%s, which does not exist", where, m[1])
			}
		}
	}
}

// TestSyntax is target-promql: promtool parses every query, where it is installed.
func TestSyntax(t *testing.T) {
	promtool := need.Path(t, "promtool")
	interval := regexp.MustCompile(`\$__\w+`)
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	for _, expr := range queries(t) {
		fmt.Fprintf(&rules, "      - {record: 'q:%d', expr: %q}\n", rules.Len(), interval.ReplaceAllString(expr, "5m"))
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
