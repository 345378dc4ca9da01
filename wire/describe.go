package wire

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// View is what one broker says about the cluster: what every client hears and dials.
type View struct {
	ClusterID string        // empty where the broker is too old to tell (before 0.10.1)
	Brokers   []BrokerInfo  // each id once; shared with other views, so to be read only
	Anomalies Anomalies     // what the answer held besides
	Throttle  time.Duration // how long the broker asks us to wait before the next request
}

// BrokerInfo is one broker as the cluster advertises it for the listener that was asked.
type BrokerInfo struct {
	ID   int32
	Host string
	Port int
	Rack string
}

// Describe asks by Metadata for the brokers of the cluster, and for nothing else: it has an empty list of topics, so that the
// cost does not grow with them. Addresses come from Metadata alone, because it is what clients dial, and what proxies rewrite;
// several leave DescribeCluster as it is. An answer without any broker is ReasonEmptyMetadata. If the answer's list is equal to
// known, known itself is what the View holds: nearly always all brokers name the same, and n copies of a list of n would be
// what a large cluster costs.
func (c *Conn) Describe(ctx context.Context, known []BrokerInfo) (View, error) {
	view, err := c.metadata(ctx, known)
	if err == nil && len(view.Brokers) == 0 {
		err = because(ReasonEmptyMetadata, "the answer names no broker; a broker that just starts does so")
	}
	if err != nil {
		return View{}, AsError(PhaseRequest, err)
	}
	return view, nil
}

// metadataAnswers holds answers whose memory is used again.
var metadataAnswers = sync.Pool{New: func() any { return new(kmsg.MetadataResponse) }}

func (c *Conn) metadata(ctx context.Context, known []BrokerInfo) (view View, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none; nil would mean all. Version 0 cannot say none and answers with all.
	resp := metadataAnswers.Get().(*kmsg.MetadataResponse)
	defer func() {
		clear(resp.Brokers) // they refer to the frame
		*resp = kmsg.MetadataResponse{Brokers: resp.Brokers[:0]}
		metadataAnswers.Put(resp)
	}()
	err = c.borrow(ctx, req, resp, func() {
		view = View{ClusterID: strings.Clone(validText(deref(resp.ClusterID))), Throttle: milliseconds(resp.ThrottleMillis)}
		view.Brokers, view.Anomalies = ownList(known, len(resp.Brokers), func(i int) BrokerInfo {
			b := &resp.Brokers[i]
			return BrokerInfo{b.NodeID, validText(b.Host), int(b.Port), validText(deref(b.Rack))}
		})
	})
	if err == nil && resp.ErrorCode != 0 {
		err = kafkaError("Metadata", resp.ErrorCode, nil)
	}
	return view, err
}

// borrow negotiates the version of req, sends it, decodes the answer into resp and calls read. Until read returns, and no
// longer, text in resp may be read: it lies in the frame, which is used again.
func (c *Conn) borrow(ctx context.Context, req kmsg.Request, resp borrower, read func()) error {
	if err := c.versions.negotiate(req); err != nil {
		return err
	}
	frame, err := c.exchange(ctx, req, c.calls)
	if err != nil {
		return err
	}
	defer recycle(frame)
	resp.SetVersion(req.GetVersion())
	if err := decodeInto(resp.UnsafeReadFrom, req, frame[headerSize:]); err != nil {
		return err
	}
	read()
	return nil
}

// borrower is an answer that can be decoded without copies of its text.
type borrower interface {
	kmsg.Response
	UnsafeReadFrom(src []byte) error
}

// Ping asks for something that costs the same in every cluster, ApiVersions: it proves that the broker processes requests, and
// nothing else. It returns how long the broker asks us to wait. CanPing says whether the broker is known to answer it.
func (c *Conn) Ping(ctx context.Context) (throttle time.Duration, err error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = pingVersion
	answer, err := c.roundTrip(ctx, req)
	if err != nil {
		return 0, AsError(PhaseRequest, err)
	}
	resp := answer.(*kmsg.ApiVersionsResponse)
	if resp.ErrorCode != 0 {
		return 0, AsError(PhaseRequest, kafkaError("ApiVersions", resp.ErrorCode, nil))
	}
	return milliseconds(resp.ThrottleMillis), nil
}

// pingVersion is the last version of ApiVersions before the client had to introduce itself (KIP-511).
const pingVersion = 2

// CanPing says whether the broker offers what Ping asks for.
func (c *Conn) CanPing() bool {
	offered, ok := c.versions[kmsg.ApiVersions.Int16()]
	return ok && offered.min <= pingVersion && pingVersion <= offered.max
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

// milliseconds is for times that a peer tells: none is negative, and none too long for a Duration.
func milliseconds[T int32 | int64](n T) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(max(int64(n), 0), most)) * time.Millisecond
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
