package check

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Style is how text is written.
type Style struct {
	Width int  // in characters; 0: 80
	ASCII bool // nothing else, also of what peers say
	Color bool
}

// WriteText writes the reports for people.
func WriteText(w io.Writer, reports []Report, s Style) error {
	if s.Width <= 0 {
		s.Width = defaultWidth
	}
	s.Width = max(s.Width, leastWidth)
	for i := range reports {
		p := &page{Style: s, hinted: make(map[string]bool), now: reports[i].Started}
		if i > 0 {
			p.line("")
		}
		p.report(&reports[i])
		if _, err := io.WriteString(w, p.out.String()); err != nil {
			return err
		}
	}
	return nil
}

const (
	defaultWidth = 80
	leastWidth   = 40
	below        = "      " // what belongs to the line above
)

// page is a report being written.
type page struct {
	Style
	out    strings.Builder
	hinted map[string]bool // hints that have been given
	now    time.Time       // of the report
}

func (p *page) line(s string) { p.out.WriteString(s + "\n") }

func (p *page) clean(s string) string { return clean(s, p.ASCII) }

// sign picks the ASCII form where that is wanted.
func (p *page) sign(good, ascii string) string {
	if p.ASCII {
		return ascii
	}
	return good
}

// The colours, as SGR parameters.
const (
	green  = "32"
	red    = "31"
	yellow = "33"
	bold   = "1"
)

func (p *page) paint(color, s string) string {
	if !p.Color || color == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

func (p *page) report(r *Report) {
	p.line(p.paint(bold, p.title(r)))
	common := commonOf(r)
	p.section("seeds", r.Seeds, common)
	if len(r.Brokers) > 0 {
		p.section("brokers (as Metadata advertises them)", r.Brokers, common)
	}
	p.common(common)
	p.line("")
	p.paragraph("views   ", p.views(&r.Views))
	p.paragraph("result  ", p.result(r))
}

func (p *page) title(r *Report) string {
	text := fmt.Sprintf("cluster %s, %s", p.clean(r.ClusterID), count(r.Views.Named, "broker"))
	if r.Views.From == "" {
		text = "no seed says which brokers there are"
	}
	if r.Cluster != "" {
		text = p.clean(r.Cluster) + ": " + text
	}
	if r.Vantage != "" {
		text += ", seen from " + p.clean(r.Vantage)
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (p *page) section(title string, all []Result, common *common) {
	p.line("")
	p.line(p.paint(bold, title))
	wide, place := 0, 0
	for i := range all {
		wide = max(wide, utf8.RuneCountInString(p.name(&all[i])))
		place = max(place, utf8.RuneCountInString(p.place(&all[i])))
	}
	for i := range all {
		p.target(&all[i], min(wide, mostName), min(place, mostPlace), common)
	}
}

// Columns are not wider than this; what is longer moves its own line only.
const (
	mostName  = 36
	mostPlace = 22
)

func (p *page) views(v *Views) string {
	if v.From == "" {
		return "not compared, no seed has answered"
	}
	text := fmt.Sprintf("%d of %d brokers name the same %s", v.Agree, v.Asked, count(v.Named, "broker"))
	if v.Asked == 0 {
		text = "no broker could be asked for its own"
	}
	return text + "; " + map[string]string{
		DescribeSame: "DescribeCluster names the same addresses", DescribeDiffers: "DescribeCluster names other addresses",
		DescribeDenied: "DescribeCluster is not permitted", DescribeNotOffered: "DescribeCluster is not offered",
		DescribeFailed: "DescribeCluster was not answered", DescribeNotAsked: "DescribeCluster was not asked",
	}[v.DescribeCluster]
}

func (p *page) result(r *Report) string {
	text := fmt.Sprintf("%d of %s", well(r.Seeds), count(len(r.Seeds), "seed"))
	if len(r.Brokers) > 0 {
		text += fmt.Sprintf(" and %d of %s", well(r.Brokers), count(len(r.Brokers), "broker"))
	}
	parts := []string{text + " can be reached"}
	if r.Faults > 0 {
		parts = append(parts, p.paint(red, count(r.Faults, "fault")))
	} else if r.Status == StatusWell {
		parts = append(parts, p.paint(green, "no fault"))
	}
	if r.Missing > 0 {
		parts = append(parts, p.paint(red, fmt.Sprintf("%d of %d brokers that are expected are missing", r.Missing, r.Expected)))
	}
	if r.Warnings > 0 {
		parts = append(parts, p.paint(yellow, count(r.Warnings, "warning")))
	}
	if open := unfinished(r); open > 0 || r.Interrupted {
		parts = append(parts, p.paint(yellow, fmt.Sprintf("%d not finished in time", open)))
	}
	if r.Interrupted {
		parts[len(parts)-1] = p.paint(yellow, "interrupted")
	}
	return strings.Join(append(parts, fmt.Sprintf("%.2f s", r.Seconds)), p.sign(" · ", " - "))
}

func unfinished(r *Report) (n int) {
	for _, result := range slices.Concat(r.Seeds, r.Brokers) {
		if result.State == StateUnfinished {
			n++
		}
	}
	return n
}

// paragraph writes text behind first, and its further lines below.
func (p *page) paragraph(first, text string) {
	p.flow(first, strings.Repeat(" ", utf8.RuneCountInString(first)), strings.Fields(text), " ")
}

// flow writes pieces that are not to be broken, as many as fit on each line.
func (p *page) flow(first, rest string, pieces []string, gap string) {
	line, empty := first, true
	for _, piece := range pieces {
		if !empty && visible(line)+len(gap)+visible(piece) > p.Width {
			p.line(strings.TrimRight(line, " "))
			line, empty = rest, true
		}
		if !empty {
			line += gap
		}
		line += piece
		empty = false
	}
	p.line(strings.TrimRight(line, " "))
}

// visible is how many characters s takes, without our own colours.
func visible(s string) int {
	n := utf8.RuneCountInString(s)
	for {
		_, after, ok := strings.Cut(s, "\x1b[")
		if !ok {
			return n
		}
		code, rest, _ := strings.Cut(after, "m")
		n -= len("\x1b[") + len(code) + len("m")
		s = rest
	}
}
