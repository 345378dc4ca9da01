package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "kafka_connection_exporter"

// house is the import table of ARCHITECTURE.md: which of the project's packages a package may import, and which others it
// may not. "std" stands for the standard library.
var house = map[string]struct {
	own    []string // of the project's packages
	others func(imported string) bool
}{
	"seeds":         {nil, isStandard},
	"wire":          {nil, without("github.com/prometheus/", "github.com/go-kit/")},
	"wire/wiretest": {nil, without("github.com/prometheus/", "github.com/go-kit/")},
	"manager":       {[]string{"seeds", "wire"}, without("github.com/prometheus/", "net/http")},
	"security":      {[]string{"wire"}, without("github.com/prometheus/", "github.com/go-kit/")},
	"config":        {[]string{"security", "seeds"}, without("net", "net/", "github.com/prometheus/client_golang/", "github.com/go-kit/", "github.com/alecthomas/kingpin/")},
	"collector":     {[]string{"manager", "wire"}, without("net", "net/", "github.com/go-kit/", "github.com/alecthomas/kingpin/")},
	"fleet":         {nil, isStandard},
	"runbooks":      {[]string{"wire"}, isStandard},
	"check":         {[]string{"manager", "runbooks", "seeds", "wire"}, without("net", "net/http", "github.com/prometheus/", "github.com/go-kit/", "github.com/alecthomas/kingpin/")},
	"app":           {[]string{"check", "collector", "config", "fleet", "manager", "security", "seeds", "wire"}, everything},
	".":             {[]string{"app"}, isStandard},
	"demo":          {[]string{"app"}, everything},
	"lab":           {nil, isStandard},
	"tools/test":    {[]string{"e2e/need"}, isStandard},

	"dashboards":          {nil, without("github.com/prometheus/")},
	"dashboards/generate": {[]string{"dashboards"}, isStandard},
}

func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func everything(string) bool { return true }

// without forbids packages by name, or by prefix where it ends in a slash.
func without(forbidden ...string) func(string) bool {
	return func(imported string) bool {
		return !slices.ContainsFunc(forbidden, func(f string) bool {
			return imported == f || strings.HasSuffix(f, "/") && strings.HasPrefix(imported, f)
		})
	}
}

// TestOnlyInTests: what is there for tests, the demo or the dashboards is not in the binary.
func TestOnlyInTests(t *testing.T) {
	deps, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, banned := range []string{
		"github.com/Shopify/toxiproxy", "github.com/miekg/dns", "github.com/grafana", "github.com/twmb/franz-go/pkg/kgo", "github.com/twmb/franz-go/pkg/kadm",
		"github.com/twmb/franz-go/pkg/kfake", "github.com/santhosh-tekuri/jsonschema", module + "/wire/wiretest", "testing",
	} {
		if regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(banned) + `(/.*)?$`).Match(deps) {
			t.Errorf("the binary contains %s", banned)
		}
	}
}

// TestImports holds every package to the table, and the table to the packages.
func TestImports(t *testing.T) {
	seen := make(map[string]bool)
	eachGoFile(t, func(name string) {
		pkg := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(pkg, "e2e") || strings.HasPrefix(pkg, "bench") {
			return
		}
		rule, ok := house[pkg]
		if !ok {
			t.Errorf("%s is in no row of the import table", name)
			return
		}
		seen[pkg] = true
		for _, imported := range importsOf(t, name) {
			own, isOwn := strings.CutPrefix(imported, module+"/")
			if isOwn && !slices.Contains(rule.own, own) || !isOwn && !rule.others(imported) {
				t.Errorf("%s must not import %s", name, imported)
			}
		}
	})
	for pkg := range house {
		if !seen[pkg] {
			t.Errorf("the import table names %s, which has no Go file", pkg)
		}
	}
}

// TestNoMutex: state in manager and wire has one owner; what is shared is published.
func TestNoMutex(t *testing.T) {
	mutex := regexp.MustCompile(`sync\.(RW)?Mutex|sync\.Map|sync\.Cond`)
	eachGoFile(t, func(name string) {
		pkg := path.Dir(name)
		if pkg != "manager" && pkg != "wire" || strings.HasSuffix(name, "_test.go") {
			return
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := mutex.Find(text); found != nil {
			t.Errorf("%s uses %s", name, found)
		}
	})
}

// TestSizes: a function fits on a screen, a file is about one thing, and nobody counts more than five parameters.
func TestSizes(t *testing.T) {
	const lines, fileLines, parameters = 50, 300, 5
	eachGoFile(t, func(name string) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if n := files.File(file.Pos()).LineCount(); n > fileLines {
			t.Errorf("%s has %d lines", name, n)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := files.Position(f.End()).Line - files.Position(f.Pos()).Line; n >= lines {
				t.Errorf("%s: %s has %d lines", name, f.Name, n)
			}
			if n := f.Type.Params.NumFields(); n > parameters {
				t.Errorf("%s: %s has %d parameters", name, f.Name, n)
			}
		}
	})
}

func importsOf(t *testing.T, name string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, imported)
	}
	return all
}

func eachGoFile(t *testing.T, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case strings.HasSuffix(name, ".go"):
			visit(filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
