package manager

import (
	"net/netip"
	"slices"

	"kafka_connection_exporter/wire"
)

// doubt puts an address of the target's name behind all others for the attempts to come: TCP connected there, and then nothing
// came of it. Another address of the name may serve, and clients that take the next one after a failure get in. Attempts under
// way keep the slice that they have.
func (t *target) doubt(addr netip.Addr) {
	others := slices.DeleteFunc(slices.Clone(t.peer.Doubtful), func(a netip.Addr) bool { return a == addr })
	t.peer.Doubtful = append(others, addr)
}

// noteAddress is what a finished attempt teaches about the addresses of the name: the one that it reached is doubtful or not,
// and those that the name no longer has are forgotten.
func (t *target) noteAddress(r dialResult) {
	if len(r.trace.Addresses) == 0 {
		return // the name was not resolved
	}
	reached := r.trace.Reached()
	t.peer.Doubtful = slices.DeleteFunc(slices.Clone(t.peer.Doubtful), func(a netip.Addr) bool {
		return a == reached || !slices.ContainsFunc(r.trace.Addresses, func(known wire.AddressTrace) bool { return known.Addr.Addr() == a })
	})
	if err := wire.AsError(wire.PhaseDial, r.err); err != nil && reached.IsValid() && !aboutUs(err) && !aboutForm(err, r.trace.Form) {
		t.doubt(reached)
	}
}

// aboutUs is about failures of our own side, or of our credentials: no other address would help.
func aboutUs(err *wire.Error) bool {
	return err.Ours() || err.Reason == wire.ReasonTokenUnavailable || err.Reason == wire.ReasonCredentialsRejected
}

// aboutForm is about a peer that hung up on a form of ApiVersions and was not yet asked in the oldest.
func aboutForm(err *wire.Error, asked wire.Form) bool { return err.HungUp() && asked < wire.FormOldest }

// enoughQuestions is how many attempts in a row must break off over the question for the broker's id for it to be the reason, and no
// accident.
const enoughQuestions = 2

// noteQuestion leaves the question out if the peer breaks off over it, for as long as attempts without it succeed: what nobody else
// asks must not decide on whether a broker can be reached.
func (t *target) noteQuestion(err *wire.Error) {
	switch {
	case err != nil && err.Question():
		t.questions++
	case err != nil || !t.peer.NoQuestion:
		t.questions = 0
	}
	t.peer.NoQuestion = t.questions >= enoughQuestions
}
