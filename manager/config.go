package manager

import (
	"time"

	"kafka_connection_exporter/seeds"
	"kafka_connection_exporter/wire"
)

// Config is everything a manager needs. New reports what is wrong with it.
type Config struct {
	Seeds     seeds.List
	Dialer    *wire.Dialer
	ClusterID string // pinned; empty: the first one seen is

	RefreshInterval time.Duration // between good rounds, jittered
	HedgeDelay      time.Duration // without an answer for this long, a round asks more targets
	GiveUpAfter     time.Duration // without a good round for this long, Run returns a *GaveUpError; 0: never

	ConnectRate float64       // new connections per second, over all brokers
	BackoffBase time.Duration // before the second attempt
	BackoffMax  time.Duration // cap of the exponential, before jitter

	CheckInterval     time.Duration // between checks of a ready connection; 0: no checks, connect only when leased
	CheckTimeout      time.Duration // silence for this long ends a connection
	HandshakeInterval time.Duration // between fresh handshakes of a broker; 0: none
	SeedCheckInterval time.Duration // between checks of a seed; 0: only rounds try seeds
	SASLRetryInterval time.Duration // between SASL attempts after credentials were rejected
	CredentialVersion func() string // changes with the credentials; nil: they never change
	Retention         time.Duration // a broker that left the metadata is remembered for this long

	Observer Observer
	OnEvent  func(Event) // state changes worth a log line; called from several goroutines; must not block; nil: none
}

// Observer receives what a snapshot cannot carry, single durations for histograms. Its functions are called from
// several goroutines at once and must not block; nil ones are not called.
type Observer struct {
	Phase   func(p wire.Phase, d time.Duration)   // a phase of a connection attempt succeeded
	Request func(brokerID int32, d time.Duration) // a check of a broker was answered
	Round   func(d time.Duration)                 // a round succeeded
}

// EventKind is what happened.
type EventKind uint8

// The kinds of events.
const (
	EventReachable       EventKind = iota // a target's verdict became good
	EventUnreachable                      // a target's verdict became bad, or its phase or reason changed
	EventAccepts                          // fresh handshakes succeed again
	EventRefuses                          // a fresh handshake failed, or its phase or reason changed
	EventRefreshed                        // a round succeeded, after none or failed ones
	EventRefreshFailing                   // a round failed, after none or good ones, or for another reason
	EventBrokerAdded                      // the metadata named a new broker
	EventBrokerMoved                      // its advertised address changed
	EventBrokerLeft                       // it left the metadata
	EventBrokerReturned                   // it came back
	EventBrokerForgotten                  // retention passed, or the cluster no longer has it registered
	EventAnswerRejected                   // a target's answer was not accepted
	EventFenced                           // the cluster fenced a broker
	EventUnfenced                         // and lifted it
	EventRegistryDiffers                  // DescribeCluster names another address than Metadata: a gateway may be in between
	EventRegistryAgrees                   // and no longer does
	EventAnomaly                          // an answer held what no list should hold
	EventOldForm                          // a target hangs up on newer forms of ApiVersions, so that clients that begin with them fail
	EventLoopback                         // a broker advertises a loopback address although no seed is one
)

// Event is one change of state.
type Event struct {
	Kind    EventKind
	Target  string   // "seed a:9092" or "broker 3"; empty for rounds
	Address string   // host:port now
	Failure *Failure // for the bad ones
	Detail  string   // what else there is to say, for people
}
