package app

import (
	"context"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"kafka_connection_exporter/manager"
)

const (
	eventQueue     = 4096        // events that may wait for a slow log
	eventsPerSpell = 6           // lines about one target per spell
	spell          = time.Minute // after which a target may be logged again, and what was left out is counted
)

// eventLog writes one line for each change of state. The manager hands events over without waiting; run writes them. A
// target that changes more often than a person can read gets a count at the end of the minute instead.
type eventLog struct {
	logger  log.Logger
	events  chan manager.Event
	written map[string]int // lines about a target in this spell
}

func newEventLog(logger log.Logger) *eventLog {
	return &eventLog{logger: logger, events: make(chan manager.Event, eventQueue), written: make(map[string]int)}
}

// add has the form of manager.Config.OnEvent. When the log is so slow that the queue is full, the event is lost: the
// metrics have it, and a blocked log must not block the connections.
func (l *eventLog) add(e manager.Event) {
	select {
	case l.events <- e:
	default:
	}
}

// run writes events until ctx ends, and then those that are waiting.
func (l *eventLog) run(ctx context.Context) {
	tick := time.NewTicker(spell)
	defer tick.Stop()
	for {
		select {
		case e := <-l.events:
			l.write(e)
		case <-tick.C:
			l.summarize()
		case <-ctx.Done():
			for len(l.events) > 0 {
				l.write(<-l.events)
			}
			l.summarize()
			return
		}
	}
}

func (l *eventLog) write(e manager.Event) {
	l.written[e.Target]++
	if l.written[e.Target] > eventsPerSpell {
		return
	}
	words := eventWords[e.Kind]
	line := []any{"msg", words.text}
	if e.Target != "" {
		line = append(line, "target", e.Target)
	}
	if e.Address != "" {
		line = append(line, "address", e.Address)
	}
	if f := e.Failure; f != nil {
		line = append(line, "phase", f.Phase, "reason", f.Reason, "err", f.Text)
	}
	_ = words.level(l.logger).Log(line...)
}

func (l *eventLog) summarize() {
	for target, n := range l.written {
		if n > eventsPerSpell {
			_ = level.Warn(l.logger).Log("msg", "more changes of state were not logged", "target", target, "count", n-eventsPerSpell, "within", spell)
		}
	}
	clear(l.written)
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
}
