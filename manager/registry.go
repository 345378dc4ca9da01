package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"kafka_connection_exporter/wire"
)

// DescribeCluster knows what Metadata hides from clients: brokers that are registered and fenced. It is asked beside Metadata, of
// whoever a round asks, on the same connection, and whatever becomes of the question is no verdict on anybody. Addresses are not
// taken from it, for it is not what clients dial; where they differ, that is shown.

// registryResult is what became of the question.
type registryResult struct {
	conn     *wire.Conn
	list     []wire.BrokerInfo // what Metadata said just before on the same connection
	registry wire.Registry
	err      error
}

// registryAnswer is what a target tells Run.
type registryAnswer struct {
	from *target
	registryResult
}

// enoughBreaks is how many connections in a row must break over the question for it not to be asked there any more.
const enoughBreaks = 2

// mayAskRegistry says whether the check that is about to start asks for the registry, too: it serves a round.
func (t *target) mayAskRegistry() bool {
	return len(t.asks) > 0 && !t.asking && t.registryBreaks < enoughBreaks && t.conn.OffersRegistry()
}

// askRegistry is called by the check's goroutine after the check's own answer has come.
func (t *target) askRegistry(checked checkResult) registryResult {
	r := registryResult{conn: checked.conn, list: checked.view.Brokers, err: errNotAsked}
	if checked.err == nil {
		ctx, cancel := context.WithTimeout(t.ctx, t.m.cfg.CheckTimeout)
		defer cancel()
		r.registry, r.err = r.conn.Registry(ctx)
	}
	return r
}

var errNotAsked = errors.New("the check before failed")

func (t *target) onRegistry(r registryResult) {
	t.asking = false
	switch {
	case r.err == nil:
		t.registryBreaks = 0
		offer(t.m.registries, registryAnswer{t, r})
	case broke(r.err):
		t.registryBreaks++
	}
}

// broke is about a connection that ended over the question, or is silent since.
func broke(err error) bool {
	if errors.Is(err, wire.ErrClosed) || errors.Is(err, wire.ErrDrained) || errors.Is(err, errNotAsked) {
		return false // we ended it ourselves
	}
	reason := wire.AsError(wire.PhaseRequest, err).Reason
	return reason == wire.ReasonClosed || reason == wire.ReasonReset || reason == wire.ReasonTimeout
}

// onRegistryAnswer takes over what a broker's registry says, after what the same broker has said by Metadata.
func (m *Manager) onRegistryAnswer(a registryAnswer) {
	for len(m.round.answers()) > 0 {
		m.onAnswer(<-m.round.answers())
	}
	if a.registry.Denied {
		for _, t := range m.brokers {
			t.do(func() { t.noteRegistry(VerdictUnknown, "") })
		}
		return
	}
	registered := make(map[int32]wire.RegisteredBroker, len(a.registry.Brokers))
	for _, r := range a.registry.Brokers {
		registered[r.ID] = r
	}
	named := make(map[int32]bool, len(a.list))
	trusted := m.compare(a.list, registered)
	for _, b := range a.list {
		named[b.ID] = true
	}
	if a.registry.KnowsFenced {
		m.applyFenced(a, named, trusted)
		m.findUnregistered(a.from, registered)
	}
	m.reindex()
}

// compare tells every broker whether DescribeCluster names it at the address that Metadata does, and returns whether it may be
// believed about addresses: all that both name are the same.
func (m *Manager) compare(list []wire.BrokerInfo, registered map[int32]wire.RegisteredBroker) (trusted bool) {
	same, differ := 0, 0
	for _, b := range list {
		verdict, other := VerdictUnknown, ""
		if r, ok := registered[b.ID]; ok && r.Host == b.Host && r.Port == b.Port {
			verdict, same = VerdictGood, same+1
		} else if ok {
			verdict, other, differ = VerdictBad, net.JoinHostPort(r.Host, strconv.Itoa(r.Port)), differ+1
		}
		if t := m.brokers[b.ID]; t != nil && t.published.Load().RegistryAgrees != verdict {
			t.do(func() { t.noteRegistry(verdict, other) })
		}
	}
	return same > 0 && differ == 0
}

// noteRegistry keeps whether DescribeCluster names the broker where Metadata does.
func (t *target) noteRegistry(v Verdict, other string) {
	before := t.now.RegistryAgrees
	t.now.RegistryAgrees = v
	if before == v || v == VerdictUnknown || before == VerdictUnknown && v == VerdictGood {
		return
	}
	e := Event{Kind: EventRegistryAgrees, Target: t.name, Address: t.peer.String()}
	if v == VerdictBad {
		e.Kind, e.Detail = EventRegistryDiffers, "DescribeCluster names "+other
	}
	t.m.emit(e)
}

// applyFenced takes over who is fenced. A broker that Metadata has never named is known from here on: dialed where DescribeCluster
// is to be trusted about addresses, and only shown elsewhere, as a gateway in between has an address of its own for it. After the
// retention it stays forgotten until it serves again.
func (m *Manager) applyFenced(a registryAnswer, named map[int32]bool, trusted bool) {
	known := make(map[int32]bool, len(a.registry.Brokers))
	for _, r := range a.registry.Brokers {
		known[r.ID] = true
		t := m.brokers[r.ID]
		if t == nil {
			if !r.Fenced || named[r.ID] || m.retired[r.ID] {
				continue
			}
			t = m.add(wire.BrokerInfo{ID: r.ID, Rack: r.Rack}, false)
			m.unlisted[r.ID], m.absent[r.ID] = true, time.Now()
		}
		if m.unlisted[r.ID] {
			t.do(func() { t.place(r.BrokerInfo, trusted) })
		}
		fenced := r.Fenced && !named[r.ID] // clients may use whom Metadata names
		if before := t.published.Load().Fenced; before == VerdictUnknown || (before == VerdictBad) != fenced {
			t.do(func() { t.noteFenced(fenced, true) })
		}
	}
	for id := range m.retired {
		if !known[id] {
			delete(m.retired, id)
		}
	}
}

// place gives an address to a broker that Metadata has never named, or takes it away.
func (t *target) place(b wire.BrokerInfo, trusted bool) {
	switch {
	case trusted:
		t.now.Hidden = false
		if t.peer.Host == "" {
			t.move(b.Host, b.Port)
		} else {
			t.readdress(b.Host, b.Port)
		}
	case !t.now.Hidden:
		t.now.Hidden = true
		t.move("", 0)
		t.now.Reachable, t.now.Failure = VerdictUnknown, nil
	}
}

// noteFenced keeps what is known of the fencing. Who cannot name fenced brokers teaches nothing about one of which nothing is known.
func (t *target) noteFenced(fenced, known bool) {
	before := t.now.Fenced
	switch {
	case fenced:
		t.now.Fenced = VerdictBad
		if before != VerdictBad {
			t.emit(EventFenced, nil)
		}
	case known:
		t.now.Fenced = VerdictGood
		if before == VerdictBad {
			t.emit(EventUnfenced, nil)
		}
	}
}

// unregisteredRounds is how many answers of as many others must say that a broker is no longer registered before it is forgotten:
// one broker's view may be older than another's. Where only one is left to ask, it may say it twice.
const unregisteredRounds = 2

// missing is what is known of a broker that a registry should name and does not.
type missing struct {
	rounds int
	by     map[*target]bool // who has said so
}

// findUnregistered counts answers that would name a broker if it were registered, fenced or not, and do not.
func (m *Manager) findUnregistered(from *target, registered map[int32]wire.RegisteredBroker) {
	for id, t := range m.brokers {
		_, listed := m.listed[id]
		if _, ok := registered[id]; ok || listed {
			delete(m.gone, id)
			continue
		}
		m.noteUnregistered(t, from)
	}
}

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
		return
	}
	m.again = true
	if m.round == nil {
		m.catchUp()
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

// noteAnomalies counts what an answer should not have held, and reports a kind once, or again after an hour without it.
func (t *target) noteAnomalies(anomalies wire.Anomalies) {
	for kind, found := range anomalies {
		if !found {
			continue
		}
		t.m.anomalous[kind].Add(1)
		now := time.Now().UnixNano()
		if last := t.m.anomalyAt[kind].Swap(now); now-last >= int64(time.Hour) {
			t.m.emit(Event{Kind: EventAnomaly, Target: t.name, Address: t.peer.String(),
				Detail: fmt.Sprintf("%s: the rest of the answer counts", anomalyWords[kind])})
		}
	}
}

var anomalyWords = [wire.NumAnomalies]string{
	wire.AnomalyDuplicate:  "it names an id twice, the first entry counts",
	wire.AnomalyNegativeID: "it names a broker with a negative id",
	wire.AnomalyExcess:     "it names more brokers than any cluster has",
}
