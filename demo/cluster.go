package main

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const clusterID = "demo-cluster"

// cluster is a kfake cluster that advertises other addresses than its own.
type cluster struct {
	kafka *kfake.Cluster
	flap  *flapper
	good  string // address of broker 0
}

func startCluster(ctx context.Context) (*cluster, error) {
	kafka, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.ClusterID(clusterID))
	if err != nil {
		return nil, fmt.Errorf("starting the embedded cluster: %w", err)
	}
	addrs := kafka.ListenAddrs()
	flap, err := startFlapper(ctx, addrs[1])
	if err != nil {
		kafka.Close()
		return nil, err
	}
	advertise(kafka, []string{addrs[0], flap.address, "kafka-2.invalid:9092"})
	return &cluster{kafka: kafka, flap: flap, good: addrs[0]}, nil
}

func (c *cluster) close() {
	c.flap.wait()
	c.kafka.Close()
}

// advertise makes the cluster answer questions about its brokers with these addresses, by id.
func advertise(kafka *kfake.Cluster, addrs []string) {
	kafka.ControlKey(kmsg.Metadata.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		req := r.(*kmsg.MetadataRequest)
		if req.Topics == nil || len(req.Topics) > 0 {
			return nil, nil, false
		}
		kafka.KeepControl()
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		resp.ClusterID = kmsg.StringPtr(clusterID)
		for id, addr := range addrs {
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID = int32(id)
			b.Host, b.Port = split(addr)
			resp.Brokers = append(resp.Brokers, b)
		}
		return resp, nil, true
	})
	kafka.ControlKey(kmsg.DescribeCluster.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		kafka.KeepControl()
		resp := r.ResponseKind().(*kmsg.DescribeClusterResponse)
		resp.ClusterID = clusterID
		for id, addr := range addrs {
			b := kmsg.NewDescribeClusterResponseBroker()
			b.NodeID = int32(id)
			b.Host, b.Port = split(addr)
			resp.Brokers = append(resp.Brokers, b)
		}
		return resp, nil, true
	})
}

func split(addr string) (string, int32) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic(err) // addresses are this program's own
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		panic(err)
	}
	return host, int32(n)
}
