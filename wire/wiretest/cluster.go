package wiretest

import (
	"iter"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cluster is what scripted brokers agree on: an id and the list of members.
type Cluster struct {
	mu      sync.Mutex
	id      string
	members map[int32]Member
	leaders map[string]int32 // of a topic's only partition
}

// Member is one broker in the list.
type Member struct {
	Host   string
	Port   int32
	Rack   string
	Fenced bool
}

// NewCluster returns a cluster without members.
func NewCluster(id string) *Cluster {
	return &Cluster{id: id, members: make(map[int32]Member), leaders: make(map[string]int32)}
}

// ID returns the cluster's id.
func (c *Cluster) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// Set adds or changes a member; addr is its host:port.
func (c *Cluster) Set(id int32, addr string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		panic(err)
	}
	c.SetMember(id, Member{Host: host, Port: int32(n), Rack: "r" + strconv.Itoa(int(id))})
}

// SetMember adds or changes a member.
func (c *Cluster) SetMember(id int32, m Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[id] = m
}

// Remove takes a member off the list.
func (c *Cluster) Remove(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, id)
}

// Lead makes a broker the leader of a topic's partition 0.
func (c *Cluster) Lead(topic string, id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaders[topic] = id
}

func (c *Cluster) metadata(req *kmsg.MetadataRequest) kmsg.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	resp.ClusterID = &c.id
	for id, m := range c.sorted() {
		if m.Fenced {
			continue
		}
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = id, m.Host, m.Port, &m.Rack
		resp.Brokers = append(resp.Brokers, b)
	}
	for _, asked := range req.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic = asked.Topic
		t.ErrorCode = kerr.UnknownTopicOrPartition.Code
		if leader, ok := c.leaders[*asked.Topic]; ok {
			t.ErrorCode = 0
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Leader = leader
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func (c *Cluster) describe(req *kmsg.DescribeClusterRequest) kmsg.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ClusterID = c.id
	for id, m := range c.sorted() {
		if m.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		b := kmsg.NewDescribeClusterResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack, b.IsFenced = id, m.Host, m.Port, &m.Rack, m.Fenced
		resp.Brokers = append(resp.Brokers, b)
	}
	return resp
}

func (c *Cluster) sorted() iter.Seq2[int32, Member] {
	return func(yield func(int32, Member) bool) {
		ids := make([]int32, 0, len(c.members))
		for id := range c.members {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
			if !yield(id, c.members[id]) {
				return
			}
		}
	}
}
