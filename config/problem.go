package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// position is a place in a file. Order is that of the files.
type position struct {
	file         string
	order        int
	line, column int
}

func (p position) String() string { return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.column) }

// Problem is a mistake in a file.
type Problem struct {
	File         string
	Line, Column int    // from 1
	Text         string // a sentence without a secret in it

	order int
}

// Error returns file:line:column: sentence.
func (p *Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// mostProblems is how many are told, and kept: whoever has more has the wrong file.
const (
	mostProblems = 100
	mostKept     = 10_000
)

// problems collects what is wrong.
type problems struct {
	all    []*Problem
	count  int // of all, also of those that are not kept
	told   map[Problem]bool
	places map[position]bool
}

func newProblems() problems {
	return problems{told: make(map[Problem]bool), places: make(map[position]bool)}
}

func (p *problems) add(at position, format string, args ...any) {
	at.line, at.column = max(at.line, 1), max(at.column, 1)
	if p.count++; p.count > mostKept {
		return
	}
	problem := Problem{File: at.file, Line: at.line, Column: at.column, Text: fmt.Sprintf(format, args...), order: at.order}
	p.places[at] = true
	if !p.told[problem] { // defaults are wrong once, not for every cluster that has them
		p.told[problem] = true
		p.all = append(p.all, &problem)
	}
}

// at says whether there is one already about what is at a place: one is enough.
func (p *problems) at(place position) bool { return p.places[place] }

// join returns one error with all problems in the order in which one reads, or nil.
func (p *problems) join() error {
	slices.SortStableFunc(p.all, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Text, b.Text))
	})
	var all []error
	for i, problem := range p.all {
		if i == mostProblems {
			rest := *problem
			rest.Text = "there are more mistakes from here on, mend those before them first"
			all = append(all, &rest)
			break
		}
		all = append(all, problem)
	}
	return errors.Join(all...)
}

func oneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "; ")
}

// source is one file while it is read.
type source struct {
	path  string
	order int
	dir   string // as it was given
	root  string // the same, for what is kept, so that a value means one file
}

func (s *source) at(n *yaml.Node) position {
	return position{file: s.path, order: s.order, line: n.Line, column: n.Column}
}

func (s *source) start() position { return position{file: s.path, order: s.order, line: 1, column: 1} }
