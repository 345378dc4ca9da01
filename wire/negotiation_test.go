package wire_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// TestCaseC24Negotiation: any broker whose versions overlap with ours is usable, and is asked in the highest common one.
// Done: brokers with the versions of six releases, from the oldest Metadata to those to come
// Shows: a view of the cluster from each, asked in the highest common version
func TestCaseC24Negotiation(t *testing.T) {
	for _, c := range []struct {
		name     string
		versions wiretest.Versions
		asked    map[kmsg.Key]int16 // highest version that reached the broker
		registry bool
		identity wire.Identity
	}{
		{"oldest Metadata", wiretest.Versions{3: {0, 1}, 18: {0, 0}}, map[kmsg.Key]int16{kmsg.Metadata: 1}, false, wire.IdentityUnverified},
		{"before KIP-511", wiretest.Old, map[kmsg.Key]int16{kmsg.Metadata: 8}, false, wire.IdentityVerified},
		{"only newer Metadata", wiretest.Versions{3: {4, 13}, 18: {0, 4}}, map[kmsg.Key]int16{kmsg.Metadata: 13}, false, wire.IdentityUnverified},
		{"Kafka 3.9", wiretest.Common, map[kmsg.Key]int16{kmsg.Metadata: 12, kmsg.DescribeCluster: 1, kmsg.ApiVersions: 4}, true, wire.IdentityVerified},
		{"Kafka 4.4", wiretest.Modern, map[kmsg.Key]int16{kmsg.Metadata: 13, kmsg.DescribeCluster: 2, kmsg.ApiVersions: 5}, true, wire.IdentityVerified},
		{"a later one", wiretest.Versions{3: {5, 99}, 18: {0, 99}, 60: {0, 99}}, map[kmsg.Key]int16{kmsg.Metadata: 13, kmsg.DescribeCluster: 2, kmsg.ApiVersions: 5}, true, wire.IdentityVerified},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			b := s.broker(c.versions)
			asked := make(map[kmsg.Key]int16)
			for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.DescribeCluster} {
				b.On(key, func(r wiretest.Request) (kmsg.Response, error) {
					asked[key] = r.GetVersion()
					if m, ok := r.Request.(*kmsg.MetadataRequest); ok && m.Version > 0 && (m.Topics == nil || len(m.Topics) > 0) {
						t.Errorf("Metadata version %d asks for topics: %v", m.Version, m.Topics)
					}
					return b.Well(r)
				})
			}
			s.listen(b.Serve)
			conn := s.dial()
			view, err := conn.Describe(t.Context(), nil)
			if registry, err := conn.Registry(t.Context()); (err == nil) != c.registry || registry.KnowsFenced != (asked[kmsg.DescribeCluster] >= 2) {
				t.Errorf("DescribeCluster: %+v, %v", registry, err)
			}
			if err != nil || len(view.Brokers) != 1 || conn.Identity != c.identity {
				t.Errorf("view %+v, identity %d, %v", view, conn.Identity, err)
			}
			if _, listed := c.asked[kmsg.ApiVersions]; listed {
				asked[kmsg.ApiVersions] = conn.APIVersions
			}
			for key, version := range c.asked {
				if asked[key] != version {
					t.Errorf("%s was asked in version %d, want %d", key.Name(), asked[key], version)
				}
			}
		})
	}
}
