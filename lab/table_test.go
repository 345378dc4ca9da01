package lab

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write FAULTS.md anew")

// scenario is a test of a case, as its comment tells it.
type scenario struct {
	id, pkg, name string
	done, shows   string
}

var caseName = regexp.MustCompile(`^Test(?:Case(C\d\d)[A-Z]|Case)`)

// TestFaultsTable: every case has a test, every test of a case says what was done and what shows, and FAULTS.md says the same.
func TestFaultsTable(t *testing.T) {
	scenarios := findScenarios(t)
	for _, s := range scenarios {
		if !slices.ContainsFunc(catalogue, func(f fault) bool { return f.id == s.id }) {
			t.Errorf("%s.%s is of no case that is known", s.pkg, s.name)
		}
		if s.done == "" || s.shows == "" {
			t.Errorf("%s.%s: the comment needs, after its first sentence, a line \"Done: …\" and a line \"Shows: …\"", s.pkg, s.name)
		}
	}
	const path = "../FAULTS.md"
	want := faultsTable(t, scenarios)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("FAULTS.md is not what the tests say (%v); run go test ./lab -run TestFaultsTable -update", err)
	}
}

func faultsTable(t *testing.T, scenarios []scenario) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(faultsPreamble)
	for _, f := range catalogue {
		found := false
		for _, s := range scenarios {
			if s.id != f.id {
				continue
			}
			id, title := f.id, f.title
			if found {
				id, title = "", ""
			}
			found = true
			fmt.Fprintf(&b, "| %s | %s | %s | %s | `%s.%s` |\n", id, title, cell(s.done), cell(s.shows), s.pkg, s.name)
		}
		if !found {
			t.Errorf("%s, %q, has no test", f.id, f.title)
		}
	}
	return b.String()
}

const faultsPreamble = `# Faults

What goes wrong between a client and a Kafka cluster, according to those who reported it, and what the exporter makes of it.
Every row is a test: ` + "`go test -run TestCase ./...`" + ` runs them without Kafka, ` + "`go test -tags e2e -run TestCase ./e2e/...`" + `
those on real Apache Kafka. Those of ` + "`lab`" + ` run the exporter as a process, over real sockets; those of ` + "`manager`" + ` run
it on a simulated clock.

This file is made from the tests' comments: ` + "`go test ./lab -run TestFaultsTable -update`" + `.

| case | fault | what was done | what the exporter shows | test |
|---|---|---|---|---|
`

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// findScenarios reads all tests of the tree, whatever their build tags.
func findScenarios(t *testing.T) []scenario {
	t.Helper()
	var all []scenario
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			found, err := scenariosOf(path)
			all = append(all, found...)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b scenario) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(rank(a.pkg), rank(b.pkg)), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name))
	})
	return all
}

// rank puts the whole program before its parts, and real Kafka last.
func rank(pkg string) int {
	switch pkg {
	case "lab":
		return 0
	case "e2e":
		return 2
	}
	return 1
}

func scenariosOf(path string) ([]scenario, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []scenario
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		if named := caseName.FindStringSubmatch(f.Name.Name); named != nil {
			s := scenario{id: named[1], pkg: packageOf(path), name: f.Name.Name}
			s.done, s.shows = labelled(f.Doc.Text())
			all = append(all, s)
		}
	}
	return all, nil
}

// packageOf is where a file is, seen from the root of the tree; main for the root itself.
func packageOf(path string) string {
	if dir := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../"))); dir != "." {
		return dir
	}
	return "main"
}

var labels = regexp.MustCompile(`(?s)\S.*\nDone: (.+?)\nShows: (.+?)(?:\n\n|\n?$)`)

// labelled finds what follows the two labels; either may go on over several lines.
func labelled(doc string) (done, shows string) {
	found := labels.FindStringSubmatch(doc)
	if found == nil {
		return "", ""
	}
	return strings.Join(strings.Fields(found[1]), " "), strings.Join(strings.Fields(found[2]), " ")
}
