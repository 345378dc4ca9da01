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
	signature, count := signatureOf(view)
	if t.signature != 0 && t.signature != signature {
		t.m.nudge(t.m.changed)
	}
	t.signature, t.now.Reports = signature, count
}

// sameList says whether two lists are one, which equal answers share.
func sameList(a, b []wire.BrokerInfo) bool {
	return len(a) > 0 && len(b) > 0 && &a[0] == &b[0]
}

// signatureOf hashes the set of brokers that serve, and counts them. Fenced brokers are left out: while a cluster is upgraded,
// only some of its brokers can name them. The order does not matter, so the hashes of the members are added up.
func signatureOf(view wire.View) (signature uint64, count int) {
	for _, b := range view.Brokers {
		if !b.Fenced {
			signature += maphash.Comparable(signatureSeed, member{b.ID, b.Host, b.Port})
			count++
		}
	}
	return max(signature, 1), count // 0 is for no answer yet
}

type member struct {
	id   int32
	host string
	port int
}

var signatureSeed = maphash.MakeSeed()
