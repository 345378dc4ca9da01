package lab

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

// tansu answers as Tansu 0.6.0 does, which e2e runs where it was built. It reads every newer ApiVersions as version 4: null for the ids that
// version 5 may have looks like the end of the request to it, and what follows is ignored; ids break its connection.
func tansu(b *wiretest.Broker) func(wiretest.Request) (kmsg.Response, error) {
	return func(r wiretest.Request) (kmsg.Response, error) {
		if r.Request.(*kmsg.ApiVersionsRequest).ClusterID != nil {
			return nil, wiretest.ErrHang
		}
		return b.Well(r)
	}
}

// noNewer hangs up on version 5 altogether.
func noNewer(b *wiretest.Broker) func(wiretest.Request) (kmsg.Response, error) {
	return func(r wiretest.Request) (kmsg.Response, error) {
		if r.GetVersion() > 4 {
			return nil, wiretest.ErrHang
		}
		return b.Well(r)
	}
}

// TestCaseC53OtherMakes: brokers that hang up on the newest ApiVersions are asked by the one before, and that shows, also beside one that knows it,
// and whether they did so from the beginning or do so after a restart.
// Done: brokers that hang up on ApiVersions 5, altogether or, as Tansu does, if it names a broker
// Shows: reachable, `broker_api_versions_version` 4; seeds reachable; new connections accepted all the time
func TestCaseC53OtherMakes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wiretest.Modern)
	version := func(id int, want float64) condition { return is(want, ofBroker(id, "api_versions_version")) }
	c.brokers[0].On(kmsg.ApiVersions, tansu(c.brokers[0]))
	c.brokers[1].On(kmsg.ApiVersions, noNewer(c.brokers[1]))
	p := start(t, c.seeds(1, 2), "--handshake.interval=300ms")
	well := all(ready(1, 2, 3), version(1, 4), version(2, 4), version(3, 5), seedWell(c.stands[0].addr, c.stands[1].addr))
	accepting := all(is(1, ofBroker(1, "accepts_connections")), is(1, ofBroker(2, "accepts_connections")))
	p.wait(well, accepting)
	steady := []condition{accepting, version(1, 4), version(2, 4), version(3, 5)} // a handshake is a second connection
	for id := 1; id <= 3; id++ {
		steady = append(steady, is(1, ofBroker(id, "reachable")))
	}
	p.hold(time.Second, steady...)

	c.brokers[2].On(kmsg.ApiVersions, tansu(c.brokers[2]))
	c.stands[2].cut(false)
	p.wait(ready(1, 2, 3), version(3, 4))
}
