// Package e2e holds the scenarios that run the real exporter binary against real Apache Kafka.
//
// They are built with the tag e2e. A scenario whose tools are missing is left out (package need); make test is the usual way to run them.
//
//	go test -tags e2e -race -count=1 -timeout=15m ./e2e/...
//
// Every scenario asserts on /metrics of the binary and on nothing inside it. What the cluster itself says comes from
// franz-go's kadm, and sockets are counted in /proc.
//
// Scenarios run side by side, each with an exporter of its own. One that breaks brokers has a cluster for itself (shared) and leaves it as
// broken as it likes, the next one heals it. One that breaks none gets the secured cluster of a version (beside, unbroken), which has every
// kind of listener; what such a scenario changes is on a listener or with a user of its own.
//
// A machine with too much to do must fail none of them: every look at something that settles is a wait, deadlines are far beyond what is
// usual, and the exporter's own time-outs are short (impatient) only where a scenario is about silence.
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
