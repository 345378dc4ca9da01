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

// View is what one broker says about the cluster.
type View struct {
	ClusterID   string        // empty where the broker is too old to tell (before 0.10.1)
	Brokers     []BrokerInfo  // shared with other views, so to be read only
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
// answer without any broker that serves is ReasonEmptyMetadata. If the answer's list is equal to known, known itself is what the View
// holds: nearly always all brokers name the same, and n copies of a list of n would be what a large cluster costs.
func (c *Conn) Describe(ctx context.Context, known []BrokerInfo) (View, error) {
	view, err := c.describe(ctx, known)
	if err == nil && (len(known) == 0 || len(view.Brokers) == 0 || &view.Brokers[0] != &known[0]) {
		err = checkList(view.Brokers)
	}
	if err != nil {
		return View{}, AsError(PhaseRequest, err)
	}
	return view, nil
}

// checkList: a list in which no broker serves says nothing about the cluster, and ids that no broker can have, or that occur twice,
// break the protocol.
func checkList(brokers []BrokerInfo) error {
	seen := make(map[int32]bool, len(brokers))
	serving := 0
	for _, b := range brokers {
		if b.ID < 0 || seen[b.ID] {
			return because(ReasonProtocol, "the answer names broker %d, twice or although ids are not negative", b.ID)
		}
		seen[b.ID] = true
		if !b.Fenced {
			serving++
		}
	}
	if serving == 0 {
		return because(ReasonEmptyMetadata, "the answer names no broker, or fenced ones only; a broker that just starts does so")
	}
	return nil
}

// validText makes s fit for a label. It may still be a part of a frame.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (c *Conn) describe(ctx context.Context, known []BrokerInfo) (View, error) {
	if c.versions.offers(kmsg.DescribeCluster.Int16(), 2) {
		view, code, err := c.describeCluster(ctx, known)
		if err != nil || code == 0 {
			return view, err
		}
		// Some authorizers forbid DescribeCluster to principals that may ask for Metadata.
	}
	return c.metadata(ctx, known)
}

// clusterAnswers holds answers whose memory is used again.
var clusterAnswers = sync.Pool{New: func() any { return new(kmsg.DescribeClusterResponse) }}

func (c *Conn) describeCluster(ctx context.Context, known []BrokerInfo) (view View, code int16, err error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = true
	resp := clusterAnswers.Get().(*kmsg.DescribeClusterResponse)
	defer func() {
		clear(resp.Brokers) // they refer to the frame
		clusterAnswers.Put(resp)
	}()
	err = c.borrow(ctx, req, resp, func() {
		view = View{ClusterID: strings.Clone(validText(resp.ClusterID)), KnowsFenced: true, Throttle: milliseconds(resp.ThrottleMillis)}
		view.Brokers = ownList(known, resp.Brokers, func(b *kmsg.DescribeClusterResponseBroker) BrokerInfo {
			return BrokerInfo{b.NodeID, b.Host, int(b.Port), deref(b.Rack), b.IsFenced}
		})
	})
	return view, resp.ErrorCode, err
}

func (c *Conn) metadata(ctx context.Context, known []BrokerInfo) (view View, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none; nil would mean all. Version 0 cannot say none and answers with all.
	resp := kmsg.NewPtrMetadataResponse()
	err = c.borrow(ctx, req, resp, func() {
		view = View{ClusterID: strings.Clone(validText(deref(resp.ClusterID))), Throttle: milliseconds(resp.ThrottleMillis)}
		view.Brokers = ownList(known, resp.Brokers, func(b *kmsg.MetadataResponseBroker) BrokerInfo {
			return BrokerInfo{ID: b.NodeID, Host: b.Host, Port: int(b.Port), Rack: deref(b.Rack)}
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

// ownList returns the brokers of an answer without reference to its frame: known, if they are the same.
func ownList[T any](known []BrokerInfo, answer []T, info func(*T) BrokerInfo) []BrokerInfo {
	at := func(i int) BrokerInfo {
		b := info(&answer[i])
		b.Host, b.Rack = validText(b.Host), validText(b.Rack)
		return b
	}
	same := len(known) == len(answer)
	for i := 0; same && i < len(answer); i++ {
		same = at(i) == known[i]
	}
	if same {
		return known
	}
	list := make([]BrokerInfo, len(answer))
	for i := range answer {
		list[i] = at(i)
		list[i].Host, list[i].Rack = strings.Clone(list[i].Host), strings.Clone(list[i].Rack)
	}
	return list
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
