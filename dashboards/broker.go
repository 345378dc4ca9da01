package dashboards

//lint:file-ignore SA1019 The newer schema cannot be imported into Grafana 11.

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// seen is the legend of a series of one broker, as one exporter sees it.
const seen = "{{broker_id}} from {{instance}}"

var yesNo = []word{{"0", "no", red}, {"1", "yes", blue}}

// Broker is about one broker, or some, never all, so that it is as readable with 300 as with 3: how far a client gets, how long each step takes, what ends its connections.
func Broker() dashboard.Dashboard {
	b := frame(brokerUID, "Kafka connections: broker",
		"The connections to one broker, or to some: verdicts, states, durations and failures. Of kafka_connection_exporter.",
		choice("broker", "Broker", brokers))
	var panels []cog.Builder[dashboard.Panel]
	panels = append(panels, brokerNumbers()...)
	panels = append(panels, brokerStates()...)
	panels = append(panels, brokerDurations()...)
	panels = append(panels, brokerFailures()...)
	panels = append(panels, brokerSecurity()...)
	return finish(b, panels)
}

func brokerNumbers() []cog.Builder[dashboard.Panel] {
	worst := func(title, about string, expr string) panel {
		return panel{title: title, about: about, unit: "short", width: 4, height: 4, steps: steps(red, 1.0, blue),
			queries: []query{{expr, "{{kafka_cluster}} {{broker_id}}"}}}
	}
	least := func(metric string) string { return "min by (kafka_cluster, broker_id) (" + chosen(metric) + ")" }
	return []cog.Builder[dashboard.Panel]{
		worst("Can be reached", "The last check on the shared connection, as the exporter says that sees it worst.", least("broker_reachable")).number(yesNo...),
		worst("Accepts connections", "The last fresh connection through all phases.", least("broker_accepts_connections")).number(yesNo...),
		worst("In the metadata", "Whether the cluster names the broker to clients.", least("broker_in_metadata")).number(yesNo...),
		agreement(worst("Agrees", "Whether it names the same brokers as the majority, and whether DescribeCluster names it where Metadata does: no is a gateway in between.",
			least("broker_metadata_agrees")), least("broker_describe_cluster_agrees")),
		panel{title: "Certificate ends in", about: "The first of the presented chain. Nothing without TLS.", unit: "s", width: 4, height: 4,
			steps:   steps(red, 3*86400.0, orange, 14*86400.0, blue),
			queries: []query{{"min by (kafka_cluster, broker_id) (" + chosen("broker_certificate_expiry_timestamp_seconds") + ") - time()", "{{kafka_cluster}} {{broker_id}}"}}}.number(),
		panel{title: "Last good answer", about: "Time since a check was answered well.", unit: "s", width: 4, height: 4,
			steps:   steps(blue, 30.0, orange, 60.0, red),
			queries: []query{{"time() - min by (kafka_cluster, broker_id) (" + chosen("broker_last_success_timestamp_seconds") + ")", "{{kafka_cluster}} {{broker_id}}"}}}.number(),
	}
}

// agreement adds a line about DescribeCluster.
func agreement(p panel, expr string) cog.Builder[dashboard.Panel] {
	p.queries = append(p.queries, query{expr, "{{kafka_cluster}} {{broker_id}} DescribeCluster"})
	return p.number(yesNo...)
}

func brokerStates() []cog.Builder[dashboard.Panel] {
	state := func(name, number string) string {
		return "(" + chosen("broker_connection_state", `state="`+name+`"`) + " == 1) * " + number
	}
	states := "max by (kafka_cluster, broker_id, instance) (" + state("idle", "0") + " or " + state("connecting", "1") + " or " +
		state("ready", "2") + " or " + state("backoff", "3") + " or " + state("closed", "4") + ")"
	return []cog.Builder[dashboard.Panel]{
		panel{title: "What is wrong", unit: "none", width: 12, height: 5,
			about:   "How far a client gets and why no further. A click on the reason leads to its runbook.",
			queries: []query{{chosen("broker_failing"), ""}}}.rows(),
		panel{title: "Who it is", unit: "none", width: 12, height: 5,
			about:   "The address that the broker advertises, and its rack.",
			queries: []query{{chosen("broker_info"), ""}}}.rows(),
		panel{title: "Verdicts", unit: "short", width: 12, height: 7,
			about: "What the checks and the fresh connections found, and whether the cluster names the broker.",
			queries: []query{
				{chosen("broker_reachable"), "reachable " + seen},
				{chosen("broker_accepts_connections"), "accepts " + seen},
				{chosen("broker_in_metadata"), "in metadata " + seen},
			}}.timeline(yesNo...),
		panel{title: "State of the shared connection", unit: "short", width: 12, height: 7,
			about:   "idle: nobody needs it. connecting: on its way. ready: usable. backoff: waits before the next attempt. closed: the exporter ended.",
			queries: []query{{states, seen}}}.
			timeline(word{"0", "idle", grey}, word{"1", "connecting", orange}, word{"2", "ready", blue}, word{"3", "backoff", red}, word{"4", "closed", "#000000"}),
	}
}

func third(title, about, unit string, queries ...query) panel {
	return panel{title: title, about: about, unit: unit, width: 8, height: 7, queries: queries}
}

func brokerDurations() []cog.Builder[dashboard.Panel] {
	mean := func(metric, over string) string {
		sum, count := chosen(metric+"_sum"), chosen(metric+"_count")
		return "increase(" + sum + over + ") / (increase(" + count + over + ") > 0)"
	}
	return []cog.Builder[dashboard.Panel]{
		third("Round trip of checks", "The mean for each broker.", "s",
			query{mean("broker_request_duration_seconds", "[$__rate_interval]"), seen}).lines(),
		third("Round trip, 99 %", "Needs --collector.broker-histograms.", "s",
			query{"histogram_quantile(0.99, sum by (kafka_cluster, broker_id, instance, le) (rate(" + chosen("broker_request_latency_seconds_bucket") + "[$__rate_interval])))", seen}).lines(),
		third("Time to connect", "Through all phases: the mean of the connections and fresh handshakes of 15 minutes.", "s",
			query{mean("broker_connect_duration_seconds", "[15m]"), seen}).lines(),
		third("Duration of phases, 99 %", "Of all brokers and seeds together: which step is slow.", "s",
			query{"histogram_quantile(0.99, sum by (phase, le) (rate(" + here("phase_duration_seconds_bucket") + "[15m])))", "{{phase}}"}).lines(),
		third("Throttling", "Seconds in each second that the broker asks us to wait.", "percentunit",
			query{"rate(" + chosen("broker_throttle_seconds_total") + "[$__rate_interval])", seen}).lines(),
		third("Brokers that it names", "A broker that names fewer than the others has an old view.", "short",
			query{chosen("broker_metadata_brokers"), seen}).lines(),
	}
}

func brokerFailures() []cog.Builder[dashboard.Panel] {
	grown := func(by, metric string) string {
		return "sum by (" + by + ") (increase(" + chosen(metric) + "[$__rate_interval]))"
	}
	return []cog.Builder[dashboard.Panel]{
		third("Ended connections by cause", "idle, replaced, reauthentication and shutdown are our own doing; remote and error are not.", "short",
			query{grown("cause", "broker_connection_closes_total"), "{{cause}}"}).stack(),
		third("Failed attempts by phase", "Attempts to connect that failed, by how far they got; request is an open connection that stopped answering.", "short",
			query{grown("phase", "broker_connection_failures_total"), "{{phase}}"}).stack(),
		third("Failed checks by reason", "Checks on a usable connection that failed.", "short",
			query{grown("reason", "broker_request_failures_total"), "{{reason}}"}).stack(),
		third("Failures in a row", "Attempts and checks that have failed since one succeeded.", "short",
			query{chosen("broker_consecutive_failures"), seen}).lines(),
		third("Wait before the next attempt", "After failures, up to --backoff.max.", "s",
			query{chosen("broker_backoff_seconds"), seen}).lines(),
		third("Changes of state", "How often the shared connection has entered each state.", "short",
			query{grown("state", "broker_connection_state_changes_total"), "{{state}}"}).stack(),
		third("References and sockets", "Holders of the shared connection, and open sockets: at rest one of each, and for a moment two.", "short",
			query{chosen("broker_references"), "references " + seen},
			query{chosen("broker_open_connections"), "sockets " + seen}).lines(),
		third("Attempts and checks", "Connection attempts, fresh handshakes among them, and checks, in a minute.", "short",
			query{"60 * rate(" + chosen("broker_connection_attempts_total") + "[$__rate_interval])", "attempts " + seen},
			query{"60 * rate(" + chosen("broker_requests_total") + "[$__rate_interval])", "checks " + seen}).lines(),
		third("Rejected credentials", "Times that the broker itself has rejected them. The exporter then holds its attempts back.", "short",
			query{"increase(" + chosen("broker_authentication_failures_total") + "[$__rate_interval])", seen}).lines(),
	}
}

func brokerSecurity() []cog.Builder[dashboard.Panel] {
	return []cog.Builder[dashboard.Panel]{
		panel{title: "TLS", unit: "none", width: 8, height: 6, about: "What the last handshake agreed on. Nothing without TLS.",
			queries: []query{{chosen("broker_tls_info"), ""}}}.rows(),
		panel{title: "Identity", unit: "none", width: 8, height: 6,
			about:   "verified: who answers has proved to be this broker. unverified: nobody said otherwise. wrong: it is somebody else.",
			queries: []query{{chosen("broker_identity") + " == 1", ""}}}.rows(),
		panel{title: "Addresses of its name", unit: "none", width: 8, height: 6, about: "How dialing each address went in the last attempt, if the name has several.",
			queries: []query{{chosen("broker_address_info"), ""}}}.rows(),
	}
}
