package manager

import (
	"slices"

	"kafka_connection_exporter/wire"
)

// What every broker says of the cluster is its own belief, and some lag behind. So one answer can add a broker, but that a known
// one left, returned or moved is decided by a jury: several brokers that the same round asks, by the majority of their votes. A
// laggard among them changes nothing. Where only one can be asked, it must say the same in two rounds.

// jurySize is how many answers a jury has at most. Clusters up to this size are asked whole.
const jurySize = 9

// vote is one answer of a round.
type vote struct {
	list      []wire.BrokerInfo
	signature uint64
}

// convene asks more brokers after the first good answer of a round: those that are ready, and seeds only where these are not enough
// for a second opinion, since a seed may be the same broker under another name.
func (r *round) convene(m *Manager) {
	r.jury = true
	r.timer.Reset(4 * m.cfg.HedgeDelay) // who is slower has no vote
	for r.asked < len(r.candidates) && len(r.votes)+r.waiting < jurySize {
		next := r.candidates[r.asked]
		ready := !next.isSeed() && next.published.Load().State == StateReady
		if !ready && (len(r.votes)+r.waiting >= 2 || next.published.Load().Failure != nil) {
			return // seeds and brokers without a connection come after those that are ready
		}
		if r.askedAt(next) {
			r.asked++ // it would say the same
			continue
		}
		r.ask(m, 1)
	}
}

// askedAt says whether somebody at the target's address has been asked, such as the broker that a seed leads to.
func (r *round) askedAt(t *target) bool {
	return t.isSeed() && slices.ContainsFunc(r.candidates[:r.asked], func(other *target) bool {
		a, b := t.published.Load(), other.published.Load()
		return a.Host == b.Host && a.Port == b.Port
	})
}

// disputed says whether a broker that can be reached last said something else than this answer does.
func (m *Manager) disputed(signature uint64) bool {
	for _, t := range m.now.brokers {
		if p := t.published.Load(); p.State == StateReady && p.signature != 0 && p.signature != signature {
			return true
		}
	}
	return false
}

// settled says whether the votes that are missing can change nothing.
func (r *round) settled() bool {
	if r.waiting == 0 {
		return true
	}
	equal := make(map[uint64]int)
	for _, v := range r.votes {
		if equal[v.signature]++; 2*equal[v.signature] > len(r.votes)+r.waiting && equal[v.signature] > 1 {
			return true
		}
	}
	return false
}

// adjourn ends the round with what its votes say.
func (r *round) adjourn(m *Manager) {
	if agreed := m.decide(r.votes); !agreed {
		m.again = true // the news may not have reached all
	}
	for _, v := range r.votes {
		m.share(v.list)
	}
	m.closeRound()
}

// decide changes what most votes say is different, and returns whether they are of one opinion and that counts.
func (m *Manager) decide(votes []vote) (agreed bool) {
	tally := make(map[int32]map[wire.BrokerInfo]int)
	agreed = true
	for _, v := range votes {
		agreed = agreed && v.signature == votes[0].signature
		for _, b := range v.list {
			if tally[b.ID] == nil {
				tally[b.ID] = make(map[wire.BrokerInfo]int)
			}
			tally[b.ID][b]++
			if m.brokers[b.ID] == nil {
				m.enlist(b) // news that one is enough for
			}
		}
	}
	claims := make(map[int32]wire.BrokerInfo)
	for id := range m.brokers {
		if claim, differs := m.verdictOf(id, tally[id], len(votes)); differs {
			claims[id] = claim
		}
	}
	alone := m.alone
	m.alone = nil
	if len(votes) < 2 {
		m.alone = claims
	}
	for id, claim := range claims {
		if before, twice := alone[id]; len(votes) >= 2 || twice && before == claim {
			m.follow(id, claim)
			delete(m.alone, id)
		}
	}
	m.reindex()
	return agreed && len(m.alone) == 0
}

// gone is the claim that a broker is not in the metadata.
var gone = wire.BrokerInfo{ID: -1}

// verdictOf returns what more than half of n votes claim about a broker, if that differs from what is known.
func (m *Manager) verdictOf(id int32, named map[wire.BrokerInfo]int, n int) (claim wire.BrokerInfo, differs bool) {
	known, listed := m.listed[id]
	if !listed {
		known = gone
	}
	absent := n
	for b, votes := range named {
		absent -= votes
		if 2*votes > n {
			return b, b != known
		}
	}
	if 2*absent > n {
		return gone, known != gone
	}
	return known, false
}

func (m *Manager) follow(id int32, claim wire.BrokerInfo) {
	if claim == gone {
		m.leave(m.brokers[id])
		return
	}
	m.enlist(claim)
}
