package collector

import (
	"slices"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

// table is every family that is made from a snapshot. METRICS.md says the same for people; a test compares the two.
var table = slices.Concat(clusterTable, brokerTable)

// clusterTable is the families about the cluster as a whole, the refresh of its metadata and the seeds.
var clusterTable = []family{
	{"up", gauge, nil, "Whether the last finished round of metadata refresh succeeded.",
		func(v *view, out sink) { verdict(v.Refresh.Last, out) }},
	{"cluster_info", gauge, []string{"cluster_id"}, "The id of the cluster, as configured or as first seen.",
		func(v *view, out sink) {
			if v.ClusterID != "" {
				out.put(1, v.ClusterID)
			}
		}},
	{"brokers", gauge, nil, "Brokers in the last good metadata.",
		cluster(func(v *view) float64 { return float64(v.BrokersInMetadata) })},
	{"brokers_expected", gauge, nil, "Brokers that the cluster should have, as configured.",
		func(v *view, out sink) {
			if v.options.BrokersExpected > 0 {
				out.put(float64(v.options.BrokersExpected))
			}
		}},
	{"tls_file_load_errors_total", counter, []string{"file"}, "TLS files that could not be used when a connection wanted to read them; what was loaded before stayed in use.",
		func(v *view, out sink) {
			if v.options.FileErrors != nil {
				for i, n := range v.options.FileErrors() {
					out.put(n, [...]string{"ca", "cert", "key"}[i])
				}
			}
		}},

	{"metadata_refreshes_total", counter, nil, "Finished rounds of metadata refresh, good or bad.",
		cluster(func(v *view) float64 { return float64(v.Refresh.Rounds) })},
	{"metadata_refresh_failures_total", counter, []string{"reason"}, "Failed rounds of metadata refresh by the reason of their last attempt.",
		perReason(func(v *view) []uint64 { return v.Refresh.Failures[:] })},
	{"metadata_last_refresh_success_timestamp_seconds", gauge, nil, "When a round last succeeded, 0 if none did.",
		cluster(func(v *view) float64 { return timestamp(v.Refresh.LastSuccess) })},
	{"metadata_refresh_consecutive_failures", gauge, nil, "Rounds that have failed since one succeeded.",
		cluster(func(v *view) float64 { return float64(v.Refresh.ConsecutiveFailures) })},
	{"metadata_refresh_backoff_seconds", gauge, nil, "Wait before the next round after failed ones, 0 otherwise.",
		cluster(func(v *view) float64 { return v.Refresh.Backoff.Seconds() })},
	{"metadata_attempts_total", counter, []string{"source"}, "Requests for metadata that rounds have tried, by whom they asked.",
		func(v *view, out sink) {
			out.put(float64(v.Refresh.SeedAttempts), "seed")
			out.put(float64(v.Refresh.BrokerAttempts), "broker")
		}},
	{"metadata_hedged_attempts_total", counter, nil, "Requests for metadata that were started because others had not been answered within the hedge delay.",
		cluster(func(v *view) float64 { return float64(v.Refresh.HedgedAttempts) })},
	{"metadata_hedge_wins_total", counter, nil, "Rounds that such a later request has won.",
		cluster(func(v *view) float64 { return float64(v.Refresh.HedgeWins) })},
	{"metadata_answers_rejected_total", counter, []string{"reason"}, "Metadata that was received and not believed.",
		perReason(func(v *view) []uint64 { return v.Refresh.AnswersRejected[:] })},
	{"metadata_answers_anomalous_total", counter, []string{"kind"}, "Metadata that named a broker twice, with a negative id, or more brokers than any cluster has; the rest of it counted.",
		func(v *view, out sink) {
			for kind, n := range v.Refresh.AnswersAnomalous {
				out.put(float64(n), wire.Anomaly(kind).String())
			}
		}},
	{"rebootstraps_total", counter, nil, "Rounds that went back to the seeds when no known broker was left to ask.",
		cluster(func(v *view) float64 { return float64(v.Refresh.Rebootstraps) })},

	{"seeds", gauge, nil, "Configured seeds.",
		cluster(func(v *view) float64 { return float64(len(v.Seeds)) })},
	{"seed_reachable", gauge, []string{"seed"}, "Whether the last finished attempt or check of the seed succeeded.",
		seeds(func(s *manager.Seed, out sink) { verdict(s.Reachable, out, s.Name) })},
	{"seed_failing", gauge, []string{"seed", "phase", "reason"}, "1 while the last attempt of the seed failed: where, and why.",
		seeds(func(s *manager.Seed, out sink) {
			if s.Reachable == manager.VerdictBad && s.Failure != nil {
				out.put(1, s.Name, s.Failure.Phase.String(), s.Failure.Reason.String())
			}
		})},
	{"seed_connection_attempts_total", counter, []string{"seed"}, "Connection attempts to the seed.",
		perSeed(func(s *manager.Seed) float64 { return float64(s.Attempts) })},
	{"seed_connection_failures_total", counter, []string{"seed", "phase"}, "Failed connection attempts to the seed by the phase they failed in.",
		seeds(func(s *manager.Seed, out sink) {
			for i, n := range s.PhaseFailures {
				out.put(float64(n), s.Name, phases[i])
			}
		})},
	{"seed_resolved_addresses", gauge, []string{"seed"}, "Addresses that the seed's name had in the last attempt.",
		seeds(func(s *manager.Seed, out sink) {
			if !s.Trace.Started.IsZero() {
				out.put(float64(len(s.Trace.Addresses)), s.Name)
			}
		})},
	{"seed_last_success_timestamp_seconds", gauge, []string{"seed"}, "When a check of the seed last succeeded, 0 if none did.",
		perSeed(func(s *manager.Seed) float64 { return timestamp(s.LastSuccess) })},
}
