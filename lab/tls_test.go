package lab

import (
	"crypto/tls"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// TestCaseC09CertificateExpires: a certificate ends while sessions go on, and nobody makes fresh ones.
// Done: a certificate ends under an open connection; then the broker gets a new one
// Shows: the end date all the time; `broker_accepts_connections` 0 with `tls` `certificate_expired` beside `broker_reachable` 1; then well
func TestCaseC09CertificateExpires(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"verified", "tls.insecure-skip-verify"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			ca := wiretest.NewAuthority()
			c := newCluster(t, 2, wiretest.Common)
			c.secure(ca)
			host := hostOf(c.stands[1].addr)
			end := time.Now().Add(20 * time.Second).Truncate(time.Second)
			c.stands[1].serve(behindTLS(ca, host, &tls.Config{Certificates: []tls.Certificate{ca.Issue(end, host)}}, c.brokers[1].Serve))
			flags := append(caFlags(t, ca), c.seeds(1), "--handshake.interval=300ms")
			if flag != "verified" {
				flags = append(flags, "--"+flag)
			}
			p := start(t, flags...)
			p.wait(ready(1), is(1, ofBroker(2, "accepts_connections")))
			p.always(is(1, ofBroker(1, "accepts_connections")), is(1, ofBroker(2, "reachable")), func(m metrics) error {
				if got := m[ofBroker(2, "certificate_expiry_timestamp_seconds")]; math.Abs(got-float64(end.Unix())) > 1 && time.Now().Before(end) {
					return fmt.Errorf("the certificate's end is %v, want %v", got, end.Unix())
				}
				return nil
			})
			p.wait(refusing(2, "tls", "certificate_expired"))
			p.hold(500*time.Millisecond, refusing(2, "tls", "certificate_expired"), is(0, ofBroker(2, "consecutive_failures")))
			c.stands[1].serve(behindTLS(ca, host, nil, c.brokers[1].Serve))
			p.wait(is(1, ofBroker(2, "accepts_connections")), absent("broker_failing"),
				atLeast(float64(end.Add(30*time.Minute).Unix()), ofBroker(2, "certificate_expiry_timestamp_seconds")))
		})
	}
}

// TestCaseC11SilentTLS: a TLS handshake that is never answered must end by a deadline of its own.
// Done: with TLS, a seed and a broker accept and are silent for a dozen attempts
// Shows: `tls` `timeout`; goroutines and descriptors as many as before
func TestCaseC11SilentTLS(t *testing.T) {
	t.Parallel()
	ca := wiretest.NewAuthority()
	c := newCluster(t, 2, wiretest.Common)
	c.secure(ca)
	seed := newStand(t, "", wiretest.Tarpit)
	c.stands[1].serve(wiretest.Tarpit)
	p := start(t, append(caFlags(t, ca), c.seeds(1)+","+seed.addr, "--connect.timeout=1s", "--backoff.max=50ms")...)
	m := p.wait(ready(1), failing(2, "tls", "timeout"), seedFailing(seed.addr, "tls", "timeout"))
	p.guard(1)
	p.wait(atLeast(m[ofBroker(2, "connection_attempts_total")]+8, ofBroker(2, "connection_attempts_total")), failing(2, "tls", "timeout"),
		atMost(m["go_goroutines"]+8, "go_goroutines"), atMost(m["process_open_fds"]+4, "process_open_fds"))
	c.secure(ca)
	seed.serve(behindTLS(ca, hostOf(seed.addr), nil, c.brokers[0].Serve))
	p.wait(ready(1, 2), seedWell(seed.addr))
}

// TestCaseC32ClientCertificate: in TLS 1.3 the server's verdict on the client comes after the handshake, with the first read.
// Done: brokers require a client certificate, in TLS 1.2 and 1.3; the exporter has none, or one that has expired, or a good one
// Shows: phase `tls`, not `api_versions`, and reason `client_certificate_rejected`; with a good one all are reachable
func TestCaseC32ClientCertificate(t *testing.T) {
	t.Parallel()
	ca := wiretest.NewAuthority()
	hour := time.Now().Add(time.Hour)
	for name, present := range map[string]func() []string{
		"none":    func() []string { return nil },
		"expired": func() []string { return clientFlags(t, ca.Issue(time.Now().Add(-time.Hour), "exporter")) },
		"good":    func() []string { return clientFlags(t, ca.Issue(hour, "exporter")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 3, wiretest.Common)
			c.secure(ca)
			for i, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				config := &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool(), MinVersion: version, MaxVersion: version}
				c.stands[i].serve(behindTLS(ca, hostOf(c.stands[i].addr), config, c.brokers[i].Serve))
			}
			p := start(t, slices.Concat(caFlags(t, ca), present(), []string{c.seeds(3)})...)
			if name == "good" {
				p.wait(ready(1, 2, 3))
				return
			}
			rejected := all(failing(1, "tls", "client_certificate_rejected"), failing(2, "tls", "client_certificate_rejected"))
			p.wait(ready(3), rejected)
			p.guard(3)
			p.hold(500*time.Millisecond, rejected)
			c.secure(ca)
			p.wait(ready(1, 2, 3))
		})
	}
}

// TestCaseC33WrongName: the certificate is good, and not for the name that the broker advertises.
// Done: the seed's certificate fits; the broker advertises b.test, with a certificate for another name
// Shows: the seed reachable, the broker with `tls` `certificate_name_mismatch`; well with an override for that host, or another certificate
func TestCaseC33WrongName(t *testing.T) {
	t.Parallel()
	ca := wiretest.NewAuthority()
	c := newCluster(t, 2, wiretest.Common)
	c.secure(ca)
	server := newNameServer(t)
	server.set("b.test", hostOf(c.stands[1].addr))
	c.Set(2, "b.test:9092")
	c.stands[1].serve(behindTLS(ca, "other.test", nil, c.brokers[1].Serve))
	flags := append(caFlags(t, ca), c.seeds(1))
	p := startEnv(t, server.env(), flags...)
	p.wait(ready(1), seedWell(c.stands[0].addr), failing(2, "tls", "certificate_name_mismatch"))
	p.guard(1)
	second := startEnv(t, server.env(), append(flags, "--tls.server-name-override=b.test=other.test")...)
	second.wait(ready(1, 2))
	c.stands[1].serve(behindTLS(ca, "b.test", nil, c.brokers[1].Serve))
	p.wait(ready(1, 2))
}
