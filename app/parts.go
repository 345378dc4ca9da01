package app

import (
	"context"
	"net"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/prometheus/common/version"

	"kafka_connection_exporter/config"
	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/security"
	"kafka_connection_exporter/seeds"
	"kafka_connection_exporter/wire"
)

// newDialer returns a dialer whose sockets are a share of all.
func newDialer(c *config.Cluster, sockets *share) *wire.Dialer {
	dialer := &net.Dialer{FallbackDelay: -1}
	return &wire.Dialer{
		Timeout:         c.ConnectTimeout,
		AttemptDelay:    c.AttemptDelay,
		ClientID:        c.ClientID,
		SoftwareVersion: softwareVersion(),
		Lookup: sockets.lookingUp(func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}),
		DialAddress: sockets.dialing(func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", addr.String())
		}),
	}
}

// nameVersion gives a build that was not stamped, by go run or go build, the version that the toolchain knows it by.
var nameVersion = sync.OnceFunc(func() {
	if version.Version != "" {
		return
	}
	version.Version = "dev"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		version.Version = info.Main.Version
	}
})

// softwareVersion returns the version in the alphabet that brokers accept (KIP-511); they refuse every other one.
func softwareVersion() string {
	clean := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' {
			return r
		}
		return '-'
	}, version.Version)
	if clean = strings.Trim(clean, "-."); clean == "" {
		return "dev"
	}
	return clean
}

func managerConfig(c *config.Cluster, list seeds.List, dialer *wire.Dialer) manager.Config {
	return manager.Config{
		Seeds: list, Dialer: dialer, ClusterID: c.ClusterID,
		RefreshInterval: c.RefreshInterval, HedgeDelay: c.HedgeDelay, GiveUpAfter: c.GiveUpAfter,
		ConnectRate: c.ConnectRate, BackoffBase: c.BackoffBase, BackoffMax: c.BackoffMax,
		CheckInterval: c.CheckInterval, CheckTimeout: c.CheckTimeout,
		HandshakeInterval: c.HandshakeInterval, SeedCheckInterval: c.SeedCheckInterval,
		SASLRetryInterval: c.SASL.RetryInterval, Retention: c.Retention,
	}
}

// buildTLS puts TLS into the dialer if it is wanted.
func (made *member) buildTLS(c *config.Cluster, dialer *wire.Dialer) (*security.TLS, error) {
	if !c.TLS.Enabled {
		return nil, nil
	}
	options := c.TLSOptions()
	options.OnChange = made.logFile
	material, err := security.NewTLS(options)
	if err != nil {
		return nil, usageError{err}
	}
	if err := material.Check(); err != nil {
		return nil, err
	}
	dialer.TLS = material.Config
	return material, nil
}

// fileErrors is what the collector asks for, in the order of its labels.
func fileErrors(material *security.TLS) func() [3]float64 {
	if material == nil {
		return nil
	}
	return func() (counts [3]float64) {
		for i, s := range material.Status() {
			counts[i] = float64(s.Errors)
		}
		return counts
	}
}

// buildSASL puts SASL into the dialer if it is wanted.
func buildSASL(c *config.Cluster, dialer *wire.Dialer) (*security.SASL, error) {
	if c.SASL.Mechanism == "" {
		return nil, nil
	}
	credentials, err := security.NewSASL(c.SASLOptions())
	if err != nil {
		return nil, usageError{err}
	}
	if err := credentials.Check(); err != nil {
		return nil, err
	}
	dialer.SASL = credentials.Mechanism
	return credentials, nil
}
