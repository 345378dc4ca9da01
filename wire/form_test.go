package wire_test

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// TestCaseC51UnsupportedVersion: the error code is what counts, not what follows it.
// Done: UNSUPPORTED_VERSION with what librdkafka's mock broker sends behind it, with nothing, an empty list, a flexible list, and half of one
// Shows: a connection, by version 0
func TestCaseC51UnsupportedVersion(t *testing.T) {
	for name, body := range map[string]string{
		"librdkafka's mock": "00230100120000000200000000",
		"code alone":        "0023",
		"version 0, empty":  "002300000000",
		"flexible":          "00230200120000000400" + "0000000000",
		"cut off":           "0023000000010012",
		"only itself again": "0023000000010012" + "00000005",
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			b := s.broker(wiretest.Common)
			b.On(kmsg.ApiVersions, func(r wiretest.Request) (kmsg.Response, error) {
				if r.GetVersion() == 0 {
					return b.Well(r)
				}
				return nil, framed(t, r, body)
			})
			s.listen(b.Serve)
			if conn := s.dial(); conn.APIVersions != 0 {
				t.Errorf("answered in version %d", conn.APIVersions)
			}
		})
	}
}

// framed returns the body as the answer to the connection's request.
func framed(t *testing.T, r wiretest.Request, body string) wiretest.Raw {
	raw, err := hex.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(raw)+4))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(r.Session.Requests)))
	return append(frame, raw...)
}

// TestForms: each is asked as it says, and who hangs up on it is told from who fails otherwise.
func TestForms(t *testing.T) {
	for form, want := range map[wire.Form]int16{wire.FormIdentified: 5, wire.FormPlain: 4, wire.FormOldest: 0} {
		s := newStage(t)
		var ids bool
		b := s.broker(wiretest.Modern)
		b.On(kmsg.ApiVersions, func(r wiretest.Request) (kmsg.Response, error) {
			ids = r.Request.(*kmsg.ApiVersionsRequest).ClusterID != nil
			return b.Well(r)
		})
		s.listen(b.Serve)
		s.peer.Form = form
		if conn := s.dial(); conn.APIVersions != want || conn.Form != form || ids != (form == wire.FormIdentified) {
			t.Errorf("form %d: version %d, ids %t", form, conn.APIVersions, ids)
		}
	}
	for name, c := range map[string]struct {
		handler func(net.Conn)
		want    bool
	}{
		"closes":       {func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1024)) }, true},
		"resets":       {wiretest.Reset, true},
		"says a bit":   {wiretest.Says([]byte{0, 0}), false},
		"is not Kafka": {wiretest.Says([]byte("HTTP/1.1 400")), false},
	} {
		s := newStage(t)
		s.listen(c.handler)
		_, _, err := s.dialer.Dial(t.Context(), s.peer)
		if typed := wire.AsError(wire.PhaseDial, err); typed == nil || typed.HungUp() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
