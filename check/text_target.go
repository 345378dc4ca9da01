package check

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// name is the first column.
func (p *page) name(r *Result) string {
	if r.BrokerID == nil {
		return p.clean(r.Address)
	}
	return fmt.Sprintf("%d %s", *r.BrokerID, p.clean(r.Address))
}

// place is the second column: the address that a seed's name led to, or the rack of a broker.
func (p *page) place(r *Result) string {
	if r.BrokerID != nil {
		if r.Rack == "" {
			return ""
		}
		return "rack " + p.clean(r.Rack)
	}
	address := ""
	for _, a := range r.Addresses {
		if a.Connected || address == "" && a.Tried {
			address = a.Address
		}
	}
	if i := strings.LastIndexByte(address, ':'); i >= 0 {
		address = address[:i]
	}
	return strings.Trim(address, "[]")
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
}

// mark is the sign of the line.
func (p *page) mark(r *Result) string {
	switch {
	case r.State == StateFailed:
		return p.paint(red, p.sign("×", "x"))
	case r.State == StateUnfinished:
		return p.paint(yellow, "?")
	case r.State == StateNotTried && len(r.Warnings) == 0:
		return p.paint(yellow, "-")
	case len(r.Warnings) > 0:
		return p.paint(yellow, "!")
	}
	return p.paint(green, p.sign("✓", "+"))
}

func (p *page) target(r *Result, nameWidth, placeWidth int, common *common) {
	first := "  " + p.mark(r) + " " + pad(p.name(r), nameWidth) + "  "
	if placeWidth > 0 {
		first += pad(p.place(r), placeWidth) + "  "
	}
	rest := below
	pieces := append(p.phases(r), p.details(r)...)
	if visible(first) > p.Width/2 {
		p.line(strings.TrimRight(first, " "))
		first = rest
	}
	gap := "  "
	if r.State == StateNotTried {
		gap = " " // it is a sentence
	}
	p.flow(first, rest, pieces, gap)
	for _, w := range r.Warnings {
		if common.hasWarning(w.Kind) {
			continue
		}
		p.paragraph(below+p.paint(yellow, "!")+" ", p.clean(w.Text))
	}
	if len(r.Addresses) > 1 && r.State != StateWell {
		p.paragraph(below+"addresses: ", p.addresses(r))
	}
	if r.State != StateFailed || common.hasFault(r.Failure) {
		return
	}
	p.explain(below, r.Failure, r.Failure.Text)
	p.chain(r)
}

func (p *page) phases(r *Result) (pieces []string) {
	if r.State == StateNotTried && r.Failure != nil {
		return strings.Fields(p.clean(r.Failure.Text))
	} else if r.State == StateNotTried {
		return []string{"not tried"}
	}
	for _, ph := range r.Phases {
		name := ph.Phase
		if name == "request" {
			name = "metadata"
		}
		switch {
		case ph.OK:
			pieces = append(pieces, fmt.Sprintf("%s %.1f", name, ph.Seconds*1000))
		case r.State == StateUnfinished:
			pieces = append(pieces, name+" "+p.paint(yellow, "?"))
		default:
			pieces = append(pieces, name+" "+p.paint(red, p.sign("×", "x")))
		}
	}
	switch {
	case r.State == StateUnfinished:
		pieces = append(pieces, "not finished in time")
	case r.State == StateWell && len(pieces) > 0:
		pieces[len(pieces)-1] += " ms"
	}
	return pieces
}

// details is what was seen of a target that is well.
func (p *page) details(r *Result) (pieces []string) {
	switch {
	case r.State != StateWell:
	case r.Identity == "verified" && r.APIVersion >= 5:
		pieces = append(pieces, "identity verified (KIP-1242)")
	case r.Identity != "":
		pieces = append(pieces, "identity "+r.Identity)
	}
	if r.TLS != nil && r.TLS.Version != "" {
		pieces = append(pieces, p.clean(r.TLS.Version)+" "+p.clean(r.TLS.Cipher))
		pieces = append(pieces, fmt.Sprintf("certificate until %s (%s)", r.TLS.NotAfter.Format(time.DateOnly), days(r.TLS.NotAfter.Sub(p.now))))
	}
	if r.Like != "" && r.State == StateWell {
		pieces = append(pieces, "like Kafka "+p.clean(r.Like))
	}
	return pieces
}

func (p *page) addresses(r *Result) string {
	var all []string
	for i, a := range r.Addresses {
		if i == mostAddresses {
			all = append(all, fmt.Sprintf("and %d more", len(r.Addresses)-i))
			break
		}
		what := "given up"
		switch {
		case a.Connected:
			what = "connected"
		case a.Reason != "":
			what = a.Reason
		case !a.Tried:
			what = "not tried"
		}
		all = append(all, p.clean(a.Address)+" "+what)
	}
	return strings.Join(all, ", ")
}

// explain writes what is wrong, and what to do.
func (p *page) explain(indent string, f *Failure, text string) {
	p.paragraph(indent, p.paint(red, f.Phase+"/"+f.Reason+":")+" "+p.clean(text))
	hint := f.First + " (runbooks/reasons/" + f.Page + ")"
	if p.hinted[hint] {
		hint = "as above"
	}
	p.hinted[hint] = true
	p.paragraph(indent+p.sign("→", "->")+" ", p.clean(hint))
}

// chain shows the certificates that were not accepted, if it is about them.
func (p *page) chain(r *Result) bool {
	if r.TLS == nil || r.TLS.Version != "" || !strings.HasPrefix(r.Failure.Reason, "certificate_") {
		return false
	}
	for i, c := range r.TLS.Chain {
		text := fmt.Sprintf("%s, issued by %s, from %s to %s", c.Subject, c.Issuer, c.NotBefore.Format(time.DateOnly), c.NotAfter.Format(time.DateOnly))
		if len(c.Names) > 0 {
			text += ", for " + strings.Join(c.Names, ", ")
		}
		p.paragraph(fmt.Sprintf("%scertificate %d: ", below, i+1), p.clean(text))
	}
	return len(r.TLS.Chain) > 0
}
