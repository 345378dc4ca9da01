package collector

import (
	"errors"
	"net/netip"
	"time"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// atStart is what a manager knows before its first round.
func atStart() manager.Snapshot {
	return manager.Snapshot{Seeds: []manager.Seed{{Name: "a.test:9092", Target: manager.Target{Host: "a.test", Port: 9092}}}}
}

// healthy is a cluster of two brokers, one of them without TLS and without a rack.
func healthy() manager.Snapshot {
	one := manager.Target{
		Host: "b1.test", Port: 9093, State: manager.StateReady, Reachable: manager.VerdictGood,
		References: 1, OpenConnections: 1, Attempts: 3, Connects: manager.Sum{Count: 3, Total: 90 * time.Millisecond},
		RoundTrips: manager.Sum{Count: 100, Total: time.Second}, Requests: 101, LastSuccess: noon, Throttled: 1500 * time.Millisecond,
		TLS:   &wire.TLSInfo{Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", NotAfter: noon.AddDate(1, 0, 0)},
		Trace: wire.Trace{Started: noon, Addresses: []wire.AddressTrace{{Addr: netip.MustParseAddrPort("10.0.0.1:9093"), Tried: true, Connected: true}}},
	}
	one.StateChanges[manager.StateReady] = 3
	one.Closes[manager.CauseReplaced] = 2
	one.APIVersions = 5
	two := manager.Target{APIVersions: 4, Host: "2001:db8::2", Port: 9092, State: manager.StateReady, Reachable: manager.VerdictGood, References: 2}
	return manager.Snapshot{
		ClusterID:         "MkU3OEVBNTcwNTJENDM2Qk",
		BrokersInMetadata: 2,
		Refresh: manager.Refresh{Last: manager.VerdictGood, LastSuccess: noon, Rounds: 10, SeedAttempts: 1,
			BrokerAttempts: 9, HedgedAttempts: 2, HedgeWins: 1},
		Seeds: []manager.Seed{{Name: "a.test:9092", Target: manager.Target{Reachable: manager.VerdictGood, LastSuccess: noon,
			Attempts: 1, Trace: wire.Trace{Started: noon, Addresses: make([]wire.AddressTrace, 2)}}}},
		Brokers: []manager.Broker{
			{ID: 1, Rack: "r1", InMetadata: true, Fenced: manager.VerdictGood, Accepts: manager.VerdictGood,
				Identity: wire.IdentityVerified, Agrees: manager.VerdictGood, RegistryAgrees: manager.VerdictGood, Reports: 2, Target: one},
			{ID: 2, InMetadata: true, Identity: wire.IdentityUnverified, Agrees: manager.VerdictGood, Reports: 2, Target: two},
		},
	}
}

// failing is a cluster in trouble: broker 1 is gone, broker 2 accepts nobody, broker 3 is somebody else.
func inTrouble() manager.Snapshot {
	failure := func(p wire.Phase, r wire.Reason) *manager.Failure {
		return &manager.Failure{Phase: p, Reason: r, Text: "text", Time: noon}
	}
	gone := manager.Target{
		Host: "b1.test", Port: 9092, State: manager.StateBackoff, Reachable: manager.VerdictBad,
		Failure: failure(wire.PhaseDial, wire.ReasonRefused), ConsecutiveFailures: 7, Backoff: 30 * time.Second, Attempts: 8,
		AuthFailures: 1, LastSuccess: noon,
		Trace: wire.Trace{Started: noon, Addresses: []wire.AddressTrace{
			{Addr: netip.MustParseAddrPort("10.0.0.1:9092"), Tried: true, Err: &wire.Error{Err: errors.New("x")}},
			{Addr: netip.MustParseAddrPort("[2001:db8::1]:9092"), Tried: true, Connected: true},
			{Addr: netip.MustParseAddrPort("10.0.0.1:9092"), Tried: true, Err: &wire.Error{Err: errors.New("x")}},
			{Addr: netip.MustParseAddrPort("10.0.0.3:9092")},
		}},
	}
	gone.PhaseFailures[wire.PhaseDial] = 7
	gone.RequestFailures[wire.ReasonTimeout] = 1
	gone.RequestFailures[wire.ReasonTLSAlert] = 2
	closed := manager.Target{Host: "b2.test", Port: 9092, State: manager.StateReady, Reachable: manager.VerdictGood}
	other := manager.Target{Host: "b3.test", Port: 9092, State: manager.StateBackoff, Reachable: manager.VerdictBad,
		Failure: failure(wire.PhaseIdentity, wire.ReasonMisrouted)}
	s := manager.Snapshot{
		ClusterID:         "c",
		BrokersInMetadata: 2,
		Refresh:           manager.Refresh{Last: manager.VerdictBad, LastSuccess: noon, Rounds: 12, ConsecutiveFailures: 2, Backoff: time.Second, Rebootstraps: 1},
		Seeds: []manager.Seed{
			{Name: "a.test:9092", Target: manager.Target{Reachable: manager.VerdictBad, Attempts: 4,
				Failure: failure(wire.PhaseResolve, wire.ReasonDNSNotFound), Trace: wire.Trace{Started: noon}}},
		},
		Brokers: []manager.Broker{
			{ID: 1, Rack: "\xff", Fenced: manager.VerdictBad, Accepts: manager.VerdictBad,
				AcceptFail: failure(wire.PhaseDial, wire.ReasonTimeout), Agrees: manager.VerdictBad, Reports: 1, Target: gone},
			{ID: 2, InMetadata: true, Accepts: manager.VerdictBad, AcceptFail: failure(wire.PhaseTLS, wire.ReasonCertificateExpired), Target: closed},
			{ID: 3, InMetadata: true, Identity: wire.IdentityWrong, Target: other},
		},
	}
	s.Refresh.Failures[wire.ReasonTimeout] = 2
	s.Refresh.AnswersAnomalous[wire.AnomalyNegativeID] = 3
	s.Brokers[0].APIVersions, s.Brokers[0].RegistryAgrees, s.Brokers[0].Hidden = -1, manager.VerdictBad, true
	s.Refresh.AnswersRejected[wire.ReasonWrongCluster] = 1
	s.Seeds[0].PhaseFailures[wire.PhaseResolve] = 4
	return s
}
