package main

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/manager"
)

// idler connects one client to the broker at addr through w, and returns when the connection is ready. A nil gone means that
// the client tells nobody whether it is connected.
type idler struct {
	name  string
	start func(w *watched, addr string) (gone func() bool, stop func(), err error)
}

var idlers = []idler{
	{"this exporter", idleOwn}, {"sarama", idleSarama}, {"franz-go", idleFranz}, {"kafka-go", idleSegmentio},
}

func idleOwn(w *watched, addr string) (func() bool, func(), error) {
	cfg, err := newConfig([]string{addr}, w.dial)
	if err != nil {
		return nil, nil, err
	}
	m, stop, err := runManager(cfg)
	if err != nil {
		return nil, nil, err
	}
	if !eventually(10*time.Second, func() bool { return allReady(m, 1) }) {
		return nil, stop, errors.New("not ready")
	}
	return func() bool { return m.Snapshot().Brokers[0].Reachable == manager.VerdictBad }, stop, nil
}

// saramaDialer has the form of a proxy's dialer, the only one that sarama can be given.
type saramaDialer struct{ w *watched }

func (d saramaDialer) Dial(network, address string) (net.Conn, error) {
	return d.w.dial(context.Background(), network, address)
}

func idleSarama(w *watched, addr string) (func() bool, func(), error) {
	cfg := sarama.NewConfig()
	cfg.Net.Proxy.Enable, cfg.Net.Proxy.Dialer = true, saramaDialer{w}
	c, err := sarama.NewClient([]string{addr}, cfg)
	if err != nil {
		return nil, nil, err
	}
	b := c.Brokers()[0]
	if err := b.Open(cfg); err != nil {
		return nil, nil, err
	}
	if ok, err := b.Connected(); !ok {
		return nil, nil, err
	}
	gone := func() bool {
		ok, _ := b.Connected()
		return !ok
	}
	return gone, func() { _ = c.Close() }, nil
}

// disconnects counts the calls of franz-go's hook.
type disconnects struct{ n atomic.Int64 }

// OnBrokerDisconnect implements kgo.HookBrokerDisconnect.
func (d *disconnects) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { d.n.Add(1) }

func idleFranz(w *watched, addr string) (func() bool, func(), error) {
	hook := new(disconnects)
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.Dialer(w.dial), kgo.WithHooks(hook))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	if _, err := req.RequestWith(ctx, c); err != nil {
		return nil, nil, err
	}
	if _, err := c.Broker(1).Request(ctx, req); err != nil {
		return nil, nil, err
	}
	return func() bool { return hook.n.Load() > 0 }, c.Close, nil
}

func idleSegmentio(w *watched, addr string) (func() bool, func(), error) {
	transport := &kafka.Transport{Dial: w.dial}
	c := &kafka.Client{Addr: kafka.TCP(addr), Transport: transport}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := c.Metadata(ctx, &kafka.MetadataRequest{}); err != nil {
		return nil, nil, err
	}
	return nil, transport.CloseIdleConnections, nil
}
