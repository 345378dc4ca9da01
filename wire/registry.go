package wire

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Registry is what one broker says by DescribeCluster (KIP-700): it knows brokers that Metadata hides from clients. Its addresses
// are not dialed while Metadata names any: gateways that rewrite Metadata often leave DescribeCluster as it is.
type Registry struct {
	Brokers     []RegisteredBroker
	KnowsFenced bool // the list holds fenced brokers too, and marks them (version 2, KIP-1073)
	Denied      bool // the principal may not ask; the rest is empty
}

// RegisteredBroker is one broker that the cluster has registered.
type RegisteredBroker struct {
	BrokerInfo
	Fenced bool
}

// OffersRegistry says whether the broker offers DescribeCluster.
func (c *Conn) OffersRegistry() bool { return c.versions.offers(kmsg.DescribeCluster.Int16(), 0) }

// Registry asks for the registered brokers. Whatever becomes of it says nothing about the connection, unless it ends.
func (c *Conn) Registry(ctx context.Context) (registry Registry, err error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = true
	resp := kmsg.NewPtrDescribeClusterResponse()
	var refused error
	err = c.borrow(ctx, req, resp, func() {
		if resp.ErrorCode != 0 {
			refused = kafkaError("DescribeCluster", resp.ErrorCode, resp.ErrorMessage)
			return
		}
		registry = Registry{Brokers: registered(resp.Brokers), KnowsFenced: req.Version >= 2}
	})
	switch {
	case errors.Is(refused, kerr.ClusterAuthorizationFailed):
		return Registry{Denied: true}, nil
	case err == nil:
		err = refused
	}
	if err != nil {
		return Registry{}, AsError(PhaseRequest, err)
	}
	return registry, nil
}

func registered(answer []kmsg.DescribeClusterResponseBroker) []RegisteredBroker {
	fenced := make(map[int32]bool)
	list, _ := ownList(nil, len(answer), func(i int) BrokerInfo {
		b := &answer[i]
		if _, known := fenced[b.NodeID]; !known {
			fenced[b.NodeID] = b.IsFenced
		}
		return BrokerInfo{b.NodeID, validText(b.Host), int(b.Port), validText(deref(b.Rack))}
	})
	all := make([]RegisteredBroker, len(list))
	for i, b := range list {
		all[i] = RegisteredBroker{b, fenced[b.ID]}
	}
	return all
}
