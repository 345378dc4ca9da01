package manager

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"kafka_connection_exporter/wire"
)

// unregisteredRounds is how many rounds in a row, answered by as many others, must say that a broker is no longer registered
// before it is forgotten: one broker's view may be older than another's. Where only one is left to ask, it may say it twice.
const unregisteredRounds = 2

// missing is what is known of a broker that a list should name and does not.
type missing struct {
	rounds int
	by     map[*target]bool // who has said so
}

// apply makes a good answer the list of brokers. New ones are started, known ones moved if their address changed, and those
// that are missing stay, marked, until they are forgotten.
func (m *Manager) apply(view wire.View, from *target) {
	m.list.Store(&view.Brokers)
	m.answered = from
	listed := make(map[int32]bool, len(view.Brokers))
	m.now.inMetadata = 0
	for _, b := range view.Brokers {
		listed[b.ID] = true
		if !b.Fenced {
			m.now.inMetadata++
		}
		m.applyBroker(b, view.KnowsFenced)
	}
	if view.KnowsFenced { // another list leaves out who is fenced, too
		maps.DeleteFunc(m.retired, func(id int32, _ bool) bool { return !listed[id] })
	}
	for id, t := range m.brokers {
		if !listed[id] {
			m.leave(t)
			if view.KnowsFenced {
				m.noteUnregistered(t, from)
			}
		} else {
			delete(m.gone, id)
		}
	}
	m.reindex()
}

// lastList returns the list of the last good answer, which answers that are equal to it share.
func (m *Manager) lastList() []wire.BrokerInfo {
	if list := m.list.Load(); list != nil {
		return *list
	}
	return nil
}

// applyBroker brings one broker up to date. A fenced one is registered but not in the metadata that clients get; after the
// retention it stays forgotten until it serves again.
func (m *Manager) applyBroker(b wire.BrokerInfo, knowsFenced bool) {
	if b.Fenced && m.retired[b.ID] {
		return
	}
	delete(m.retired, b.ID)
	t := m.brokers[b.ID]
	if t == nil {
		t = newTarget(m, "broker", strconv.Itoa(int(b.ID)), wire.Peer{Host: b.Host, Port: b.Port, NodeID: b.ID})
		t.now.InMetadata = !b.Fenced
		t.publish()
		m.brokers[b.ID] = t
		t.emit(EventBrokerAdded, nil)
		m.start(t)
	}
	m.noteLoopback(t, b)
	if b.Fenced {
		m.leave(t)
	} else {
		delete(m.absent, b.ID)
	}
	t.do(func() { t.update(b, knowsFenced) })
}

// noteLoopback reports a broker whose advertised address leads every client to the client's own host, once per address. Where
// a seed is a loopback address too, that is what the user wants.
func (m *Manager) noteLoopback(t *target, b wire.BrokerInfo) {
	if !isLoopback(b.Host) || m.loopback[b.ID] == b.Host {
		return
	}
	for s := range m.cfg.Seeds.All() {
		if isLoopback(s.Host) {
			return
		}
	}
	m.loopback[b.ID] = b.Host
	m.emit(Event{Kind: EventLoopback, Target: t.name, Address: b.Host})
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// update is what the metadata says about a broker, told to its owner.
func (t *target) update(b wire.BrokerInfo, knowsFenced bool) {
	t.now.Rack = b.Rack
	t.noteFenced(b.Fenced, knowsFenced)
	if !t.now.InMetadata && !b.Fenced {
		t.emit(EventBrokerReturned, nil)
	} else if t.now.InMetadata && b.Fenced {
		t.emit(EventBrokerLeft, nil)
	}
	t.now.InMetadata = !b.Fenced
	moved := t.peer.Host != b.Host || t.peer.Port != b.Port
	t.move(b.Host, b.Port)
	if moved {
		t.emit(EventBrokerMoved, nil)
	}
}

// noteFenced keeps what is known of the fencing. A list that cannot name fenced brokers names only those that are not, and teaches
// nothing about a broker of which nothing is known.
func (t *target) noteFenced(fenced, knowsFenced bool) {
	before := t.now.Fenced
	switch {
	case fenced:
		t.now.Fenced = VerdictBad
		if before != VerdictBad {
			t.emit(EventFenced, nil)
		}
	case knowsFenced || before != VerdictUnknown:
		t.now.Fenced = VerdictGood
		if before == VerdictBad {
			t.emit(EventUnfenced, nil)
		}
	}
}

// leave starts the retention of a broker that is no longer in the metadata.
func (m *Manager) leave(t *target) {
	if _, already := m.absent[t.id]; !already {
		m.absent[t.id] = time.Now()
	}
	t.do(t.markAbsent)
}

func (t *target) markAbsent() {
	if t.now.InMetadata {
		t.now.InMetadata = false
		t.emit(EventBrokerLeft, nil)
	}
}

// noteUnregistered counts answers that would name the broker if it were registered, fenced or not, and do not.
func (m *Manager) noteUnregistered(t, from *target) {
	gone := m.gone[t.id]
	if gone == nil {
		gone = &missing{by: make(map[*target]bool)}
		m.gone[t.id] = gone
	}
	gone.rounds++
	if !from.isSeed() { // it may be the same broker once more
		gone.by[from] = true
	}
	if len(gone.by) >= unregisteredRounds || gone.rounds >= unregisteredRounds && m.witnesses(t) < unregisteredRounds {
		m.forget(t)
	} else {
		m.again = true
	}
}

// witnesses counts the brokers, other than t itself, that can be asked at once.
func (m *Manager) witnesses(t *target) (n int) {
	for _, other := range m.brokers {
		if other != t && other.published.Load().State == StateReady {
			n++
		}
	}
	return n
}

// expire forgets the brokers whose retention has passed.
func (m *Manager) expire() {
	known := len(m.brokers)
	for id, since := range m.absent {
		if time.Since(since) >= m.cfg.Retention {
			m.retired[id] = true
			m.forget(m.brokers[id])
		}
	}
	if len(m.brokers) != known {
		m.reindex()
	}
}

// forget lets go of a broker and everything known about it.
func (m *Manager) forget(t *target) {
	id := t.id
	delete(m.brokers, id)
	delete(m.absent, id)
	delete(m.gone, id)
	delete(m.loopback, id)
	m.emit(Event{Kind: EventBrokerForgotten, Target: t.name})
	t.stop()
}

// reindex rebuilds what readers see. They keep the slices and the map that they have.
func (m *Manager) reindex() {
	m.now.byID = maps.Clone(m.brokers)
	m.now.brokers = make([]*target, 0, len(m.brokers))
	for _, id := range slices.Sorted(maps.Keys(m.brokers)) {
		m.now.brokers = append(m.now.brokers, m.brokers[id])
	}
}

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
