package manager

import (
	"hash/maphash"

	"kafka_connection_exporter/wire"
)

// noteView remembers what the broker says about the cluster. A broker that says something new is a reason to refresh.
func (t *target) noteView(view wire.View) {
	if sameList(view.Brokers, t.list) {
		return
	}
	t.list = nil
	if sameList(view.Brokers, t.m.lastList()) { // a list of its own for every broker would be too much to keep
		t.list = view.Brokers
	}
	signature := signatureOf(view.Brokers)
	if t.signature != 0 && t.signature != signature {
		t.m.nudge(t.m.changed)
	}
	t.signature, t.now.Reports = signature, len(view.Brokers)
}

// sameList says whether two lists are one, which equal answers share.
func sameList(a, b []wire.BrokerInfo) bool {
	return len(a) > 0 && len(b) > 0 && &a[0] == &b[0]
}

// signatureOf hashes a list. The order does not matter, so the hashes of the members are added up.
func signatureOf(list []wire.BrokerInfo) (signature uint64) {
	for _, b := range list {
		signature += maphash.Comparable(signatureSeed, member{b.ID, b.Host, b.Port})
	}
	return max(signature, 1) // 0 is for no answer yet
}

type member struct {
	id   int32
	host string
	port int
}

var signatureSeed = maphash.MakeSeed()

// judgeViews compares what the brokers last said about the cluster with what most of them say. Where no list has more votes than
// every other one, nobody knows who is right, and no broker agrees.
func judgeViews(brokers []Broker, signatures []uint64) {
	votes := make(map[uint64]int)
	for i, s := range signatures {
		if s != 0 && brokers[i].Reachable == VerdictGood {
			votes[s]++
		}
	}
	var majority uint64
	most := 0
	for s, n := range votes {
		switch {
		case n > most:
			majority, most = s, n
		case n == most:
			majority = 0 // so far
		}
	}
	for i, s := range signatures {
		switch {
		case s == 0 || brokers[i].Reachable != VerdictGood:
		case s == majority:
			brokers[i].Agrees = VerdictGood
		default:
			brokers[i].Agrees = VerdictBad
		}
	}
}
