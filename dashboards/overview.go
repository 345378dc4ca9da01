package dashboards

//lint:file-ignore SA1019 The newer schema cannot be imported into Grafana 11.

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// verdicts are the values of health.
var verdicts = []word{
	{"0", "cannot be reached", red}, {"1", "accepts no new connections", orange}, {"2", "can be reached", blue},
}

// health is 0, 1 or 2 for each broker, as the exporter that sees it worst says.
func health() string {
	reachable, accepts := chosen("broker_reachable"), chosen("broker_accepts_connections")
	return "min by (kafka_cluster, broker_id) (" + reachable + " + " + reachable + " * " + accepts + " or 2 * " + reachable + ")"
}

// Overview is one screen about all clusters: what cannot be reached, why, and since when.
func Overview() dashboard.Dashboard {
	b := frame(overviewUID, "Kafka connections: overview",
		"Which brokers can be reached from where the exporters run, and why not. Of kafka_connection_exporter.",
		all(choice("broker", "Broker", brokers)))
	var panels []cog.Builder[dashboard.Panel]
	panels = append(panels, overviewNumbers()...)
	panels = append(panels, overviewFailures()...)
	panels = append(panels, overviewRefresh()...)
	return finish(b, panels)
}

func overviewNumbers() []cog.Builder[dashboard.Panel] {
	one := func(title, about, unit string, steps []dashboard.Threshold, queries ...query) panel {
		return panel{title: title, about: about, unit: unit, width: 4, height: 4, steps: steps, queries: queries}
	}
	return []cog.Builder[dashboard.Panel]{
		one("Brokers that can be reached", "From every exporter that watches them.", "short", steps(blue),
			query{"sum by (kafka_cluster) (" + health() + " > bool 0)", "{{kafka_cluster}}"}).number(),
		one("Brokers that cannot", "From at least one exporter.", "short", steps(blue, 1.0, red),
			query{"sum by (kafka_cluster) (" + health() + " == bool 0)", "{{kafka_cluster}}"}).number(),
		one("Brokers known and expected", "All brokers in the metadata, chosen or not, and as configured by --kafka.brokers-expected.", "short", steps(blue),
			query{"max by (kafka_cluster) (" + here("brokers") + ")", "{{kafka_cluster}} known"},
			query{"max by (kafka_cluster) (" + here("brokers_expected") + ")", "{{kafka_cluster}} expected"}).number(),
		one("Last refresh", "Whether the last round of metadata refresh found a broker or a seed that gave a valid list.", "short", steps(red, 1.0, blue),
			query{"min by (kafka_cluster) (" + here("up") + ")", "{{kafka_cluster}}"}).
			number(word{"0", "failed", red}, word{"1", "succeeded", blue}),
		one("Age of the metadata", "Time since a refresh succeeded. It should stay below a few refresh intervals. Nothing if none has succeeded yet.", "s", steps(blue, 120.0, orange, 300.0, red),
			query{"time() - min by (kafka_cluster) (" + here("metadata_last_refresh_success_timestamp_seconds") + " > 0)", "{{kafka_cluster}}"}).number(),
		one("Seeds that cannot be used", "Nothing is broken as long as others can; but applications start more slowly, or not.", "short", steps(blue, 1.0, orange),
			query{"sum by (kafka_cluster) (" + here("seed_reachable") + " == bool 0)", "{{kafka_cluster}}"}).number(),
	}
}

func overviewFailures() []cog.Builder[dashboard.Panel] {
	const on = " * on (kafka_cluster, broker_id, job, instance) group_left (address, rack) "
	return []cog.Builder[dashboard.Panel]{
		panel{title: "Brokers that fail now", unit: "none", width: 14, height: 7,
			about:   "Every broker that cannot be reached or accepts no new connections: how far a client gets and why no further. A click on the reason leads to its runbook, one on the broker to its page.",
			queries: []query{{chosen("broker_failing") + on + chosen("broker_info"), ""}}}.rows(),
		panel{title: "Seeds that fail now", unit: "none", width: 10, height: 7,
			about:   "Every seed whose last attempt failed, where and why.",
			queries: []query{{here("seed_failing"), ""}}}.rows(),
		panel{title: "Brokers that were not well", unit: "short", width: 24, height: 8,
			about:   "Each broker that was not well at some time of the range, as the exporter says that sees it worst. Empty is good. With many brokers, 30 on a page.",
			queries: []query{{health() + " and on (kafka_cluster, broker_id) min_over_time((" + health() + ")[$__range:$__interval] @ end()) < 2", "{{kafka_cluster}} {{broker_id}}"}}}.timeline(verdicts...),
		panel{title: "Brokers by verdict", unit: "short", width: 12, height: 7,
			about: "How many brokers are in which state, as the exporters say that see them worst.",
			queries: []query{
				{"sum by (kafka_cluster) (" + health() + " == bool 2)", "{{kafka_cluster}} can be reached"},
				{"sum by (kafka_cluster) (" + health() + " == bool 1)", "{{kafka_cluster}} accepts no new connections"},
				{"sum by (kafka_cluster) (" + health() + " == bool 0)", "{{kafka_cluster}} cannot be reached"},
			}}.stack(verdicts...),
		panel{title: "Seeds", unit: "short", width: 12, height: 7,
			about:   "Whether each seed could be used when it was last asked, as the exporter says that sees it worst.",
			queries: []query{{"min by (kafka_cluster, seed) (" + here("seed_reachable") + ")", "{{seed}}"}}}.
			timeline(word{"0", "cannot be used", red}, word{"1", "can be used", blue}),
	}
}

func overviewRefresh() []cog.Builder[dashboard.Panel] {
	quantile := func(q, metric string) string {
		return "histogram_quantile(" + q + ", sum by (kafka_cluster, le) (rate(" + here(metric) + "[$__rate_interval])))"
	}
	one := func(title, about, unit string, queries ...query) panel {
		return panel{title: title, about: about, unit: unit, width: 6, height: 7, queries: queries}
	}
	return []cog.Builder[dashboard.Panel]{
		one("Failed rounds by reason", "Rounds of metadata refresh that found nobody, by the reason of the last attempt.", "short",
			query{"sum by (kafka_cluster, reason) (increase(" + here("metadata_refresh_failures_total") + "[$__rate_interval])) > 0", "{{kafka_cluster}} {{reason}}"}).stack(),
		one("Duration of a refresh", "From the first attempt to the applied answer, of rounds that succeeded.", "s",
			query{quantile("0.5", "metadata_refresh_duration_seconds_bucket"), "{{kafka_cluster}} median"},
			query{quantile("0.99", "metadata_refresh_duration_seconds_bucket"), "{{kafka_cluster}} 99 %"}).lines(),
		one("Round trip of checks", "Of the check on the shared connections to all brokers.", "s",
			query{quantile("0.5", "request_duration_seconds_bucket"), "{{kafka_cluster}} median"},
			query{quantile("0.99", "request_duration_seconds_bucket"), "{{kafka_cluster}} 99 %"}).lines(),
		one("Ended connections by cause", "idle, replaced, reauthentication and shutdown are our own doing; remote and error are not.", "short",
			query{"sum by (kafka_cluster, cause) (increase(" + chosen("broker_connection_closes_total") + "[$__rate_interval]))", "{{kafka_cluster}} {{cause}}"}).stack(),
		panel{title: "All brokers", unit: "short", width: 24, height: 12,
			about:   "Every broker, as the exporter says that sees it worst; 30 on a page.",
			queries: []query{{health(), "{{kafka_cluster}} {{broker_id}}"}}}.timeline(verdicts...),
	}
}
