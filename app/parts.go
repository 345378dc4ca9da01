package app

import (
	"context"
	"net"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/go-kit/log/level"
	"github.com/prometheus/common/version"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/security"
	"kafka_connection_exporter/seeds"
	"kafka_connection_exporter/wire"
)

// dialer returns a dialer whose sockets leave some of all to others.
func (o *options) dialer(all *descriptors) *wire.Dialer {
	dialer := &net.Dialer{FallbackDelay: -1}
	return &wire.Dialer{
		Timeout:         o.cluster.ConnectTimeout,
		AttemptDelay:    o.cluster.AttemptDelay,
		ClientID:        o.cluster.ClientID,
		SoftwareVersion: softwareVersion(),
		Lookup: all.lookingUp(func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}),
		DialAddress: all.dialing(func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
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

func (o *options) managerConfig(list seeds.List, dialer *wire.Dialer) manager.Config {
	c := &o.cluster
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
func (e *exporter) buildTLS(o *options, dialer *wire.Dialer) (*security.TLS, error) {
	if !o.cluster.TLS.Enabled {
		return nil, nil
	}
	options := o.cluster.TLSOptions()
	options.OnChange = e.logFile
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

// logFile has the form of security.TLSOptions.OnChange.
func (e *exporter) logFile(f security.FileStatus) {
	if !e.started.Load() {
		return
	}
	if f.Failure != "" {
		_ = level.Warn(e.logger).Log("msg", "a TLS file cannot be used, what was loaded before stays in use", "file", f.Path, "kind", f.File, "err", f.Failure)
		return
	}
	_ = level.Info(e.logger).Log("msg", "a TLS file can be used again", "file", f.Path, "kind", f.File)
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
func buildSASL(o *options, dialer *wire.Dialer) (*security.SASL, error) {
	if o.cluster.SASL.Mechanism == "" {
		return nil, nil
	}
	credentials, err := security.NewSASL(o.cluster.SASLOptions())
	if err != nil {
		return nil, usageError{err}
	}
	if err := credentials.Check(); err != nil {
		return nil, err
	}
	dialer.SASL = credentials.Mechanism
	return credentials, nil
}
