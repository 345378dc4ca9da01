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
	if r.err != nil && reached.IsValid() {
		t.doubt(reached)
	}
}

// noteQuestion leaves the question for the broker's id out of the next attempt if the peer broke off over it, and for as long as
// attempts without it succeed: what nobody else asks must not decide on whether a broker can be reached.
func (t *target) noteQuestion(err *wire.Error) {
	if err != nil {
		t.peer.NoQuestion = err.Question()
	}
}
