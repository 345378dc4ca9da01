package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/runbooks"
	"kafka_connection_exporter/wire"
)

// failure says where and why the target failed, and what to do.
func (c *run) failure(o *outcome) *Failure {
	f := &Failure{Phase: o.err.Phase.String(), Reason: o.err.Reason.String(), Text: c.text(o)}
	f.Meaning, f.First, f.Page = runbooks.Hint(o.err.Phase, o.err.Reason)
	f.shared = impersonal(f.Text, o)
	return f
}

// text is the cause in words for somebody who has not read the code.
func (c *run) text(o *outcome) string {
	err := o.err
	switch {
	case manager.HeldBack(err):
		return "not tried, the credentials were rejected at " + c.whoRejected()
	case err.Phase == wire.PhaseDial && err.Reason == wire.ReasonRefused:
		return "nothing listens on " + tried(o)
	case err.Phase == wire.PhaseDial && err.Reason == wire.ReasonTimeout:
		return fmt.Sprintf("no answer from %s", tried(o))
	case err.Phase == wire.PhaseResolve && err.Reason == wire.ReasonDNSNotFound && o.peer.NodeID >= 0 && c.plan != nil:
		return fmt.Sprintf("the cluster advertises %s, and this name does not resolve here (the seed %s does)", o.peer.Host, c.plan.from.name)
	case err.Phase == wire.PhaseResolve && err.Reason == wire.ReasonDNSNotFound:
		return fmt.Sprintf("the name %s does not resolve here", o.peer.Host)
	}
	if text, cut := strings.CutSuffix(err.Err.Error(), ": "+context.DeadlineExceeded.Error()); cut {
		return text + " in time"
	}
	return err.Err.Error()
}

// tried lists the addresses that were dialed.
func tried(o *outcome) string {
	var all []string
	for _, a := range o.trace.Addresses {
		if a.Tried && len(all) < mostAddresses {
			all = append(all, a.Addr.String())
		}
	}
	if len(all) == 0 {
		return o.peer.String()
	}
	return strings.Join(all, ", ")
}

// mostAddresses is how many addresses of one name a text lists.
const mostAddresses = 8

// whoRejected names the first target that really has rejected the credentials.
func (c *run) whoRejected() string {
	for _, o := range slices.Concat(c.seeds, c.brokers) {
		if o.err != nil && o.err.Reason == wire.ReasonCredentialsRejected && !manager.HeldBack(o.err) {
			return o.title()
		}
	}
	return "another one"
}

// title is the target as a sentence calls it.
func (o *outcome) title() string {
	if o.peer.NodeID < 0 {
		return "seed " + o.name
	}
	return o.name + " (" + o.peer.String() + ")"
}

// impersonal replaces what is only this target's, so that the same fault of several can be told to be the same.
func impersonal(text string, o *outcome) string {
	for _, a := range o.trace.Addresses {
		text = replaceWord(text, a.Addr.String(), "its address")
		text = replaceWord(text, a.Addr.Addr().String(), "its address")
	}
	if o.err.Reason == wire.ReasonCertificateExpired {
		if what, _, ok := strings.Cut(text, " ended at "); ok {
			text = what + " has ended" // each at its own time
		}
	}
	if chain := o.trace.Chain; len(chain) > 0 {
		text = strings.ReplaceAll(text, "the certificate of "+chain[0].Subject, "its certificate")
		text = strings.ReplaceAll(text, "ends at "+chain[0].Subject, "ends at its certificate")
	}
	text = replaceWord(text, o.peer.String(), "its address")
	text = replaceWord(text, o.peer.Host, "its name")
	if o.peer.NodeID >= 0 {
		text = replaceWord(text, fmt.Sprintf("broker %d", o.peer.NodeID), "this broker")
	}
	return text
}

// replaceWord replaces old where it is not a part of a longer name, address or number.
func replaceWord(text, old, by string) string {
	if old == "" {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, old)
		if i < 0 {
			return b.String() + text
		}
		end := i + len(old)
		word := old
		if !(i > 0 && inName(text[i-1])) && !(end < len(text) && inName(text[end])) {
			word = by
		}
		b.WriteString(text[:i] + word)
		text = text[end:]
	}
}

func inName(c byte) bool {
	return c == '-' || c == '_' || c == '.' || c == ':' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
