//go:build e2e

package e2e

import (
	"testing"

	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/kcat"
	"kafka_connection_exporter/e2e/need"
)

// TestCaseC51MockCluster: librdkafka's mock cluster, whose answer to a newer ApiVersions has error 35 and a body of no version, is reached like
// any other.
// Done: the mock cluster of a kcat with three brokers; then kcat is killed
// Shows: all reachable, `broker_api_versions_version` 0; then `dial` `refused`
func TestCaseC51MockCluster(t *testing.T) {
	need.Tool(t, "kcat")
	mock := kcat.StartMock(t, 3)
	named := byID(mock.Addrs)
	listed(t, mock.Addrs[:1], named)
	answering(t, named, []int{1, 2, 3})
	e := exporter.Start(t, flags(mock.Addrs[:1])...)
	whole := all(exactly(named), ready(1, 2, 3), value(1, "up"), brokerIs(0, "broker_api_versions_version", 1, 2, 3),
		absent("broker_describe_cluster_agrees"))
	e.WaitFor(settleTimeout, whole)
	e.Hold(refreshInterval, whole)

	mock.Kill(t)
	kcat.AwaitSilence(t, settleTimeout, mock.Addrs[0])
	e.WaitFor(settleTimeout, each([]int{1, 2, 3}, func(id int) condition { return failing(id, []string{"refused"}, "dial") }))
}
