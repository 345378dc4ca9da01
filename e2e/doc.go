// Package e2e holds the scenarios that run the real exporter binary against real Apache Kafka.
//
// They are built with the tag e2e and need java 17, Maven and gcc (for the race detector):
//
//	go test -tags e2e -race -count=1 -timeout=15m ./e2e/...
//
// Every scenario asserts on /metrics of the binary and on nothing inside it. What the cluster itself says comes from
// franz-go's kadm, and sockets are counted in /proc.
//
// Clusters are shared between scenarios, one per version; a scenario leaves its cluster as broken as it likes, the next one heals it first.
// Another one per version, securedCluster, has every kind of listener. Scenarios that take their time with it run in parallel, after all
// others; they stop no broker, and what they change is on a listener or with a user of their own.
//
// The tests in the files strangers*_test.go have parts of others beside Kafka: HAProxy, nginx, librdkafka's mock cluster, and Tansu where
// "make tansu" has built it or -tansu PATH names it. What they need and a machine has not is left out.
//
// Environment:
//
//	KAFKA_E2E_CACHE     folder of the Kafka jars, default <repository>/.cache/kafka
//	KAFKA_E2E_EXPORTER  exporter binary to test, default: built with -race from the repository
//	KAFKA_E2E_KEEP      keep the logs of a run that passed, too
package e2e
