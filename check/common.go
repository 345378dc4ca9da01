package check

import (
	"fmt"
	"slices"
	"strings"
)

// holders are those who have something in common.
type holders struct {
	seeds   []string
	brokers []int32
	first   *Result
}

func (h *holders) add(r *Result) {
	if h.first == nil {
		h.first = r
	}
	if r.BrokerID == nil {
		h.seeds = append(h.seeds, r.Seed)
	} else {
		h.brokers = append(h.brokers, *r.BrokerID)
	}
}

func (h *holders) count() int { return len(h.seeds) + len(h.brokers) }

// common is what several targets have in the same way, and what is therefore said once.
type common struct {
	keys     []string // of faults, in their order
	faults   map[string]*holders
	kinds    []string // of warnings
	warnings map[string]*holders
}

// Said once is a fault that two have, and a warning that more than three have: it is one line each time.
const (
	fewFaults   = 1
	fewWarnings = 3
)

func commonOf(r *Report) *common {
	c := &common{faults: make(map[string]*holders), warnings: make(map[string]*holders)}
	for _, list := range [][]Result{r.Seeds, r.Brokers} {
		for i := range list {
			result := &list[i]
			if result.State == StateFailed {
				c.keys = note(c.keys, c.faults, result.Failure.key(), result)
			}
			for _, w := range result.Warnings {
				c.kinds = note(c.kinds, c.warnings, w.Kind, result)
			}
		}
	}
	return c
}

func note(order []string, all map[string]*holders, key string, r *Result) []string {
	if all[key] == nil {
		all[key] = new(holders)
		order = append(order, key)
	}
	all[key].add(r)
	return order
}

func (f *Failure) key() string { return f.Phase + "/" + f.Reason + ": " + f.shared }

func (c *common) hasFault(f *Failure) bool { return c.faults[f.key()].count() > fewFaults }

func (c *common) hasWarning(kind string) bool { return c.warnings[kind].count() > fewWarnings }

// common writes what several have, with the list of who has it.
func (p *page) common(c *common) {
	titled := false
	begin := func(mark string, h *holders) {
		if !titled {
			p.line("")
			p.line(p.paint(bold, "what several have"))
			titled = true
		}
		p.paragraph("  "+mark+" ", p.who(h))
	}
	for _, key := range c.keys {
		if h := c.faults[key]; c.hasFault(h.first.Failure) {
			begin(p.paint(red, p.sign("×", "x")), h)
			p.explain(below, h.first.Failure, h.first.Failure.shared)
			if p.chain(h.first) {
				p.line(below + "which is that of " + p.clean(p.name(h.first)))
			}
		}
	}
	for _, kind := range c.kinds {
		if h := c.warnings[kind]; c.hasWarning(kind) {
			begin(p.paint(yellow, "!"), h)
			i := slices.IndexFunc(h.first.Warnings, func(w Warning) bool { return w.Kind == kind })
			p.paragraph(below, kind+", the first: "+p.clean(h.first.Warnings[i].Text))
		}
	}
}

func (p *page) who(h *holders) string {
	var who []string
	if len(h.seeds) > 0 {
		who = append(who, plural("seed", len(h.seeds))+" "+p.clean(some(h.seeds)))
	}
	if len(h.brokers) > 0 {
		who = append(who, plural("broker", len(h.brokers))+" "+ranges(h.brokers))
	}
	return strings.Join(who, " and ")
}

func plural(what string, n int) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// some lists the first of many.
func some(all []string) string {
	if len(all) > mostListed {
		return strings.Join(all[:mostListed], ", ") + fmt.Sprintf(" and %d more", len(all)-mostListed)
	}
	return strings.Join(all, ", ")
}

const mostListed = 10

// ranges writes ascending ids as "1-3, 7".
func ranges(ids []int32) string {
	var all []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			all = append(all, fmt.Sprint(ids[i]))
		case 1:
			all = append(all, fmt.Sprint(ids[i]), fmt.Sprint(ids[j]))
		default:
			all = append(all, fmt.Sprintf("%d-%d", ids[i], ids[j]))
		}
		i = j + 1
	}
	return strings.Join(all, ", ")
}
