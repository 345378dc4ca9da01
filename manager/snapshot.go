package manager

import (
	"time"

	"kafka_connection_exporter/wire"
)

// Verdict is the outcome of the last finished check of its kind.
type Verdict uint8

// VerdictUnknown means that no check has finished yet; its metric is absent.
const (
	VerdictUnknown Verdict = iota
	VerdictBad
	VerdictGood
)

// Failure is what went wrong in the last finished attempt.
type Failure struct {
	Phase  wire.Phase
	Reason wire.Reason
	Text   string // for people: logs and pages, never a label
	Time   time.Time
}

// Sum is a number of observations and their total.
type Sum struct {
	Count uint64
	Total time.Duration
}

func (s *Sum) add(d time.Duration) { s.Count++; s.Total += d }

// Snapshot is a copy of everything the manager knows. Nothing in it changes afterwards and nothing in it is shared with
// the manager; each target is consistent in itself.
type Snapshot struct {
	ClusterID         string // configured or first seen; empty until one is known
	BrokersInMetadata int    // in the last good answer; 0 before there is one
	Refresh           Refresh
	Seeds             []Seed   // in the order they were given
	Brokers           []Broker // by id
}

// Refresh is the health of the metadata refresh.
type Refresh struct {
	Last                Verdict // of the last finished round
	LastSuccess         time.Time
	Rounds              uint64                  // finished, good or bad
	Failures            [wire.NumReasons]uint64 // failed rounds by the reason of their last attempt
	ConsecutiveFailures int
	Backoff             time.Duration // wait before the next round after failures; 0 otherwise
	SeedAttempts        uint64
	BrokerAttempts      uint64
	HedgedAttempts      uint64
	HedgeWins           uint64
	AnswersRejected     [wire.NumReasons]uint64
	AnswersAnomalous    [wire.NumAnomalies]uint64 // that count without what is wrong with them
	Rebootstraps        uint64
}

// Target is what a seed and a broker have in common: something that is dialed.
type Target struct {
	Host                string
	Port                int
	State               State
	StateChanges        [NumStates]uint64 // states entered
	Reachable           Verdict           // of the last finished check or attempt
	Failure             *Failure          // nil unless Reachable is VerdictBad
	References          int               // holders of the shared connection
	OpenConnections     int               // sockets open now
	Attempts            uint64            // connection attempts started
	PhaseFailures       [wire.NumPhases]uint64
	Closes              [NumCauses]uint64
	Connects            Sum // connection attempts and fresh handshakes that got through all phases
	RoundTrips          Sum // answered checks
	Requests            uint64
	RequestFailures     [wire.NumReasons]uint64
	ConsecutiveFailures int
	Backoff             time.Duration // wait before the next attempt; 0 unless in StateBackoff
	LastSuccess         time.Time     // of a check; zero if none
	AuthFailures        uint64
	Throttled           time.Duration // total that the broker asked us to wait
	TLS                 *wire.TLSInfo // of the last handshake, with the end of the certificate that was seen last; nil without TLS
	APIVersions         int16         // version of ApiVersions that it last answered in; -1 before that
	Trace               wire.Trace    // phases of the last finished connection attempt
}

// Seed is a target that the user named.
type Seed struct {
	Name string // host:port, as an identity
	Target
}

// Broker is a target that the cluster's metadata named.
type Broker struct {
	ID         int32
	Rack       string
	InMetadata bool
	Fenced     Verdict  // VerdictBad: fenced; VerdictGood: not fenced; unknown where the cluster cannot tell
	Accepts    Verdict  // of the last finished fresh handshake
	AcceptFail *Failure // nil unless Accepts is VerdictBad
	Identity   wire.Identity
	Hidden     bool // DescribeCluster alone knows it, and its address is not to be trusted: it is not dialed
	// RegistryAgrees says whether DescribeCluster names the same host and port as Metadata; unknown where it cannot be asked.
	RegistryAgrees Verdict
	Agrees         Verdict // its own list of brokers against the majority's
	Reports        int     // how many brokers its last answer named; 0 before there is one
	Target
}
