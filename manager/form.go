package manager

import (
	"fmt"
	"time"

	"kafka_connection_exporter/wire"
)

// forms is in which form of ApiVersions a target is asked. A peer that hangs up on one is asked in the next older one by its next
// attempt, whose time its backoff sets; from the oldest it goes back to the newest, so that a peer that hangs up on everything
// sees not one connection more. What worked is kept. The newest is tried again by a fresh handshake after a while, and at once when a
// connection broke that an older one had made; a try that the peer hangs up on is no verdict on anything.
type forms struct {
	next  wire.Form // of the next attempt; FormIdentified stands for the newest that the target can be asked in
	works wire.Form // of the last connection, in the same way
	tryAt time.Time // when a handshake tries the newest again, after an older one has worked
}

// newestFormInterval is how long an older form is kept before a handshake tries the newest.
const newestFormInterval = time.Hour

// noteForm is what a finished attempt teaches. It returns true if the attempt was only a try of a newer form, and failed over it.
func (t *target) noteForm(r dialResult, err *wire.Error) (onlyTried bool) {
	asked := r.trace.Form
	switch {
	case err == nil:
		t.now.APIVersions = r.conn.APIVersions
		t.settleForm(asked)
	case !err.HungUp():
	case asked < t.forms.works:
		t.forms.next, t.forms.tryAt = t.forms.works, time.Now().Add(newestFormInterval)
		return true
	case asked >= wire.FormOldest:
		t.forms.next, t.forms.works = wire.FormIdentified, wire.FormIdentified
	default: // what another target of the cluster needs, this one most likely needs as well
		t.forms.next, t.forms.works = max(asked+1, wire.Form(t.m.oldForm.Load())), wire.FormIdentified
	}
	return false
}

// settleForm keeps the form that has worked.
func (t *target) settleForm(asked wire.Form) {
	if asked <= t.peer.Newest() {
		asked = wire.FormIdentified
	}
	before := t.forms.works
	t.forms.next, t.forms.works = asked, asked
	if asked != wire.FormIdentified {
		t.m.oldForm.Store(uint32(asked))
		if before != asked {
			t.forms.tryAt = time.Now().Add(newestFormInterval)
		}
	}
	if asked != t.toldForm {
		t.toldForm = asked
		t.tellForm(asked)
	}
}

// tellForm reports that the target needs an older form, or no longer does.
func (t *target) tellForm(f wire.Form) {
	detail := "it is asked in the newest version again"
	if f != wire.FormIdentified {
		detail = fmt.Sprintf("it hangs up on version %d and is asked in version %d: clients that begin with a newer one fail", (f - 1).Version(), f.Version())
	}
	t.m.emit(Event{Kind: EventOldForm, Target: t.name, Address: t.peer.String(), Detail: detail})
}

// tryNewestForm makes the next attempt one of the newest form.
func (t *target) tryNewestForm() { t.forms.next = wire.FormIdentified }

// tryAgain says whether a fresh handshake is to find out about the newest form.
func (f *forms) tryAgain() bool {
	return f.works != wire.FormIdentified && !f.tryAt.After(time.Now())
}
