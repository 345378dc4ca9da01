package app

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of flags into README.md")

const (
	tableBegin = "<!-- flags:begin -->\n"
	tableEnd   = "<!-- flags:end -->"
)

// TestREADMEFlags compares the README's table of flags with the binary's flags; -update writes it.
func TestREADMEFlags(t *testing.T) {
	const path = "../README.md"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), tableBegin)
	table, after, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		t.Fatalf("%s has no %s … %s", path, tableBegin, tableEnd)
	}
	want := flagTable()
	if *update {
		if err := os.WriteFile(path, []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the table of flags in %s is not the binary's; run go test ./app -run TestREADMEFlags -update", path)
	}
}

func flagTable() string {
	var b strings.Builder
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range newParser(&options{}).Model().Flags {
		if f.Hidden || f.Name == "help" || strings.HasPrefix(f.Name, "help-") {
			continue
		}
		def := strings.Join(f.Default, ", ")
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", f.Name, def, strings.ReplaceAll(f.Help, "|", "\\|"))
	}
	return b.String()
}

// TestREADMECheckFlags: the README lists the flags of check.
func TestREADMECheckFlags(t *testing.T) {
	content, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := newParser(&options{}).GetCommand(commandCheck).Model().Flags
	if len(flags) == 0 {
		t.Error("check has no flags")
	}
	for _, f := range flags {
		if !strings.Contains(string(content), "| `--"+f.Name+"` |") {
			t.Errorf("the README says nothing of --%s", f.Name)
		}
	}
}
