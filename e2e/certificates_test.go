//go:build e2e

package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/pki"
)

// brokerLeaf is a certificate that a broker takes in exchange for the one that the fixture gave it.
func brokerLeaf(b *cluster.Broker, end time.Time) pki.Leaf {
	return pki.Leaf{CommonName: "broker-" + strconv.Itoa(b.ID), Hosts: []string{"localhost", "127.0.0.1"}, NotAfter: end}
}

// shows wants the exporter to have seen a broker's certificate that ends at a time.
func shows(b *cluster.Broker, end time.Time) condition {
	return value(float64(end.Unix()), "broker_certificate_expiry_timestamp_seconds", "broker_id", strconv.Itoa(b.ID))
}

// TestCaseC09CertificateEnds: a certificate that ends under an open session is seen with the next fresh handshake, and the session goes on.
// Done: a broker's certificate ends under an open session, and is renewed
// Shows: `broker_accepts_connections` 0 with `tls` `certificate_expired`, `broker_reachable` 1; then well
func TestCaseC09CertificateEnds(t *testing.T) {
	s := beside(t, cluster.V44)
	const interval = 2 * time.Second
	b := s.Broker(2)
	tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	t.Cleanup(func() { b.RotateCertificate(t, ending, s.CA, brokerLeaf(b, tomorrow)) })
	end := time.Now().Add(25 * time.Second).Truncate(time.Second)
	b.RotateCertificate(t, ending, s.CA, brokerLeaf(b, end))
	e := enter(t, s.seeds(ending), trusting(s.Cluster), "--handshake.interval=2s", "--seed.check-interval=0s")
	e.WaitFor(settleTimeout, all(ready(s.IDs()...), accepts(s.IDs()...), shows(b, end)))
	e.Hold(time.Until(end)-200*time.Millisecond, all(ready(s.IDs()...), accepts(s.IDs()...)))

	ended := all(refusing(b.ID, "tls", "certificate_expired"), ready(1, 3), accepts(1, 3), shows(b, end))
	e.WaitFor(time.Until(end)+interval+busy, ended)
	t.Logf("seen %v after the end, handshakes every %v", time.Since(end), interval)
	m := e.Hold(2*interval, ended)
	if n := m.Sum("broker_connection_closes_total"); n != 0 {
		t.Errorf("%v connections were closed, want none", n)
	}
	b.RotateCertificate(t, ending, s.CA, brokerLeaf(b, tomorrow))
	start := time.Now()
	e.WaitFor(interval+busy, all(ready(s.IDs()...), accepts(s.IDs()...), shows(b, tomorrow)))
	t.Logf("well again %v after the renewal", time.Since(start))
}

// TestRotation: what happens to the exporter's TLS files, however it happens, counts for the next handshake, without a restart.
func TestRotation(t *testing.T) {
	s := beside(t, cluster.V44)
	t.Run("rename", func(t *testing.T) { rotateByRename(t, s) })
	t.Run("symbolic link", func(t *testing.T) { rotateByLink(t, s) })
	t.Run("half-written", func(t *testing.T) { rotateHalf(t, s) })
}

// soon is time for some fresh handshakes, one a second.
const soon = 4*time.Second + busy

func startRotating(t *testing.T, s *security, v *volume) (*exporter.Exporter, condition) {
	t.Helper()
	a := access{
		flags: []string{
			"--tls", "--tls.ca-file=" + v.path("ca.pem"),
			"--tls.cert-file=" + v.path("client.pem"), "--tls.key-file=" + v.path("client.key"),
		},
		secrets: []string{strings.Split(v.first["client.key"], "\n")[1]},
	}
	e := enter(t, s.seeds(rotating), a, "--handshake.interval=1s", "--seed.check-interval=0s")
	well := all(ready(s.IDs()...), accepts(s.IDs()...))
	e.WaitFor(settleTimeout, well)
	return e, well
}

// rotateByRename: the broker's new authority is trusted in time, and nobody notices; a bad client certificate is noticed.
func rotateByRename(t *testing.T, s *security) {
	b, next, end := s.Broker(1), newCA(t), time.Now().Add(3*time.Hour).Truncate(time.Second)
	t.Cleanup(func() { b.RotateCertificate(t, rotating, s.CA, brokerLeaf(b, end)) })
	v := newVolume(t, s)
	e, well := startRotating(t, s, v)
	v.rename(t, bundle(s.CA, next))
	b.RotateCertificate(t, rotating, next, brokerLeaf(b, end))
	for start := time.Now(); shows(b, end)(e.Hold(time.Millisecond, well)) != nil; {
		if time.Since(start) > soon {
			t.Fatalf("broker 1's new certificate is not seen within %v", soon)
		}
	}
	e.Hold(2*time.Second, all(well, value(0, "tls_file_load_errors_total", "file", "ca")))

	v.rename(t, pairFiles(t, s.foreign))
	e.WaitFor(soon, each(s.IDs(), func(id int) condition { return refusing(id, "tls", "client_certificate_rejected") }))
	v.rename(t, pairFiles(t, s.CA))
	e.WaitFor(soon, well)
}

// rotateByLink: the same as Kubernetes does it, with the authority too late.
func rotateByLink(t *testing.T, s *security) {
	b, next, end := s.Broker(2), newCA(t), time.Now().Add(4*time.Hour).Truncate(time.Second)
	t.Cleanup(func() { b.RotateCertificate(t, rotating, s.CA, brokerLeaf(b, end)) })
	v := newVolume(t, s)
	v.link(t, nil)
	e, well := startRotating(t, s, v)
	b.RotateCertificate(t, rotating, next, brokerLeaf(b, end))
	e.WaitFor(soon, all(refusing(2, "tls", "certificate_untrusted"), ready(1, 3), accepts(1, 3)))
	v.link(t, bundle(s.CA, next))
	e.WaitFor(soon, all(well, shows(b, end)))
	v.link(t, pairFiles(t, s.foreign))
	e.WaitFor(soon, each(s.IDs(), func(id int) condition { return refusing(id, "tls", "client_certificate_rejected") }))
	v.link(t, pairFiles(t, s.CA))
	e.WaitFor(soon, all(well, value(0, "tls_file_load_errors_total", "file", "key")))
}

// rotateHalf: a file that is cut off is counted and what was loaded before stays in use.
func rotateHalf(t *testing.T, s *security) {
	v := newVolume(t, s)
	e, well := startRotating(t, s, v)
	for _, tc := range []struct{ name, label string }{{"ca.pem", "ca"}, {"client.pem", "cert"}, {"client.key", "key"}} {
		errors := func(m exporter.Metrics) float64 { return m.Sum("tls_file_load_errors_total", "file", tc.label) }
		write(t, v.path(tc.name), v.first[tc.name][:len(v.first[tc.name])/2])
		e.WaitFor(soon, all(well, atLeast(3, "tls_file_load_errors_total", "file", tc.label)))
		write(t, v.path(tc.name), v.first[tc.name])
		time.Sleep(200 * time.Millisecond) // for handshakes under way
		before := errors(e.Scrape())
		if after := errors(e.Hold(1500*time.Millisecond, well)); after != before {
			t.Errorf("%s is whole again, and the errors went from %v to %v", tc.name, before, after)
		}
	}
	if !strings.Contains(e.Log(), "can be used again") {
		t.Error("the log does not say that a file can be used again")
	}
}

func newCA(t *testing.T) *pki.CA {
	t.Helper()
	ca, err := pki.NewCA("next")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// bundle is a CA file that trusts both.
func bundle(a, b *pki.CA) map[string]string {
	return map[string]string{"ca.pem": string(a.PEM) + string(b.PEM)}
}

// pairFiles are a new client certificate of an authority and its key.
func pairFiles(t *testing.T, ca *pki.CA) map[string]string {
	t.Helper()
	pair, err := ca.Issue(clientLeaf)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"client.pem": string(pair.Cert), "client.key": string(pair.Key)}
}
