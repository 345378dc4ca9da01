package manager

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"kafka_connection_exporter/wire"
)

// hold is who may not authenticate, for how long, and why.
type hold struct {
	until   time.Time
	err     error
	version string          // of the rejected credentials
	who     []string        // names and addresses of targets that have rejected
	wide    bool            // all others, too
	spared  map[string]bool // but for these names and addresses, if it is wide
	turned  int             // rejections by targets that had accepted the same credentials
}

func (h *hold) active() bool { return h != nil && time.Now().Before(h.until) }

// covers says whether it is about any of these. A seed and a broker at the same address are the same to it.
func (h *hold) covers(who ...string) bool {
	return h.active() && (overlap(h.who, who) || h.wide && !slices.ContainsFunc(who, func(s string) bool { return h.spared[s] }))
}

var (
	errHeldBack    = errors.New("authentication is held back")
	errAllHeldBack = fmt.Errorf("%w from all brokers", errHeldBack)
)

// refusal returns why these may not start an attempt now, or nil.
func (g *gate) refusal(who ...string) *wire.Error {
	h := g.held.Load()
	if !h.covers(who...) {
		return nil
	}
	held := errHeldBack
	if h.wide {
		held = errAllHeldBack
	}
	return &wire.Error{Phase: wire.PhaseSASL, Reason: wire.ReasonCredentialsRejected,
		Err: fmt.Errorf("%w until %s, so that the account is not locked, or until the credential file changes: %w",
			held, h.until.UTC().Format(time.RFC3339), h.err)}
}

// heldFor returns how long the target of this name may start no attempt.
func (g *gate) heldFor(name string) time.Duration {
	if h := g.held.Load(); h.covers(name) {
		return time.Until(h.until)
	}
	return 0
}

// extend adds the other names of those who have rejected to the hold, so that they do not even dial.
func (g *gate) extend(who []string) {
	h := g.held.Load()
	more := slices.DeleteFunc(slices.Clone(who), func(s string) bool { return slices.Contains(h.who, s) })
	if !h.wide && len(more) > 0 {
		wider := *h
		wider.who = slices.Concat(h.who, more)
		g.held.Store(&wider)
	}
}

// reject holds back whoever has rejected the credentials. If nobody has accepted them since the last rejection, it may be the
// credentials that are wrong, and the others wait as well, all but those who have accepted. But when one of these rejects, and is not
// the only one that has rejected, the credentials have been changed in the cluster, which may be slow to tell all brokers: all wait.
func (g *gate) reject(d departure) {
	h := &hold{until: time.Now().Add(g.interval), err: d.err, version: d.of.version, who: d.of.who}
	before := g.held.Load()
	proven, first := g.proven(d.of), !before.active()
	changedItsMind := g.disown(d.of)
	if !first {
		h.who, h.turned = slices.Concat(before.who, d.of.who), before.turned
	}
	if changedItsMind {
		h.turned++
	}
	switch {
	case !proven, h.turned > 1, h.turned == 1 && !first && !g.vindicated:
		h.wide = true
		clear(g.accepted)
	case first, !before.wide && g.vindicated:
	default:
		h.wide, h.spared = true, make(map[string]bool, 2*len(g.accepted))
		for name, address := range g.accepted {
			h.spared[name], h.spared[address] = true, true
		}
	}
	g.vindicated = false
	g.held.Store(h)
}

// vindicate is for credentials that somebody accepts while others have rejected them: these alone are held back from now on.
func (g *gate) vindicate(by *exchange) {
	g.vindicated = true
	h := g.held.Load()
	if !h.active() || !h.wide && !overlap(h.who, by.who) {
		return
	}
	narrow := *h
	narrow.wide, narrow.spared = false, nil
	narrow.who = slices.DeleteFunc(slices.Clone(h.who), func(s string) bool { return slices.Contains(by.who, s) })
	g.held.Store(&narrow)
	offer(g.reopened, struct{}{})
}

// disown forgets that the target has accepted the credentials, and says whether it had.
func (g *gate) disown(x *exchange) (had bool) {
	for name, address := range g.accepted {
		if slices.Contains(x.who, name) || slices.Contains(x.who, address) {
			delete(g.accepted, name)
			had = true
		}
	}
	return had
}

// lookForChange lifts the hold if the credentials have changed since they were rejected.
func (g *gate) lookForChange() {
	if h := g.held.Load(); h != nil && h.version != g.version() {
		g.held.Store(nil)
		offer(g.reopened, struct{}{})
	}
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
