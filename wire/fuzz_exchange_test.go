package wire

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// converse returns a connection to a peer that answers one request after the other by what answer makes of it, and closes
// when that is nil.
func converse(t *testing.T, answer func(n int, request []byte) []byte) *Conn {
	client, server := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer server.Close()
		for n := 0; ; n++ {
			var size [4]byte
			if _, err := io.ReadFull(server, size[:]); err != nil {
				return
			}
			request := make([]byte, binary.BigEndian.Uint32(size[:]))
			if _, err := io.ReadFull(server, request); err != nil {
				return
			}
			body := answer(n, request)
			if body == nil {
				return
			}
			frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
			if _, err := server.Write(append(append(frame, request[4:8]...), body...)); err != nil {
				return
			}
		}
	}()
	c := newConn(client, "fuzz")
	t.Cleanup(func() {
		c.Close()
		<-c.Ended()
		<-ended
	})
	return c
}

// inTurn answers with bodies one after the other.
func inTurn(bodies ...[]byte) func(int, []byte) []byte {
	return func(n int, _ []byte) []byte {
		if n >= len(bodies) {
			return nil
		}
		return append([]byte{}, bodies[n]...)
	}
}

// wantWord fails unless err has a phase and a reason that is a word of its own.
func wantWord(t *testing.T, p Phase, err error) {
	t.Helper()
	if e := AsError(p, err); e != nil && (e.Reason == ReasonOther || e.Error() == "") {
		t.Errorf("%v has no reason", err)
	}
}

func body(resp kmsg.Response, version int16) []byte {
	resp.SetVersion(version)
	var head []byte
	if resp.IsFlexible() && resp.Key() != kmsg.ApiVersions.Int16() {
		head = []byte{0}
	}
	return resp.AppendTo(head)
}

// FuzzAPIVersions: whatever a peer answers to ApiVersions, once, twice or three times, the exchange ends, and what was
// agreed on afterwards is a version that both sides can have.
func FuzzAPIVersions(f *testing.F) {
	for version := range int16(6) {
		resp := kmsg.NewPtrApiVersionsResponse()
		key := kmsg.NewApiVersionsResponseApiKey()
		key.ApiKey, key.MaxVersion = 3, 13
		resp.ApiKeys = append(resp.ApiKeys, key)
		good := body(resp, version)
		resp.ErrorCode = 35
		f.Add(good, []byte(nil), true)
		f.Add(body(resp, 0), good, false)
		resp.ErrorCode = 129
		f.Add(body(resp, version), good, true)
	}
	f.Fuzz(func(t *testing.T, first, second []byte, ids bool) {
		asked := 0
		answers := inTurn(first, second, second)
		c := converse(t, func(n int, request []byte) []byte { asked++; return answers(n, request) })
		c.Peer = Peer{Host: "a", Port: 1, NodeID: -1}
		if ids {
			c.Peer.NodeID, c.Peer.ClusterID = 1, "c"
		}
		mismatch, confirmed, err := c.askVersions(t.Context(), "1.0")
		wantWord(t, PhaseAPIVersions, err)
		if (mismatch || confirmed) && !ids || mismatch && confirmed {
			t.Errorf("mismatch %t and confirmed %t, with ids: %t", mismatch, confirmed, ids)
		}
		if err != nil {
			return
		}
		for key, offered := range c.versions {
			req := kmsg.RequestForKey(key)
			if req == nil || c.versions.negotiate(req) != nil {
				continue
			}
			if v := req.GetVersion(); v < 0 || v > req.MaxVersion() || v < offered.min || v > offered.max {
				t.Errorf("version %d of key %d was agreed on, offered are %v", v, key, offered)
			}
		}
	})
}

// FuzzDescribe: a View is fit for labels and for being keyed by id, whatever a peer answers to DescribeCluster and Metadata,
// and it stays as it is when the memory of its frame is used again.
func FuzzDescribe(f *testing.F) {
	cluster, metadata := kmsg.NewPtrDescribeClusterResponse(), kmsg.NewPtrMetadataResponse()
	cluster.ClusterID, metadata.ClusterID = "cluster-a", kmsg.StringPtr("cluster-a")
	for id := range int32(3) {
		b, m := kmsg.NewDescribeClusterResponseBroker(), kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack, b.IsFenced = id, "b", 9092, kmsg.StringPtr("r"), id == 2
		m.NodeID, m.Host, m.Port, m.Rack = id, "b", 9092, kmsg.StringPtr("\xff")
		cluster.Brokers, metadata.Brokers = append(cluster.Brokers, b), append(metadata.Brokers, m)
	}
	for version := range int16(14) {
		f.Add(int16(1), version, body(metadata, version), body(metadata, version), []byte(nil))
	}
	good := body(cluster, 2)
	metadata.Brokers = metadata.Brokers[:1]
	f.Add(int16(2), int16(13), good, good, []byte(nil))
	cluster.Brokers = cluster.Brokers[:1]
	f.Add(int16(2), int16(13), good, body(cluster, 2), []byte(nil))
	cluster.ErrorCode = 31
	f.Add(int16(2), int16(13), body(cluster, 2), body(metadata, 13), good)
	metadata.Brokers = append(metadata.Brokers, metadata.Brokers[0], kmsg.MetadataResponseBroker{NodeID: -1})
	f.Add(int16(1), int16(12), body(metadata, 12), body(metadata, 12), good)
	f.Fuzz(func(t *testing.T, clusterMax, metadataMax int16, first, second, third []byte) {
		c := converse(t, inTurn(first, second, third, first))
		c.versions = versions{3: {0, metadataMax & 15}, 60: {0, clusterMax & 3}}
		one := describeOnce(t, c, nil)
		kept := slices.Clone(one)
		for i := range kept {
			kept[i].Host, kept[i].Rack = strings.Clone(kept[i].Host), strings.Clone(kept[i].Rack)
		}
		two := describeOnce(t, c, one)
		registryOnce(t, c)
		if !slices.Equal(one, kept) {
			t.Errorf("the first list was %v and has become %v", kept, one)
		}
		repaired := func(b BrokerInfo) bool { return strings.ContainsAny(b.Host+b.Rack, "\uFFFD…") }
		if len(two) > 0 && slices.Equal(one, two) && &one[0] != &two[0] && !slices.ContainsFunc(one, repaired) {
			t.Errorf("equal lists are not shared")
		}
	})
}

// registryOnce: what DescribeCluster says can be keyed by id as well, or is an error.
func registryOnce(t *testing.T, c *Conn) {
	registry, err := c.Registry(t.Context())
	if err != nil {
		wantWord(t, PhaseRequest, err)
	}
	seen := make(map[int32]bool)
	for _, b := range registry.Brokers {
		if b.ID < 0 || seen[b.ID] || !utf8.ValidString(b.Host) || !utf8.ValidString(b.Rack) || err != nil || registry.Denied {
			t.Errorf("broker %+v, %v", b, err)
		}
		seen[b.ID] = true
	}
}

func describeOnce(t *testing.T, c *Conn, known []BrokerInfo) []BrokerInfo {
	view, err := c.Describe(t.Context(), known)
	if err != nil {
		wantWord(t, PhaseRequest, err)
		if !strings.HasPrefix(err.Error(), PhaseRequest.String()+": ") || len(view.Brokers) > 0 {
			t.Errorf("%d brokers and %v", len(view.Brokers), err)
		}
		return nil
	}
	seen := make(map[int32]bool)
	for _, b := range view.Brokers {
		if b.ID < 0 || seen[b.ID] || !utf8.ValidString(b.Host) || !utf8.ValidString(b.Rack) {
			t.Errorf("broker %+v", b)
		}
		seen[b.ID] = true
	}
	if len(seen) == 0 || !utf8.ValidString(view.ClusterID) || view.Throttle < 0 { // what is throttled is counted
		t.Errorf("a view of %d brokers of cluster %q, throttled for %s", len(seen), view.ClusterID, view.Throttle)
	}
	return view.Brokers
}

const fuzzPassword = "correct horse battery staple"

var fuzzMechanisms = []sasl.Mechanism{
	plain.Auth{User: "u", Pass: fuzzPassword}.AsMechanism(),
	scram.Auth{User: "u", Pass: fuzzPassword}.AsSha256Mechanism(),
	oauth.Auth{Token: fuzzPassword}.AsMechanism(),
}

// FuzzSASL: whatever a broker says to SaslHandshake and to two SaslAuthenticate, the exchange ends, no secret is in an error,
// and the lifetime of the session is what the broker said (KIP-368). NONCE stands for the client's.
func FuzzSASL(f *testing.F) {
	handshake := body(kmsg.NewPtrSASLHandshakeResponse(), 1)
	for mechanism := range uint8(3) {
		f.Add(mechanism, handshake, int16(0), "", []byte(nil), int64(3600000), int16(0), []byte(nil), int64(0))
		f.Add(mechanism, handshake, int16(58), "no", []byte(nil), int64(0), int16(0), []byte(nil), int64(0))
		f.Add(mechanism, []byte{0, 33, 0, 0, 0, 1, 0, 1, 'X'}, int16(0), "", []byte(nil), int64(0), int16(0), []byte(nil), int64(0))
		f.Add(mechanism, handshake, int16(0), "", []byte(`{"status":"invalid_token"}`), int64(-1), int16(58), []byte(nil), int64(0))
		f.Add(mechanism, handshake, int16(0), "", []byte("r=NONCEx,s=c2FsdA==,i=4096"), int64(0), int16(0), []byte("v=AAAA"), int64(1))
		f.Add(mechanism, handshake, int16(0), "", []byte("r=NONCEx,s=c2FsdA==,i=4096"), int64(0), int16(0), []byte("e=other-error"), int64(1))
	}
	f.Fuzz(func(t *testing.T, mechanism uint8, handshake []byte, code int16, text string, first []byte, told int64, code2 int16, second []byte, told2 int64) {
		last := int64(0)
		c := converse(t, func(n int, request []byte) []byte {
			switch n {
			case 0:
				return append([]byte{}, handshake...)
			case 1:
				last = told
				return authenticated(code, text, strings.ReplaceAll(string(first), "NONCE", nonceOf(request)), told)
			case 2:
				last = told2
				return authenticated(code2, "", string(second), told2)
			}
			return nil
		})
		c.versions = versions{17: {0, 1}, 36: {0, 2}}
		d := &Dialer{Timeout: time.Minute, SASL: func(context.Context, string) (sasl.Mechanism, error) {
			return fuzzMechanisms[int(mechanism)%len(fuzzMechanisms)], nil
		}}
		began := time.Now()
		err := d.login(t.Context(), c)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the exchange took %s", took)
		}
		wantWord(t, PhaseSASL, err)
		if err != nil && strings.Contains(err.Error(), fuzzPassword) {
			t.Errorf("a secret is in %v", err)
		}
		_, lifetime, ok := c.Expires()
		if err == nil && (ok != (last > 0) || ok && (lifetime.Milliseconds() > last || lifetime.Milliseconds() < min(last, 1e12))) {
			t.Errorf("a lifetime of %s (%t) for %d ms", lifetime, ok, last)
		}
	})
}

func authenticated(code int16, text, message string, lifetime int64) []byte {
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	resp.ErrorCode, resp.SASLAuthBytes, resp.SessionLifetimeMillis = code, []byte(message), lifetime
	if text != "" {
		resp.ErrorMessage = &text
	}
	return body(resp, 2)
}

// nonceOf returns the client's nonce out of SCRAM's first message, which is the end of the request but for its tags.
func nonceOf(request []byte) string {
	_, nonce, _ := strings.Cut(string(request[:max(0, len(request)-1)]), ",r=")
	return nonce
}
