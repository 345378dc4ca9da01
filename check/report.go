package check

import (
	"time"

	"kafka_connection_exporter/wire"
)

// Status is what a check comes to.
type Status string

// The statuses, the best first.
const (
	StatusWell       Status = "well"
	StatusUnfinished Status = "unfinished" // the time was over, and no fault was seen
	StatusFault      Status = "fault"
)

// State is what became of one target.
type State string

// The states.
const (
	StateWell       State = "well"
	StateFailed     State = "failed"
	StateNotTried   State = "not_tried"
	StateUnfinished State = "unfinished"
)

// Report is what a check found out about one cluster. Its text is as peers sent it: whoever shows it makes it harmless.
type Report struct {
	Cluster     string    `json:"kafka_cluster"`
	ClusterID   string    `json:"cluster_id"`
	Vantage     string    `json:"seen_from"`
	Started     time.Time `json:"started"`
	Seconds     float64   `json:"duration_seconds"`
	Status      Status    `json:"status"`
	Interrupted bool      `json:"interrupted"` // by the user
	Expected    int       `json:"brokers_expected"`
	Missing     int       `json:"brokers_missing"` // of those expected
	Faults      int       `json:"faults"`
	Warnings    int       `json:"warnings"`
	Seeds       []Result  `json:"seeds"`
	Brokers     []Result  `json:"brokers"`
	Views       Views     `json:"views"`
}

// Result is what became of one seed or broker.
type Result struct {
	Seed       string    `json:"seed,omitempty"`
	BrokerID   *int32    `json:"broker_id,omitempty"` // nil for a seed
	Address    string    `json:"address"`             // host:port that was dialed
	Rack       string    `json:"rack,omitempty"`
	InMetadata bool      `json:"in_metadata"`
	Fenced     bool      `json:"fenced"`
	State      State     `json:"state"`
	Addresses  []Address `json:"addresses"` // that the name gave
	Phases     []Phase   `json:"phases"`
	Failure    *Failure  `json:"failure"`
	Warnings   []Warning `json:"warnings"`
	TLS        *TLS      `json:"tls"`
	Identity   string    `json:"identity,omitempty"` // verified, unverified or wrong
	APIVersion int16     `json:"api_versions_version"`
	Like       string    `json:"like_kafka,omitempty"`
	ViewAgrees *bool     `json:"metadata_agrees"`         // nil: it was not asked
	DescribeOK *bool     `json:"describe_cluster_agrees"` // nil: it cannot be told
}

// Address is one address of a name.
type Address struct {
	Address   string `json:"address"`
	Tried     bool   `json:"tried"`
	Connected bool   `json:"connected"`
	Reason    string `json:"reason,omitempty"` // why it did not connect
}

// Phase is one finished phase.
type Phase struct {
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
	OK      bool    `json:"ok"`
}

// Failure is where and why a target failed, and what to do.
type Failure struct {
	Phase   string `json:"phase"`
	Reason  string `json:"reason"`
	Text    string `json:"text"`
	Meaning string `json:"meaning"`
	First   string `json:"first_thing_to_do"`
	Page    string `json:"runbook"`

	shared string // the text without what is this target's alone
}

// Warning is something that does not keep clients away today.
type Warning struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// The kinds of warnings.
const (
	WarnCertificate = "certificate_ends_soon"
	WarnFenced      = "fenced"
	WarnView        = "metadata_differs"
	WarnDescribe    = "describe_cluster_differs"
	WarnIdentity    = "identity_unverified"
	WarnLoopback    = "advertises_loopback"
)

// TLS is what the handshake showed; Version and Cipher are empty if it failed.
type TLS struct {
	Version  string        `json:"version,omitempty"`
	Cipher   string        `json:"cipher,omitempty"`
	NotAfter *time.Time    `json:"not_after"` // the earliest end in the chain
	Chain    []Certificate `json:"chain"`
}

// Certificate is one of the chain.
type Certificate struct {
	Subject   string    `json:"subject"`
	Issuer    string    `json:"issuer"`
	Names     []string  `json:"names"`
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
}

// Views is what the brokers say about the cluster, compared.
type Views struct {
	From            string `json:"from"`             // the seed whose answer named the brokers; empty: none did
	Named           int    `json:"brokers"`          // that it names
	Asked           int    `json:"asked"`            // brokers that have answered
	Agree           int    `json:"agree"`            // that name the same brokers
	DescribeCluster string `json:"describe_cluster"` // same, differs, denied, not_offered, failed or not_asked
}

// What becomes of the question DescribeCluster.
const (
	DescribeSame       = "same"
	DescribeDiffers    = "differs"
	DescribeDenied     = "denied"
	DescribeNotOffered = "not_offered"
	DescribeFailed     = "failed"
	DescribeNotAsked   = "not_asked"
)

// Well counts the results that have no failure.
func well(all []Result) (n int) {
	for _, r := range all {
		if r.State == StateWell {
			n++
		}
	}
	return n
}

// Rejected says whether credentials were shown and not accepted.
func (r *Report) Rejected() bool {
	for _, all := range [][]Result{r.Seeds, r.Brokers} {
		for i := range all {
			if all[i].State == StateFailed && all[i].Failure.Reason == wire.ReasonCredentialsRejected.String() {
				return true
			}
		}
	}
	return false
}
