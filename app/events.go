package app

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"kafka_connection_exporter/manager"
)

const (
	eventQueue = 4096             // events that may wait for a slow log
	burst      = 4                // lines about a target that is not settled before repeats are left out
	repeat     = 10 * time.Minute // from then on a change of the same kind, phase and reason is not written for this long
	settled    = time.Minute      // a target without a change for this long has settled; also how often it is looked at
)

// eventLog writes one line for each change of state. The manager hands events over without waiting; run writes them.
// Something new is written at once, and so are the first few repeats. What a flapping target does again and again is counted: once it has settled, the state
// it has settled in is written with the count, and a line at most once a minute says how much was left out.
type eventLog struct {
	logger log.Logger
	events chan *manager.Event // pointers, as most of the room stays empty, for every cluster
	lost   atomic.Uint64

	// Owned by run.
	targets map[string]*history
	left    int // out since the last line about it
}

// history is what the log remembers of a target.
type history struct {
	written map[change]time.Time
	last    manager.Event
	when    time.Time // of last
	left    int       // out since the target's last line
	lines   int       // written since the target was last settled
}

// change is what makes two events the same to a reader.
type change struct {
	kind          manager.EventKind
	phase, reason string
}

func newEventLog(logger log.Logger) *eventLog {
	return &eventLog{logger: logger, events: make(chan *manager.Event, eventQueue), targets: make(map[string]*history)}
}

// add has the form of manager.Config.OnEvent. When the log is so slow that the queue is full, the event is lost: the
// metrics have it, and a blocked log must not block the connections.
func (l *eventLog) add(e manager.Event) {
	select {
	case l.events <- &e:
	default:
		l.lost.Add(1)
	}
}

// run writes events until ctx ends, and then those that are waiting.
func (l *eventLog) run(ctx context.Context) {
	tick := time.NewTicker(settled)
	defer tick.Stop()
	for {
		select {
		case e := <-l.events:
			l.take(*e)
		case <-tick.C:
			l.review()
		case <-ctx.Done():
			for len(l.events) > 0 {
				l.take(*<-l.events)
			}
			l.review()
			return
		}
	}
}

func (l *eventLog) take(e manager.Event) {
	h := l.targets[e.Target]
	if h == nil {
		h = &history{written: make(map[change]time.Time)}
		l.targets[e.Target] = h
	}
	h.last, h.when = e, time.Now()
	if at, again := h.written[changeOf(e)]; again && time.Since(at) < repeat && h.lines >= burst {
		h.left++
		l.left++
		return
	}
	l.write(h)
}

func changeOf(e manager.Event) change {
	c := change{kind: e.Kind}
	if e.Failure != nil {
		c.phase, c.reason = e.Failure.Phase.String(), e.Failure.Reason.String()
	}
	return c
}

// review writes where targets have settled and forgets what is long ago.
func (l *eventLog) review() {
	for _, target := range slices.Sorted(maps.Keys(l.targets)) {
		h := l.targets[target]
		if time.Since(h.when) >= settled {
			if h.left > 0 {
				l.write(h)
			}
			h.lines = 0
		}
		maps.DeleteFunc(h.written, func(_ change, at time.Time) bool { return time.Since(at) >= repeat })
		if len(h.written) == 0 && h.left == 0 {
			delete(l.targets, target)
		}
	}
	if l.left > 0 {
		_ = level.Info(l.logger).Log("msg", "repeated changes of state were counted instead of logged", "count", l.left)
		l.left = 0
	}
	if lost := l.lost.Swap(0); lost > 0 {
		_ = level.Warn(l.logger).Log("msg", "changes of state were lost because the log is too slow", "count", lost)
	}
}

// write writes the last event of a target.
func (l *eventLog) write(h *history) {
	e := h.last
	words := eventWords[e.Kind]
	line := []any{"msg", words.text}
	if e.Target != "" {
		line = append(line, "target", e.Target)
	}
	if e.Address != "" {
		line = append(line, "address", e.Address)
	}
	if e.Detail != "" {
		line = append(line, "detail", e.Detail)
	}
	if f := e.Failure; f != nil {
		line = append(line, "phase", f.Phase, "reason", f.Reason, "err", f.Text)
	}
	if h.left > 0 {
		line = append(line, "suppressed", h.left)
	}
	_ = words.level(l.logger).Log(line...)
	h.written[changeOf(e)], h.left = time.Now(), 0
	h.lines++
}

type words struct {
	text  string
	level func(log.Logger) log.Logger
}

var eventWords = map[manager.EventKind]words{
	manager.EventReachable:       {"can be reached", level.Info},
	manager.EventUnreachable:     {"cannot be reached", level.Warn},
	manager.EventAccepts:         {"accepts new connections again", level.Info},
	manager.EventRefuses:         {"accepts no new connections, although the old one works", level.Warn},
	manager.EventRefreshed:       {"metadata refresh succeeded", level.Info},
	manager.EventRefreshFailing:  {"metadata refresh failed, trying again", level.Warn},
	manager.EventBrokerAdded:     {"new broker", level.Info},
	manager.EventBrokerMoved:     {"broker advertises another address", level.Info},
	manager.EventBrokerLeft:      {"broker left the metadata", level.Warn},
	manager.EventBrokerReturned:  {"broker returned to the metadata", level.Info},
	manager.EventBrokerForgotten: {"broker forgotten", level.Info},
	manager.EventAnswerRejected:  {"answer not accepted", level.Warn},
	manager.EventFenced:          {"broker is fenced by the cluster", level.Warn},
	manager.EventUnfenced:        {"broker is no longer fenced", level.Info},
	manager.EventRegistryDiffers: {"DescribeCluster names another address than Metadata, is a gateway in between?", level.Warn},
	manager.EventRegistryAgrees:  {"DescribeCluster names the same address as Metadata again", level.Info},
	manager.EventAnomaly:         {"an answer held what no list of brokers should hold", level.Warn},
	manager.EventOldForm:         {"the version of ApiVersions that works has changed", level.Warn},
	manager.EventLoopback:        {"broker advertises a loopback address, which leads every client to its own host; set advertised.listeners", level.Warn},
}
