package collector

import (
	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

// brokerTable is the families with one or more series for each broker.
var brokerTable = []family{
	{"broker_info", gauge, []string{"broker_id", "address", "rack"}, "The address that the broker advertises, and its rack.",
		brokers(func(id string, b *manager.Broker, out sink) { out.put(1, id, advertised(b), b.Rack) })},
	{"broker_reachable", gauge, []string{"broker_id"}, "Whether the last finished check of the broker succeeded.",
		brokers(func(id string, b *manager.Broker, out sink) { verdict(b.Reachable, out, id) })},
	{"broker_accepts_connections", gauge, []string{"broker_id"}, "Whether the last finished fresh handshake with the broker succeeded.",
		brokers(func(id string, b *manager.Broker, out sink) { verdict(b.Accepts, out, id) })},
	{"broker_failing", gauge, []string{"broker_id", "phase", "reason"}, "1 while the broker cannot be reached or accepts no connections: where, and why.",
		brokers(func(id string, b *manager.Broker, out sink) {
			if f := failing(b); f != nil {
				out.put(1, id, f.Phase.String(), f.Reason.String())
			}
		})},
	{"broker_in_metadata", gauge, []string{"broker_id"}, "Whether the last good metadata named the broker.",
		perBroker(func(b *manager.Broker) float64 { return boolean(b.InMetadata) })},
	{"broker_fenced", gauge, []string{"broker_id"}, "Whether the cluster has fenced the broker; absent where it cannot tell.",
		brokers(func(id string, b *manager.Broker, out sink) {
			if b.Fenced != manager.VerdictUnknown {
				out.put(boolean(b.Fenced == manager.VerdictBad), id)
			}
		})},
	{"broker_identity", gauge, []string{"broker_id", "status"}, "Whether who answers at the address is this broker.",
		brokers(func(id string, b *manager.Broker, out sink) {
			if b.Identity == wire.IdentityUnknown {
				return
			}
			for i, status := range identities {
				out.put(boolean(int(b.Identity) == i+1), id, status)
			}
		})},
	{"broker_metadata_brokers", gauge, []string{"broker_id"}, "Brokers that the broker itself last named.",
		brokers(func(id string, b *manager.Broker, out sink) {
			if b.Reports > 0 {
				out.put(float64(b.Reports), id)
			}
		})},
	{"broker_metadata_agrees", gauge, []string{"broker_id"}, "Whether the broker names the same brokers as the majority does; 0 for all where there is none.",
		brokers(func(id string, b *manager.Broker, out sink) { verdict(b.Agrees, out, id) })},
	{"broker_describe_cluster_agrees", gauge, []string{"broker_id"}, "Whether DescribeCluster names the broker at the address that Metadata does, which is the one that clients dial; absent where it cannot be asked.",
		brokers(func(id string, b *manager.Broker, out sink) { verdict(b.RegistryAgrees, out, id) })},
	{"broker_api_versions_version", gauge, []string{"broker_id"}, "Version of ApiVersions that the broker has answered in; where it hangs up on newer ones, clients that begin with them fail.",
		brokers(func(id string, b *manager.Broker, out sink) {
			if b.APIVersions >= 0 {
				out.put(float64(b.APIVersions), id)
			}
		})},
	{"broker_address_info", gauge, []string{"broker_id", "address", "verdict"}, "How dialing each address of the broker's name went in the last attempt, if the name has several.",
		brokers(addresses)},

	{"broker_connection_state", gauge, []string{"broker_id", "state"}, "The state of the shared connection to the broker.",
		perBrokerSet(states, func(b *manager.Broker, i int) float64 { return boolean(int(b.State) == i) })},
	{"broker_connection_state_changes_total", counter, []string{"broker_id", "state"}, "How often the shared connection has entered the state.",
		perBrokerSet(states, func(b *manager.Broker, i int) float64 { return float64(b.StateChanges[i]) })},
	{"broker_references", gauge, []string{"broker_id"}, "Holders of the shared connection to the broker.",
		perBroker(func(b *manager.Broker) float64 { return float64(b.References) })},
	{"broker_open_connections", gauge, []string{"broker_id"}, "Sockets that are open to the broker.",
		perBroker(func(b *manager.Broker) float64 { return float64(b.OpenConnections) })},
	{"broker_connection_attempts_total", counter, []string{"broker_id"}, "Connection attempts to the broker.",
		perBroker(func(b *manager.Broker) float64 { return float64(b.Attempts) })},
	{"broker_connection_failures_total", counter, []string{"broker_id", "phase"}, "Failed connection attempts to the broker by the phase they failed in; request is an open connection that stopped answering.",
		perBrokerSet(phases, func(b *manager.Broker, i int) float64 { return float64(b.PhaseFailures[i]) })},
	{"broker_connection_closes_total", counter, []string{"broker_id", "cause"}, "Connections to the broker that have ended, by cause.",
		perBrokerSet(causes, func(b *manager.Broker, i int) float64 { return float64(b.Closes[i]) })},
	{"broker_connect_duration_seconds", summary, []string{"broker_id"}, "Time from the start of an attempt, or of a fresh handshake, to a usable connection.",
		brokers(func(id string, b *manager.Broker, out sink) { out.putSum(b.Connects, id) })},
	{"broker_request_duration_seconds", summary, []string{"broker_id"}, "Round trip of the checks of the broker.",
		brokers(func(id string, b *manager.Broker, out sink) { out.putSum(b.RoundTrips, id) })},
	{"broker_requests_total", counter, []string{"broker_id"}, "Checks that were sent to the broker.",
		perBroker(func(b *manager.Broker) float64 { return float64(b.Requests) })},
	{"broker_request_failures_total", counter, []string{"broker_id", "reason"}, "Checks of the broker that have failed.",
		brokers(func(id string, b *manager.Broker, out sink) {
			for i, n := range b.RequestFailures {
				if n > 0 || requestReasons[wire.Reason(i)] {
					out.put(float64(n), id, reasons[i])
				}
			}
		})},
	{"broker_consecutive_failures", gauge, []string{"broker_id"}, "Attempts and checks that have failed since one succeeded.",
		perBroker(func(b *manager.Broker) float64 { return float64(b.ConsecutiveFailures) })},
	{"broker_backoff_seconds", gauge, []string{"broker_id"}, "Wait before the next attempt after a failed one, 0 otherwise.",
		perBroker(func(b *manager.Broker) float64 { return b.Backoff.Seconds() })},
	{"broker_last_success_timestamp_seconds", gauge, []string{"broker_id"}, "When a check of the broker last succeeded, 0 if none did.",
		perBroker(func(b *manager.Broker) float64 { return timestamp(b.LastSuccess) })},
	{"broker_authentication_failures_total", counter, []string{"broker_id"}, "Times the broker has rejected the credentials.",
		perBroker(func(b *manager.Broker) float64 { return float64(b.AuthFailures) })},
	{"broker_certificate_expiry_timestamp_seconds", gauge, []string{"broker_id"}, "When the first certificate of the chain that the broker presented ends.",
		brokers(func(id string, b *manager.Broker, out sink) {
			if b.TLS != nil && !b.TLS.NotAfter.IsZero() {
				out.put(timestamp(b.TLS.NotAfter), id)
			}
		})},
	{"broker_tls_info", gauge, []string{"broker_id", "version", "cipher"}, "What the last TLS handshake with the broker agreed on.",
		brokers(func(id string, b *manager.Broker, out sink) {
			if b.TLS != nil && b.TLS.Version != "" {
				out.put(1, id, b.TLS.Version, b.TLS.Cipher)
			}
		})},
	{"broker_throttle_seconds_total", counter, []string{"broker_id"}, "Time that the broker has asked us to wait.",
		perBroker(func(b *manager.Broker) float64 { return b.Throttled.Seconds() })},
}

// addresses leaves out a second answer with the same address, which would be a duplicate series.
func addresses(id string, b *manager.Broker, out sink) {
	all := b.Trace.Addresses
	if len(all) < 2 {
		return
	}
	seen := make(map[string]bool, len(all))
	for i := range all {
		if text := all[i].Addr.String(); !seen[text] {
			seen[text] = true
			out.put(1, id, text, addressVerdict(&all[i]))
		}
	}
}
