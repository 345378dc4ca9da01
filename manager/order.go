package manager

import (
	"slices"
	"time"
)

// shuffler has the form of rand.Shuffle.
type shuffler func(n int, swap func(i, j int))

// orderCandidates returns whom a round asks, and in which order: brokers with a ready connection, as they cost no new
// socket; then seeds and other brokers; then what failed last, the longest ago first. Within a class the order is random,
// so that a fleet does not start at the same target, but for the one that answered last: another broker may see another cluster,
// and is asked before. Brokers in backoff are left out: they come back by their own clock,
// and news of that starts a round.
func orderCandidates(brokers, seeds []*target, last *target, shuffle shuffler) []*target {
	type candidate struct {
		target *target
		class  int
		failed time.Time
	}
	var all []candidate
	for _, t := range brokers {
		now := t.published.Load()
		switch {
		case now.State == StateBackoff || now.State == StateClosed:
		case now.Failure != nil:
			all = append(all, candidate{t, 2, now.Failure.Time})
		case now.State == StateReady:
			all = append(all, candidate{target: t, class: 0})
		default:
			all = append(all, candidate{target: t, class: 1})
		}
	}
	for _, t := range seeds {
		if f := t.published.Load().Failure; f != nil {
			all = append(all, candidate{t, 2, f.Time})
		} else {
			all = append(all, candidate{target: t, class: 1})
		}
	}
	shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	slices.SortStableFunc(all, func(a, b candidate) int {
		if a.class != b.class {
			return a.class - b.class
		}
		if c := a.failed.Compare(b.failed); c != 0 {
			return c
		}
		switch last {
		case a.target:
			return 1
		case b.target:
			return -1
		}
		return 0
	})
	ordered := make([]*target, len(all))
	for i, c := range all {
		ordered[i] = c.target
	}
	return ordered
}
