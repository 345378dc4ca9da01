package lab

import (
	"net"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// TestCaseC24Versions: no release of Kafka needs a flag.
// Done: brokers that offer Metadata 0 to 1, 4 to 13, or 14 to 15 only; one that answers ApiVersions 3 in version 0; the newest
// Shows: all reachable but the one without a version in common, which is `identity` `unsupported_version`
func TestCaseC24Versions(t *testing.T) {
	t.Parallel()
	c := &cluster{Cluster: wiretest.NewCluster("cluster-a")}
	for i, versions := range []wiretest.Versions{
		{3: {0, 1}, 18: {0, 0}}, wiretest.Old, {3: {4, 13}, 18: {0, 4}}, wiretest.Common, wiretest.Modern,
		{3: {5, 99}, 18: {0, 99}, 60: {0, 99}}, {3: {14, 15}, 18: {0, 4}},
	} {
		c.add(t, i+1, "", versions)
	}
	p := start(t, c.seeds(5)) // the oldest one does not tell the id of the cluster
	unsupported := failing(7, "identity", "unsupported_version")
	p.wait(ready(1, 2, 3, 4, 5, 6), unsupported)
	p.guard(1, 2, 3, 4, 5, 6)
	p.hold(500*time.Millisecond, unsupported)
	c.stands[6].serve(wiretest.NewBroker(7, c.Cluster, wiretest.Modern).Serve)
	p.wait(ready(1, 2, 3, 4, 5, 6, 7))
}

// saslOnly is a broker that answers ApiVersions and hangs up on all else, as a SASL listener does.
func saslOnly(c *cluster) func(net.Conn) {
	b := wiretest.NewBroker(1, c.Cluster, wiretest.Common)
	b.Require(wiretest.NewAccounts("right", 0, 0))
	return b.Serve
}

// peer is somebody at a seed's address who is not what we expect, and how that must show.
type peer struct {
	handler       func(net.Conn)
	phase, reason string
}

// startPeers runs an exporter against a good seed and all peers and waits until each shows as it must. mend replaces them by good
// brokers and waits until that shows.
func startPeers(t *testing.T, c *cluster, good func(s *stand) func(net.Conn), peers []peer, flags ...string) (p *process, stands []*stand, mend func()) {
	t.Helper()
	seeds := c.seeds(1)
	var failing, fine []condition
	for _, peer := range peers {
		s := newStand(t, "", peer.handler)
		stands = append(stands, s)
		seeds += "," + s.addr
		failing = append(failing, seedFailing(s.addr, peer.phase, peer.reason))
		fine = append(fine, seedWell(s.addr))
	}
	p = start(t, append(flags, seeds)...)
	p.wait(append(failing, ready(1))...)
	p.guard(1)
	p.hold(500*time.Millisecond, failing...)
	return p, stands, func() {
		t.Helper()
		for _, s := range stands {
			s.serve(good(s))
		}
		p.wait(fine...)
	}
}

// wantPeers does no more than that.
func wantPeers(t *testing.T, c *cluster, good func(s *stand) func(net.Conn), peers []peer, flags ...string) {
	t.Helper()
	_, _, mend := startPeers(t, c, good, peers, flags...)
	mend()
}

// TestCaseC30CauseOfEOF: all that a client sees is that the peer has closed.
// Done: a listener that wants SASL closes on the first request after ApiVersions; others close on the first byte, reset, answer half
// Shows: `request` `authentication_required`, `api_versions` `closed`, `reset`, `closed`: a word for each
func TestCaseC30CauseOfEOF(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	half := func(conn net.Conn) {
		wiretest.ReadAndClose(conn)
		_, _ = conn.Write([]byte("\x00\x00\x00\x10\x00\x00"))
	}
	wantPeers(t, c, func(*stand) func(net.Conn) { return c.brokers[0].Serve }, []peer{
		{saslOnly(c), "request", "authentication_required"},
		{wiretest.ReadAndClose, "api_versions", "closed"},
		{wiretest.Reset, "api_versions", "reset"},
		{half, "api_versions", "closed"},
	})
}

// TestCaseC31OtherProtocols: the first four bytes of another protocol are no length.
// Done: plaintext to peers that answer with a TLS alert of two versions, HTTP, SSH, a negative and a huge length
// Shows: `peer_speaks_tls`, `peer_speaks_http`, `not_kafka`, `frame_too_large`, in the phase `api_versions`
func TestCaseC31OtherProtocols(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	var peers []peer
	for answer, reason := range map[string]string{
		"\x15\x03\x03\x00\x02\x02\x46": "peer_speaks_tls", "\x15\x03\x01\x00\x02\x02\x46": "peer_speaks_tls",
		"HTTP/1.1 400 Bad Request\r\n\r\n": "peer_speaks_http", "SSH-2.0-OpenSSH_9.2p1\r\n": "not_kafka",
		"\xff\xff\xff\xff\x00\x00\x00\x01": "not_kafka", "\x7f\xff\xff\xff\x00\x00\x00\x01": "frame_too_large",
	} {
		peers = append(peers, peer{wiretest.Says([]byte(answer)), "api_versions", reason})
	}
	wantPeers(t, c, func(*stand) func(net.Conn) { return c.brokers[0].Serve }, peers)
}

// TestCaseC31TLSToPlaintext: TLS meets peers that do not speak it.
// Done: TLS to a Kafka listener without, to HTTP, and to somebody who answers in another protocol
// Shows: `tls` with `peer_is_plaintext` or `peer_speaks_http`
func TestCaseC31TLSToPlaintext(t *testing.T) {
	t.Parallel()
	ca := wiretest.NewAuthority()
	c := newCluster(t, 1, wiretest.Common)
	c.secure(ca)
	good := func(s *stand) func(net.Conn) { return behindTLS(ca, hostOf(s.addr), nil, c.brokers[0].Serve) }
	wantPeers(t, c, good, []peer{
		{c.brokers[0].Serve, "tls", "peer_is_plaintext"},
		{wiretest.Says([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")), "tls", "peer_speaks_http"},
		{wiretest.Says([]byte("\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x23")), "tls", "peer_is_plaintext"},
	}, caFlags(t, ca)...)
}
