package wire

import (
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// View is what one broker says about the cluster.
type View struct {
	ClusterID   string // empty where the broker is too old to tell (before 0.10.1)
	Brokers     []BrokerInfo
	KnowsFenced bool          // the list holds fenced brokers too, and marks them (KIP-1073)
	Throttle    time.Duration // how long the broker asks us to wait before the next request
}

// BrokerInfo is one broker as the cluster advertises it for the listener that was asked.
type BrokerInfo struct {
	ID     int32
	Host   string
	Port   int
	Rack   string
	Fenced bool
}

// Describe asks for the brokers of the cluster, and for nothing else, so that the cost does not grow with its topics:
// DescribeCluster where it can name fenced brokers (version 2, Kafka 4), else Metadata with an empty list of topics. An
// answer without any broker is ReasonEmptyMetadata.
func (c *Conn) Describe(ctx context.Context) (View, error) {
	view, err := c.describe(ctx)
	if err != nil {
		return View{}, AsError(PhaseRequest, err)
	}
	if len(view.Brokers) == 0 {
		return View{}, AsError(PhaseRequest, because(ReasonEmptyMetadata, "the answer names no broker; a broker that just starts does so"))
	}
	if err := view.sanitize(); err != nil {
		return View{}, AsError(PhaseRequest, err)
	}
	return view, nil
}

// sanitize makes an answer fit for labels and for being keyed by id: text is made valid UTF-8, and ids that no broker can
// have, or that occur twice, break the protocol.
func (v *View) sanitize() error {
	v.ClusterID = validUTF8(v.ClusterID)
	seen := make(map[int32]bool, len(v.Brokers))
	for i := range v.Brokers {
		b := &v.Brokers[i]
		if b.ID < 0 || seen[b.ID] {
			return because(ReasonProtocol, "the answer names broker %d, twice or although ids are not negative", b.ID)
		}
		seen[b.ID] = true
		b.Host, b.Rack = validUTF8(b.Host), validUTF8(b.Rack)
	}
	return nil
}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (c *Conn) describe(ctx context.Context) (View, error) {
	if c.versions.offers(kmsg.DescribeCluster.Int16(), 2) {
		view, code, err := c.describeCluster(ctx)
		if err != nil || code == 0 {
			return view, err
		}
		// Some authorizers forbid DescribeCluster to principals that may ask for Metadata.
	}
	return c.metadata(ctx)
}

func (c *Conn) describeCluster(ctx context.Context) (View, int16, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = true
	if err := c.versions.negotiate(req); err != nil {
		return View{}, 0, err
	}
	answer, err := c.roundTrip(ctx, req)
	if err != nil {
		return View{}, 0, err
	}
	resp := answer.(*kmsg.DescribeClusterResponse)
	view := View{ClusterID: resp.ClusterID, KnowsFenced: true, Throttle: milliseconds(resp.ThrottleMillis)}
	for _, b := range resp.Brokers {
		view.Brokers = append(view.Brokers, BrokerInfo{b.NodeID, b.Host, int(b.Port), deref(b.Rack), b.IsFenced})
	}
	return view, resp.ErrorCode, nil
}

func (c *Conn) metadata(ctx context.Context) (View, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none; nil would mean all. Version 0 cannot say none and answers with all.
	if err := c.versions.negotiate(req); err != nil {
		return View{}, err
	}
	answer, err := c.roundTrip(ctx, req)
	if err != nil {
		return View{}, err
	}
	resp := answer.(*kmsg.MetadataResponse)
	if resp.ErrorCode != 0 {
		return View{}, kafkaError("Metadata", resp.ErrorCode, nil)
	}
	view := View{ClusterID: deref(resp.ClusterID), Throttle: milliseconds(resp.ThrottleMillis)}
	for _, b := range resp.Brokers {
		view.Brokers = append(view.Brokers, BrokerInfo{ID: b.NodeID, Host: b.Host, Port: int(b.Port), Rack: deref(b.Rack)})
	}
	return view, nil
}

// Leader asks which broker leads a partition. No leader is ReasonKafkaError with LEADER_NOT_AVAILABLE.
func (c *Conn) Leader(ctx context.Context, topic string, partition int32) (int32, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(topic)}}
	req.AllowAutoTopicCreation = false
	answer, err := c.Request(ctx, req)
	if err != nil {
		return -1, err
	}
	for _, t := range answer.(*kmsg.MetadataResponse).Topics {
		if t.ErrorCode != 0 {
			return -1, AsError(PhaseRequest, kafkaError("Metadata for topic "+topic, t.ErrorCode, nil))
		}
		for _, p := range t.Partitions {
			if p.Partition == partition && p.ErrorCode == 0 && p.Leader >= 0 {
				return p.Leader, nil
			}
			if p.Partition == partition {
				return -1, AsError(PhaseRequest, kafkaError("Metadata for topic "+topic, kerr.LeaderNotAvailable.Code, nil))
			}
		}
	}
	return -1, AsError(PhaseRequest, kafkaError("Metadata for topic "+topic, kerr.UnknownTopicOrPartition.Code, nil))
}

func milliseconds(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
