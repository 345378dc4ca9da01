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

// apply takes over what an answer says as far as one broker's word is enough: brokers that nobody has named before. It returns
// whether the answer differs in anything else from what is known, which takes more than one to change: see decide.
func (m *Manager) apply(view wire.View, from *target) (doubtful bool) {
	m.answered = from
	named := make(map[int32]bool, len(view.Brokers))
	for _, b := range view.Brokers {
		named[b.ID] = true
		before, listed := m.listed[b.ID]
		if t := m.brokers[b.ID]; !listed && (t == nil || m.unlisted[b.ID]) {
			m.enlist(b)
		} else if before != b {
			doubtful = true
		}
	}
	for id := range m.listed {
		doubtful = doubtful || !named[id]
	}
	m.reindex()
	return doubtful
}

// lastList returns the list of the last good answer, which answers that are equal to it share.
func (m *Manager) lastList() []wire.BrokerInfo {
	if list := m.list.Load(); list != nil {
		return *list
	}
	return nil
}

// share makes the list the one that equal answers share, if it is what is known.
func (m *Manager) share(list []wire.BrokerInfo) {
	if len(list) != len(m.listed) {
		return
	}
	for _, b := range list {
		if m.listed[b.ID] != b {
			return
		}
	}
	m.list.Store(&list)
}

// enlist makes a broker a member of the metadata, at the address that it advertises there.
func (m *Manager) enlist(b wire.BrokerInfo) {
	m.listed[b.ID] = b
	delete(m.absent, b.ID)
	delete(m.gone, b.ID)
	delete(m.unlisted, b.ID)
	delete(m.retired, b.ID)
	t := m.brokers[b.ID]
	if t == nil {
		t = m.add(b, true)
	}
	m.noteLoopback(t, b)
	t.do(func() { t.update(b) })
}

// add starts a broker that is new to us.
func (m *Manager) add(b wire.BrokerInfo, inMetadata bool) *target {
	t := newTarget(m, "broker", strconv.Itoa(int(b.ID)), wire.Peer{Host: b.Host, Port: b.Port, NodeID: b.ID})
	t.now.Rack, t.now.InMetadata, t.now.Hidden = b.Rack, inMetadata, !inMetadata
	t.publish()
	m.brokers[b.ID] = t
	t.emit(EventBrokerAdded, nil)
	m.start(t)
	return t
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

// update is what the metadata says about a broker that it names, told to its owner.
func (t *target) update(b wire.BrokerInfo) {
	t.now.Rack, t.now.Hidden = b.Rack, false
	t.noteFenced(false, t.now.Fenced != VerdictUnknown) // metadata hides who is fenced
	if !t.now.InMetadata {
		t.now.InMetadata = true
		t.emit(EventBrokerReturned, nil)
	}
	t.readdress(b.Host, b.Port)
}

// readdress gives the broker the address that it has from now on.
func (t *target) readdress(host string, port int) {
	moved := t.peer.Host != host || t.peer.Port != port
	t.move(host, port)
	if moved {
		t.emit(EventBrokerMoved, nil)
	}
}

// leave starts the retention of a broker that is no longer in the metadata.
func (m *Manager) leave(t *target) {
	delete(m.listed, t.id)
	if _, already := m.absent[t.id]; !already {
		m.absent[t.id] = time.Now()
	}
	t.do(func() {
		if t.now.InMetadata {
			t.now.InMetadata = false
			t.emit(EventBrokerLeft, nil)
		}
	})
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
	delete(m.listed, id)
	delete(m.unlisted, id)
	delete(m.absent, id)
	delete(m.gone, id)
	delete(m.loopback, id)
	m.emit(Event{Kind: EventBrokerForgotten, Target: t.name})
	t.stop()
}

// reindex rebuilds what readers see. They keep the slices and the map that they have.
func (m *Manager) reindex() {
	m.now.inMetadata = len(m.listed)
	m.now.byID = maps.Clone(m.brokers)
	m.now.brokers = make([]*target, 0, len(m.brokers))
	for _, id := range slices.Sorted(maps.Keys(m.brokers)) {
		m.now.brokers = append(m.now.brokers, m.brokers[id])
	}
}
