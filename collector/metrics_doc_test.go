package collector

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// documented reads the rows of the tables of METRICS.md: name → type, labels, meaning, query.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		name := strings.Trim(cells[0], "`")
		if len(cells) != 5 || rows[name] != nil {
			t.Errorf("%q has %d cells, or stands there twice", name, len(cells))
		}
		rows[name] = cells[1:]
	}
	return rows
}

func TestMetricsDocument(t *testing.T) {
	rows := documented(t)
	for _, f := range slices.Concat(table, durationFamilies, processTable) {
		row, ok := rows[f.name]
		if !ok {
			t.Errorf("%s is not in METRICS.md", f.name)
			continue
		}
		delete(rows, f.name)
		if row[0] != f.kind.String() {
			t.Errorf("%s is a %s in METRICS.md and a %s in the code", f.name, row[0], f.kind)
		}
		labels := strings.ReplaceAll(strings.ReplaceAll(row[1], "`", ""), " ", "")
		if labels != strings.Join(f.labels, ",") {
			t.Errorf("%s has the labels %q in METRICS.md and %q in the code", f.name, labels, f.labels)
		}
		if row[2] == "" || !strings.Contains(row[3], prefix+f.name) {
			t.Errorf("%s has no meaning, or a query that does not use it: %q", f.name, row)
		}
	}
	for name := range rows {
		t.Errorf("%s is in METRICS.md and not in the code", name)
	}
}
