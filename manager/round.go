package manager

import (
	"time"

	"kafka_connection_exporter/wire"
)

// round is one metadata refresh. The first target is asked; whenever the hedge delay passes without an answer more are (1,
// 1, 2, 4, …), and a failure asks the next at once. The first good answer ends the round; those who were asked as well go
// on undisturbed, and what they find out counts for themselves alone. While the last answers are waited for, seeds that have
// failed are asked again, with backoff: one that hangs must not keep the others from coming back. Run owns it.
type round struct {
	began      time.Time
	candidates []*target
	hedged     map[*target]bool // asked because of the delay
	asked      int
	waiting    int // asked and not yet answered
	wave       int // how many the next delay asks
	seedsOnly  bool
	failed     []*target // seeds to ask again
	retrying   bool      // the timer is for them
	timer      *time.Timer
	replies    chan answer // has room for all
	lastErr    *wire.Error
	votes      []vote // good answers
	jury       bool   // the round has succeeded, and more than one answer is to decide
}

// A nil round has no clock and no answers.
func (r *round) hedge() <-chan time.Time {
	if r == nil {
		return nil
	}
	return r.timer.C
}

func (r *round) answers() <-chan answer {
	if r == nil {
		return nil
	}
	return r.replies
}

// startRound begins a round, unless one is under way.
func (m *Manager) startRound() {
	if m.round != nil {
		return
	}
	m.began, m.planned = time.Now(), false
	candidates := orderCandidates(m.now.brokers, m.now.seeds, m.answered, m.shuffle)
	m.round = &round{
		began: m.began, candidates: candidates, hedged: make(map[*target]bool), wave: 1,
		timer: time.NewTimer(m.cfg.HedgeDelay), replies: make(chan answer, len(candidates)),
	}
	m.round.ask(m, 1)
}

// onTimer asks the next wave, or after the last one the seeds that have failed. A jury waits no longer.
func (r *round) onTimer(m *Manager) {
	if r.jury {
		r.adjourn(m)
		return
	}
	if r.asked == len(r.candidates) {
		again := r.failed
		r.failed, r.retrying = nil, false
		for _, t := range again {
			r.send(m, t)
		}
		return
	}
	for _, t := range r.ask(m, r.wave) {
		m.now.refresh.HedgedAttempts++
		r.hedged[t] = true
	}
	if r.asked > 2 {
		r.wave *= 2
	}
	if r.asked < len(r.candidates) {
		r.timer.Reset(m.cfg.HedgeDelay)
	}
	r.planRetry(m)
}

// planRetry sets the timer for seeds that have failed, once everybody was asked.
func (r *round) planRetry(m *Manager) {
	if r.asked == len(r.candidates) && len(r.failed) > 0 && !r.retrying {
		r.retrying = true
		m.tries++
		r.timer.Reset(m.backoff())
	}
}

// ask asks the next n candidates and returns them.
func (r *round) ask(m *Manager, n int) []*target {
	next := r.candidates[r.asked:min(r.asked+n, len(r.candidates))]
	for _, t := range next {
		r.asked++
		r.send(m, t)
	}
	return next
}

// send asks one target. No target is asked again before it has answered, so that replies has room for all.
func (r *round) send(m *Manager, t *target) {
	r.waiting++
	if t.isSeed() {
		m.now.refresh.SeedAttempts++
		r.noteRebootstrap(m)
	} else {
		m.now.refresh.BrokerAttempts++
	}
	if !t.do(func() { t.ask(r.replies) }) {
		r.replies <- answer{target: t, err: stopped()}
	}
}

// noteRebootstrap counts a round that turns to a seed after brokers were known and none of them has answered.
func (r *round) noteRebootstrap(m *Manager) {
	if len(m.brokers) > 0 && !r.seedsOnly && !r.jury && r.waiting == 1 {
		r.seedsOnly = true
		m.now.refresh.Rebootstraps++
	}
}

func (m *Manager) onAnswer(a answer) {
	r := m.round
	r.waiting--
	if a.err == nil {
		r.votes = append(r.votes, vote{a.view.Brokers, signatureOf(a.view.Brokers)})
	}
	switch {
	case r.jury:
		if r.settled() {
			r.adjourn(m)
		}
	case a.err == nil:
		r.onFirst(m, a)
	default:
		r.onFailure(m, a)
	}
}

// onFirst handles the first good answer. If it is news, or others are known to say something else, they are asked as well.
func (r *round) onFirst(m *Manager, a answer) {
	if r.hedged[a.target] {
		m.now.refresh.HedgeWins++
	}
	doubtful := m.apply(a.view, a.target)
	m.succeed(r.began)
	if doubtful || m.disputed(r.votes[0].signature) {
		if r.convene(m); !r.settled() {
			return
		}
	}
	r.adjourn(m)
}

func (r *round) onFailure(m *Manager, a answer) {
	r.lastErr = a.err
	if a.target.isSeed() {
		r.failed = append(r.failed, a.target)
	}
	r.ask(m, 1)
	if r.waiting == 0 {
		m.fail(r.lastErr)
		return
	}
	r.planRetry(m)
}

// backoff returns the wait after so many waves or rounds without a good answer.
func (m *Manager) backoff() time.Duration {
	return backoff(m.cfg.BackoffBase, m.cfg.BackoffMax, m.tries, m.random())
}

// succeed does the accounts of a round with a good answer.
func (m *Manager) succeed(began time.Time) {
	now := &m.now.refresh
	before := now.Last
	m.good = time.Now()
	if m.cfg.GiveUpAfter > 0 {
		m.deadline.Reset(m.cfg.GiveUpAfter)
	}
	m.retry, m.tries = false, 0
	now.Last, now.LastSuccess, now.ConsecutiveFailures, now.Backoff = VerdictGood, m.good, 0, 0
	if m.cfg.Observer.Round != nil {
		m.cfg.Observer.Round(m.good.Sub(began))
	}
	if before != VerdictGood {
		m.emit(Event{Kind: EventRefreshed})
	}
	m.countRound()
}

// closeRound ends a round that has succeeded and plans the next one.
func (m *Manager) closeRound() {
	m.round.timer.Stop()
	m.round = nil
	m.plan(jitter(m.cfg.RefreshInterval, 0.9, 1.1, m.random()))
	m.catchUp()
}

// fail does the accounts of a round without a good answer and plans the next one.
func (m *Manager) fail(err *wire.Error) {
	m.round.timer.Stop()
	m.round = nil
	now := &m.now.refresh
	before := now.Last
	now.Last = VerdictBad
	now.Failures[err.Reason]++
	now.ConsecutiveFailures++
	m.tries++
	now.Backoff = m.backoff()
	if before != VerdictBad {
		m.emit(Event{Kind: EventRefreshFailing, Failure: failure(err)})
	}
	m.countRound()
	m.plan(now.Backoff)
	m.catchUp()
}

// catchUp obeys what came in while the round was under way.
func (m *Manager) catchUp() {
	if !m.again && !m.retry {
		return
	}
	m.again, m.retry = false, false
	if m.planned {
		return
	}
	m.planned = true
	if d := max(0, m.floor()-time.Since(m.began)); d < time.Until(m.nextAt) {
		m.plan(d)
	}
}

// plan sets when the next round begins.
func (m *Manager) plan(d time.Duration) {
	m.nextAt = time.Now().Add(d)
	m.next.Reset(d)
}

// floor is the shortest time between the starts of two rounds: one backoff base, and twice as long with each round that news
// brought forward soon after the last one. News that never ends, of brokers that disagree, is asked about at the usual interval.
func (m *Manager) floor() time.Duration {
	const soon = 4
	if time.Since(m.hurriedAt) > soon*m.hurriedFor {
		m.hurries = 0
	}
	m.hurries++
	m.hurriedAt, m.hurriedFor = time.Now(), min(m.cfg.BackoffBase<<min(m.hurries-1, maxExponent/2), m.cfg.RefreshInterval)
	return m.hurriedFor
}

// hurry brings the next round forward, but never below the floor between the starts of two rounds. While
// rounds fail, only news of a target that can be reached again is a reason; everything else waits for the backoff.
func (m *Manager) hurry(reachable bool) {
	if failing := m.now.refresh.Last != VerdictGood; failing != reachable {
		return // good news is news only while rounds fail, and bad news only while they do not
	}
	m.again, m.retry = !reachable || m.again, reachable || m.retry
	if m.round == nil {
		m.catchUp()
	}
}

func (m *Manager) emit(e Event) {
	if m.cfg.OnEvent != nil {
		m.cfg.OnEvent(e)
	}
}
