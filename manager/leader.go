package manager

import (
	"context"
	"maps"
	"time"
)

type partition struct {
	topic string
	id    int32
}

type leader struct {
	broker int32
	asked  time.Time
}

// Leader returns a lease on the broker that leads a partition; it may still be connecting. Metadata is asked for this one
// topic only, and the answer is remembered for the refresh interval or until ForgetLeader.
func (m *Manager) Leader(ctx context.Context, topic string, id int32) (*Lease, error) {
	p := partition{topic, id}
	if known, ok := (*m.leaders.Load())[p]; ok && time.Since(known.asked) < m.cfg.RefreshInterval {
		return m.Acquire(known.broker)
	}
	any, err := m.Any(ctx)
	if err != nil {
		return nil, err
	}
	defer any.Release()
	conn, err := any.conn(ctx)
	if err != nil {
		return nil, err
	}
	broker, err := conn.Leader(ctx, topic, id)
	if err != nil {
		return nil, err
	}
	m.changeLeaders(func(leaders map[partition]leader) { leaders[p] = leader{broker, time.Now()} })
	return m.Acquire(broker)
}

// ForgetLeader makes the next Leader ask again. Call it when a broker answers that it does not lead the partition.
func (m *Manager) ForgetLeader(topic string, id int32) {
	m.changeLeaders(func(leaders map[partition]leader) { delete(leaders, partition{topic, id}) })
}

// changeLeaders replaces the map by a changed copy; readers keep theirs. What has grown old goes with every change.
func (m *Manager) changeLeaders(change func(map[partition]leader)) {
	for {
		old := m.leaders.Load()
		next := maps.Clone(*old)
		maps.DeleteFunc(next, func(_ partition, l leader) bool { return time.Since(l.asked) >= m.cfg.RefreshInterval })
		change(next)
		if m.leaders.CompareAndSwap(old, &next) {
			return
		}
	}
}
