//go:build e2e

package e2e

import (
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
)

// TestCaseC03AdvertisedAddress: the way in works and the address that broker 2 advertises does not: the seed is reachable, the broker is not, side
// by side, while the broker itself is in perfect health.
// Done: a broker advertises a name that does not resolve, or a closed port
// Shows: the seed reachable, the broker with `resolve` `dns_not_found` or `dial` `refused`
func TestCaseC03AdvertisedAddress(t *testing.T) {
	t.Parallel()
	cases := []struct {
		listener string
		phase    string
		reasons  []string
	}{
		{badName, "resolve", []string{"dns_not_found", "dns_failure"}},
		{badPort, "dial", []string{"refused"}},
	}
	for _, tc := range cases {
		t.Run(tc.listener, func(t *testing.T) {
			c := unbroken(t, cluster.V44)
			bad := c.Broker(2)
			e := exporter.Start(t, flags(c.Addrs(tc.listener), "--seed.check-interval=1s")...)
			side := all(
				value(1, "up"),
				value(1, "seed_reachable", "seed", bad.Addr(tc.listener)),
				absent("seed_failing"),
				failing(2, tc.reasons, tc.phase),
				brokerIs(1, "broker_in_metadata", 2),
				value(1, "broker_info", "broker_id", "2", "address", bad.Advertised(tc.listener)),
				ready(1, 3),
			)
			e.WaitFor(settleTimeout, side)
			e.Hold(3*time.Second, side)
			bad.AwaitNamed(t, noticeTimeout, c.IDs()...)
		})
	}
}
