package manager

import (
	"slices"
	"time"
)

// check compares a snapshot with the model and with the one before.
func (m *model) check() {
	m.Helper()
	now := m.m.Snapshot()
	if len(now.Seeds) != 2 || now.ClusterID != "cluster-a" {
		m.Errorf("%d seeds of cluster %q", len(now.Seeds), now.ClusterID)
	}
	if !slices.IsSortedFunc(now.Brokers, func(a, b Broker) int { return int(a.ID - b.ID) }) {
		m.Error("brokers are not in order of their ids")
	}
	for i := range now.Seeds {
		m.checkTarget("seed "+now.Seeds[i].Name, &now.Seeds[i].Target, &m.before.Seeds[i].Target)
	}
	for i := range now.Brokers {
		b := &now.Brokers[i]
		before := find(m.before, b.ID)
		if before == nil {
			before = new(Broker)
			m.members[b.ID].since = time.Now() // what was done to it earlier, nobody could notice
		}
		m.checkTarget("broker "+b.Host, &b.Target, &before.Target)
		m.checkBroker(b)
	}
	for id := range m.leases {
		if find(now, id) == nil {
			delete(m.leases, id) // with the broker, which was forgotten
		}
	}
	m.before, m.at = now, time.Now()
}

func find(s Snapshot, id int32) *Broker {
	for i := range s.Brokers {
		if s.Brokers[i].ID == id {
			return &s.Brokers[i]
		}
	}
	return nil
}

// checkTarget is what is true of every target at any time.
func (m *model) checkTarget(name string, t, before *Target) {
	m.Helper()
	for i, n := range counters(t) {
		if n < counters(before)[i] {
			m.Errorf("%s: counter %d fell from %d to %d", name, i, counters(before)[i], n)
		}
	}
	if bad := t.Reachable == VerdictBad; bad != (t.Failure != nil) {
		m.Errorf("%s: verdict %d with failure %+v", name, t.Reachable, t.Failure)
	}
	m.checkBackoff(name, t, before)
	if t.OpenConnections < 0 || t.OpenConnections > 2 || t.State == StateReady && t.OpenConnections == 0 {
		m.Errorf("%s: %d sockets while %s", name, t.OpenConnections, t.State)
	}
	entered := t.StateChanges
	if entered[StateConnecting] > t.Attempts || entered[StateReady] > entered[StateConnecting] || t.Connects.Count < entered[StateReady] {
		// fresh handshakes are attempts too
		m.Errorf("%s: %d attempts, %d times connecting, %d times ready, %d durations", name, t.Attempts, entered[StateConnecting], entered[StateReady], t.Connects.Count)
	}
}

// checkBackoff: a wait is as long as its failures say, and failures do not come faster than waits allow.
func (m *model) checkBackoff(name string, t, before *Target) {
	m.Helper()
	shortest, longest := 0.0, 1.0
	floor := backoff(m.cfg.BackoffBase, m.cfg.BackoffMax, t.ConsecutiveFailures, shortest)
	limit := backoff(m.cfg.BackoffBase, m.cfg.BackoffMax, t.ConsecutiveFailures, longest)
	// Connections that were good and did not last, and brokers that move to and fro, wait as well: how often, the snapshot does
	// not say.
	if t.ConsecutiveFailures == 0 || time.Since(m.moved) < rest {
		floor, limit = m.cfg.BackoffBase*8/10, m.cfg.BackoffMax*12/10
	}
	if waits := t.State == StateBackoff; waits != (t.Backoff != 0) || waits && (t.Backoff < floor || t.Backoff > limit) {
		m.Errorf("%s: %s with a backoff of %s after %d failures", name, t.State, t.Backoff, t.ConsecutiveFailures)
	}
	var failed, all uint64
	for i, n := range t.PhaseFailures {
		failed += n - before.PhaseFailures[i]
		all += n
	}
	for _, n := range t.RequestFailures {
		all += n
	}
	// One attempt at once after a loss, and one under way before; the rest waits its turn.
	first := backoff(m.cfg.BackoffBase, m.cfg.BackoffMax, 1, shortest)
	if most := 3 + uint64(time.Since(m.at)/first); failed > most && before.Attempts > 0 {
		m.Errorf("%s: %d failed attempts in %s", name, failed, time.Since(m.at))
	}
	if uint64(t.ConsecutiveFailures) > all {
		m.Errorf("%s: %d failures in a row, %d counted", name, t.ConsecutiveFailures, all)
	}
}

// counters returns all that may only rise.
func counters(t *Target) []uint64 {
	all := []uint64{t.Attempts, t.Requests, t.Connects.Count, uint64(t.Connects.Total), t.RoundTrips.Count, uint64(t.RoundTrips.Total), t.AuthFailures, uint64(t.Throttled)}
	return slices.Concat(all, t.StateChanges[:], t.PhaseFailures[:], t.Closes[:], t.RequestFailures[:])
}

// checkBroker is what the model knows of one broker.
func (m *model) checkBroker(b *Broker) {
	m.Helper()
	want := m.members[b.ID]
	if held := len(m.leases[b.ID]); b.References < held+1 {
		m.Errorf("broker %d: %d references, %d leases and the checks", b.ID, b.References, held)
	}
	most := 2
	if b.ID <= seedIDs {
		most++ // the seed at the same address has its own while it is asked
	}
	if open := m.net.Open(want.addr); open > most {
		m.Errorf("broker %d has %d of our connections", b.ID, open)
	}
	if !want.touched && (b.Reachable == VerdictBad || b.Closes != [NumCauses]uint64{} || b.StateChanges[StateConnecting] > 1) {
		m.Errorf("broker %d, which nothing was done to: verdict %d, closes %v, %d times connecting", b.ID, b.Reachable, b.Closes, b.StateChanges[StateConnecting])
	}
	if b.Host != want.host { // nobody could tell so far
		want.since = time.Now()
	}
	if time.Since(want.since) < noticed {
		return
	}
	if len(want.fault.want) > 0 {
		if b.Reachable != VerdictBad || !slices.Contains(want.fault.want, b.Failure.Phase.String()+" "+b.Failure.Reason.String()) {
			m.Errorf("broker %d %s: verdict %d, failure %+v", b.ID, want.fault.does, b.Reachable, b.Failure)
		}
	} else if want.touched && b.Reachable != VerdictGood {
		m.Errorf("broker %d serves and is not reachable: %+v", b.ID, b.Failure)
	}
}

// wantRecovery mends everything and expects, after the time in which it must show, that nobody was starved and nothing is left.
func (m *model) wantRecovery() {
	m.Helper()
	for _, b := range m.members {
		m.repair(b)
		if !b.listed {
			m.list(b)
		}
	}
	// The rounds may be in their longest backoff, then every broker of the new list in an attempt of its own.
	m.after(2 * noticed)
	m.check()
	now := m.m.Snapshot()
	if now.Refresh.Last != VerdictGood || now.BrokersInMetadata != len(m.members) || len(now.Brokers) != len(m.members) {
		m.Errorf("the last round %d, %d brokers in metadata, %d known, want %d", now.Refresh.Last, now.BrokersInMetadata, len(now.Brokers), len(m.members))
	}
	for _, b := range now.Brokers {
		want := m.members[b.ID]
		if b.Reachable != VerdictGood || b.Accepts != VerdictGood || b.State != StateReady || !b.InMetadata || b.Host != want.host || b.Agrees == VerdictBad {
			m.Errorf("broker %d is not well: verdict %d, accepts %d, %s, in metadata %v, at %s, agrees %d", b.ID, b.Reachable, b.Accepts, b.State, b.InMetadata, b.Host, b.Agrees)
		}
		if open := m.net.Open(want.addr); b.References != len(m.leases[b.ID])+1 || b.OpenConnections != open || open != 1 {
			m.Errorf("broker %d: %d references for %d leases and the checks, %d sockets, %d at the broker", b.ID, b.References, len(m.leases[b.ID]), b.OpenConnections, open)
		}
	}
}
