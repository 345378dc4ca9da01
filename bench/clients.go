package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/seeds"
	"kafka_connection_exporter/wire"
)

// again is the pause before a call that returned an error is made again, as every application would.
const again = 10 * time.Millisecond

// client is one of the four that are compared, with the settings that it has by default.
type client struct {
	name  string
	order string // in which it tries the seeds
	waits bool   // it waits after a failure before it tries the next seed, even if that was fast
	// bootstrap returns when the brokers of the cluster are known, or ctx has ended; stop ends what it started.
	bootstrap func(ctx context.Context, addrs []string) (stop func(), err error)
}

var clients = []client{
	{"this exporter", "at random, hedged", false, bootstrapOwn},
	{"sarama", "at random, one after the other", false, bootstrapSarama},
	{"franz-go", "in turn, from a random one", true, bootstrapFranz},
	{"kafka-go", "at random, one after the other", false, bootstrapSegmentio},
}

// dial has the form of net.Dialer.DialContext; notice puts its watch there.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// defaults is what the exporter's flags are by default; a test compares them with its help.
func defaults(list seeds.List, dial dial) manager.Config {
	return manager.Config{
		Seeds: list,
		Dialer: &wire.Dialer{
			Timeout: 10 * time.Second, AttemptDelay: 250 * time.Millisecond, ClientID: "bench", SoftwareVersion: "dev",
			Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
				return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
			},
			DialAddress: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
				return dial(ctx, "tcp", addr.String())
			},
		},
		RefreshInterval: 30 * time.Second, HedgeDelay: 250 * time.Millisecond,
		ConnectRate: 50, BackoffBase: 250 * time.Millisecond, BackoffMax: 30 * time.Second,
		CheckInterval: 10 * time.Second, CheckTimeout: 5 * time.Second, HandshakeInterval: time.Minute,
		SeedCheckInterval: time.Minute, SASLRetryInterval: 5 * time.Minute, Retention: 24 * time.Hour,
	}
}

// newConfig is defaults for these seeds.
func newConfig(addrs []string, dial dial) (manager.Config, error) {
	list, err := seeds.Parse(addrs, seeds.Security{})
	return defaults(list, dial), err
}

// runManager runs a manager until stop.
func runManager(cfg manager.Config) (m *manager.Manager, stop func(), err error) {
	if m, err = manager.New(cfg); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = m.Run(ctx) }()
	return m, func() { cancel(); <-ended }, nil
}

func bootstrapOwn(ctx context.Context, addrs []string) (func(), error) {
	known := make(chan struct{}, 1)
	cfg, err := newConfig(addrs, (&net.Dialer{FallbackDelay: -1}).DialContext)
	if err != nil {
		return nil, err
	}
	cfg.OnEvent = func(e manager.Event) {
		if e.Kind == manager.EventRefreshed {
			known <- struct{}{} // once: after a failed round only
		}
	}
	_, stop, err := runManager(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-known:
	case <-ctx.Done():
	}
	return stop, ctx.Err()
}

// persist makes call again until it succeeds or ctx ends. A call that does not know contexts is left behind then.
func persist(ctx context.Context, call func() error) error {
	result := make(chan error, 1)
	for {
		go func() { result <- call() }()
		select {
		case err := <-result:
			if err == nil {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// some makes an answer without a broker an error.
func some(brokers int) error {
	if brokers == 0 {
		return errors.New("no brokers")
	}
	return nil
}

func bootstrapSarama(ctx context.Context, addrs []string) (func(), error) {
	made := make(chan sarama.Client, 1)
	err := persist(ctx, func() error {
		c, err := sarama.NewClient(addrs, sarama.NewConfig())
		if err != nil {
			return err
		}
		if err := some(len(c.Brokers())); err != nil {
			_ = c.Close()
			return err
		}
		made <- c
		return nil
	})
	return func() {
		select {
		case c := <-made:
			_ = c.Close()
		default:
		}
	}, err
}

func bootstrapFranz(ctx context.Context, addrs []string) (func(), error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(addrs...))
	if err != nil {
		return nil, err
	}
	err = persist(ctx, func() error {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		resp, err := req.RequestWith(ctx, c)
		if err != nil {
			return err
		}
		return some(len(resp.Brokers))
	})
	return c.Close, err
}

func bootstrapSegmentio(ctx context.Context, addrs []string) (func(), error) {
	transport := &kafka.Transport{}
	c := &kafka.Client{Addr: kafka.TCP(addrs...), Transport: transport}
	err := persist(ctx, func() error {
		resp, err := c.Metadata(ctx, &kafka.MetadataRequest{})
		if err != nil {
			return err
		}
		return some(len(resp.Brokers))
	})
	return transport.CloseIdleConnections, err
}
