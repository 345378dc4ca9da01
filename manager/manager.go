package manager

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"kafka_connection_exporter/wire"
)

// Manager keeps one managed connection to every broker of one cluster.
type Manager struct {
	cfg        Config
	index      atomic.Pointer[index]
	leaders    atomic.Pointer[map[partition]leader]
	pinned     atomic.Pointer[string]            // the cluster id; nil until configured or seen
	list       atomic.Pointer[[]wire.BrokerInfo] // of the last good answer
	rejected   [wire.NumReasons]atomic.Uint64
	anomalous  [wire.NumAnomalies]atomic.Uint64
	anomalyAt  [wire.NumAnomalies]atomic.Int64 // when one was last seen, in Unix nanoseconds
	oldForm    atomic.Uint32                   // a wire.Form: an older one that some target turned out to need
	registries chan registryAnswer             // what does not fit is lost; the next round asks again
	gate       *gate
	brokerPace *rate.Limiter
	viewPace   *rate.Limiter
	seedPace   *rate.Limiter // of their own, so that seeds need not queue behind a thousand brokers
	changed    chan struct{} // nudges Run: the cluster may have changed
	recovered  chan struct{} // nudges Run: a target can be reached again
	random     func() float64
	shuffle    shuffler
	running    atomic.Bool
	first      chan struct{} // closed when the first round has finished

	// Owned by Run.
	ctx        context.Context
	targets    sync.WaitGroup
	brokers    map[int32]*target
	listed     map[int32]wire.BrokerInfo // in the metadata, and what that says of them
	unlisted   map[int32]bool            // known from DescribeCluster alone
	alone      map[int32]wire.BrokerInfo // what the only answer of the last round claims
	absent     map[int32]time.Time       // when a broker left the metadata
	retired    map[int32]bool            // forgotten after the retention, and still listed as fenced
	loopback   map[int32]string          // loopback addresses that have been reported
	gone       map[int32]*missing        // brokers that the last rounds say are no longer registered
	answered   *target                   // who answered the last good round
	now        index                     // what is published
	round      *round                    // nil between rounds
	next       *time.Timer               // starts the next round
	again      bool                      // one more round is due as soon as the floor permits
	retry      bool                      // the same, unless the round under way succeeds
	tries      int                       // waves and rounds in a row without a good answer
	began      time.Time                 // start of the last round
	nextAt     time.Time                 // when next is due
	planned    bool                      // the next round has been brought forward
	hurries    int                       // rounds that were, soon after one another
	hurriedAt  time.Time
	hurriedFor time.Duration
	good       time.Time   // end of the last good one
	deadline   *time.Timer // gives up; stopped if that is never
}

// index is what Run publishes: which targets there are, and the health of the refresh.
type index struct {
	inMetadata int
	refresh    Refresh
	seeds      []*target
	brokers    []*target // by id
	byID       map[int32]*target
}

// New checks cfg and returns a manager that has done nothing yet.
func New(cfg Config) (*Manager, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	m := &Manager{
		cfg:        cfg,
		gate:       newGate(cfg.SASLRetryInterval, cfg.CredentialVersion),
		brokerPace: rate.NewLimiter(rate.Limit(cfg.ConnectRate), max(1, int(cfg.ConnectRate))),
		seedPace:   rate.NewLimiter(rate.Limit(cfg.ConnectRate), max(1, int(cfg.ConnectRate))),
		viewPace:   rate.NewLimiter(viewsPerSecond, viewsPerSecond),
		changed:    make(chan struct{}, 1),
		first:      make(chan struct{}),
		recovered:  make(chan struct{}, 1),
		random:     rand.Float64,
		shuffle:    rand.Shuffle,
		registries: make(chan registryAnswer, 64),
		brokers:    make(map[int32]*target),
		listed:     make(map[int32]wire.BrokerInfo),
		unlisted:   make(map[int32]bool),
		absent:     make(map[int32]time.Time),
		retired:    make(map[int32]bool),
		loopback:   make(map[int32]string),
		gone:       make(map[int32]*missing),
	}
	if cfg.ClusterID != "" {
		m.pinned.Store(&cfg.ClusterID)
	}
	m.leaders.Store(&map[partition]leader{})
	for s := range cfg.Seeds.All() {
		peer := wire.Peer{Host: s.Host, Port: s.Port, NodeID: -1}
		m.now.seeds = append(m.now.seeds, newTarget(m, "seed", s.String(), peer))
	}
	m.publish()
	return m, nil
}

func (c *Config) validate() error {
	var problems []error
	if c.Seeds.Len() == 0 {
		problems = append(problems, errors.New("no seeds"))
	}
	if c.Dialer == nil {
		problems = append(problems, errors.New("no dialer"))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"RefreshInterval", c.RefreshInterval}, {"HedgeDelay", c.HedgeDelay}, {"BackoffBase", c.BackoffBase},
		{"BackoffMax", c.BackoffMax}, {"CheckTimeout", c.CheckTimeout}, {"Retention", c.Retention},
		{"SASLRetryInterval", c.SASLRetryInterval},
	} {
		if d.value <= 0 {
			problems = append(problems, fmt.Errorf("%s is %s, it must be positive", d.name, d.value))
		}
	}
	if c.ConnectRate <= 0 {
		problems = append(problems, fmt.Errorf("ConnectRate is %g, it must be positive", c.ConnectRate))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	return nil
}

// Run works until ctx ends and returns nil, or until GiveUpAfter passes without a good round and returns a *GaveUpError.
// When it returns no goroutine and no socket is left. A manager runs once.
func (m *Manager) Run(ctx context.Context) error {
	if m.running.Swap(true) {
		return errors.New("manager: Run was called a second time")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer m.targets.Wait()
	defer cancel()
	m.ctx = ctx
	m.deadline = stoppedTimer()
	if m.cfg.GiveUpAfter > 0 {
		m.deadline.Reset(m.cfg.GiveUpAfter)
	}
	defer m.deadline.Stop()
	m.targets.Go(func() { m.gate.run(ctx) })
	for _, t := range m.now.seeds {
		m.start(t)
	}
	m.next, m.nextAt = time.NewTimer(0), time.Now()
	defer m.next.Stop()
	err := m.loop()
	cancel()
	m.targets.Wait()
	m.publish()
	if m.now.refresh.Rounds == 0 {
		close(m.first)
	}
	return err
}

func (m *Manager) loop() error {
	expiry := time.NewTicker(min(expiryInterval, m.cfg.Retention))
	defer expiry.Stop()
	for {
		m.publish()
		select {
		case <-m.ctx.Done():
			return nil
		case <-m.deadline.C:
			return m.gaveUp()
		case <-m.next.C:
			m.startRound()
		case <-m.round.hedge():
			m.round.onTimer(m)
		case a := <-m.round.answers():
			m.onAnswer(a)
		case a := <-m.registries:
			m.onRegistryAnswer(a)
		case <-m.changed:
			m.hurry(false)
		case <-m.recovered:
			m.hurry(true)
		case <-m.gate.reopened:
			m.retryAll()
		case <-expiry.C:
			m.expire()
		}
	}
}

// expiryInterval is how often the manager looks for brokers to forget.
const expiryInterval = 5 * time.Second

// retryAll cuts every wait short: the credentials that kept the targets waiting have changed.
func (m *Manager) retryAll() {
	for _, t := range slices.Concat(m.now.brokers, m.now.seeds) {
		t.do(t.retryNow)
	}
	m.hurry(true)
}

func (m *Manager) publish() {
	now := m.now
	m.index.Store(&now)
}

// start starts a target's owner; Run waits for it.
func (m *Manager) start(t *target) {
	ctx, stop := context.WithCancel(m.ctx)
	t.stop = stop
	m.targets.Go(func() { t.run(ctx) })
}

// FirstRound returns a channel that is closed when the first round has finished, good or bad, or Run has ended before.
func (m *Manager) FirstRound() <-chan struct{} { return m.first }

// countRound counts a finished round.
func (m *Manager) countRound() {
	if m.now.refresh.Rounds++; m.now.refresh.Rounds == 1 {
		m.publish() // who waits for the first round sees it
		close(m.first)
	}
}

// nudge tells Run something without waiting for it.
func (m *Manager) nudge(about chan struct{}) { offer(about, struct{}{}) }

// cluster returns the id of the cluster, or "" while none is known.
func (m *Manager) cluster() string {
	if id := m.pinned.Load(); id != nil {
		return *id
	}
	return ""
}

// belongs says whether an answer with this cluster id is our cluster's, and pins the first id that is seen. Brokers before
// 0.10.1 do not tell their cluster and are believed.
func (m *Manager) belongs(id string) bool {
	if id == "" {
		return true
	}
	return m.pinned.CompareAndSwap(nil, &id) || m.cluster() == id
}

// Snapshot returns a copy of everything the manager knows, without waiting for anybody. It works before, during and
// after Run.
func (m *Manager) Snapshot() Snapshot {
	now := m.index.Load()
	s := Snapshot{
		ClusterID:         m.cluster(),
		BrokersInMetadata: now.inMetadata,
		Refresh:           now.refresh,
		Seeds:             make([]Seed, len(now.seeds)),
		Brokers:           make([]Broker, len(now.brokers)),
	}
	for i := range s.Refresh.AnswersRejected {
		s.Refresh.AnswersRejected[i] = m.rejected[i].Load()
	}
	for i := range s.Refresh.AnswersAnomalous {
		s.Refresh.AnswersAnomalous[i] = m.anomalous[i].Load()
	}
	for i, t := range now.seeds {
		s.Seeds[i] = Seed{Name: t.key, Target: t.snapshot().Target}
	}
	signatures := make([]uint64, len(now.brokers))
	for i, t := range now.brokers {
		p := t.snapshot()
		s.Brokers[i], signatures[i] = p.Broker, p.signature
	}
	judgeViews(s.Brokers, signatures)
	return s
}

func (t *target) snapshot() published {
	p := *t.published.Load()
	p.OpenConnections = int(t.open.Load())
	return p
}
