package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime/metrics"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzReadFrame: whatever a peer sends, there is a frame within the limit or an error, and never more memory than bytes.
func FuzzReadFrame(f *testing.F) {
	for _, seed := range []string{"", "\x00", "\x00\x00\x00\x04abcd", "\x15\x03\x03\x00\x02\x02\x46", "HTTP/1.1", "\x7f\xff\xff\xff", "\xff\xff\xff\xff", "\x00\x0f\x00\x00abc"} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, input []byte, first bool) {
		frame, err := readFrame(bytes.NewReader(input), firstFrameLimit, first)
		if err == nil && (len(frame) < 4 || len(frame) > len(input)-4) {
			t.Errorf("a frame of %d bytes out of %d", len(frame), len(input))
		}
		if err != nil && AsError(PhaseAPIVersions, err).Reason == ReasonOther {
			t.Errorf("%v has no reason", err)
		}
		if cap(frame) > 2*max(len(input), frameChunk) {
			t.Errorf("%d bytes of memory for %d of input", cap(frame), len(input))
		}
	})
}

// perByte is how much memory a byte of an answer may cost: kmsg believes the length of an array only as far as the bytes
// that are left could hold it, and keeps unknown tags, of two bytes at least, in a map.
const perByte = 128

// allocated returns how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// FuzzDecode: no answer makes a decoder panic or takes memory out of proportion, and every failure breaks the protocol.
func FuzzDecode(f *testing.F) {
	requests := []kmsg.Request{
		kmsg.NewPtrApiVersionsRequest(), kmsg.NewPtrMetadataRequest(), kmsg.NewPtrDescribeClusterRequest(),
		kmsg.NewPtrDescribeConfigsRequest(), kmsg.NewPtrSASLHandshakeRequest(), kmsg.NewPtrSASLAuthenticateRequest(),
	}
	for i, req := range requests {
		for version := range req.MaxVersion() + 1 {
			req.SetVersion(version)
			resp := req.ResponseKind()
			var body []byte
			if req.IsFlexible() && req.Key() != kmsg.ApiVersions.Int16() {
				body = []byte{0}
			}
			f.Add(uint8(i), version, resp.AppendTo(body))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, version int16, body []byte) {
		req := kmsg.RequestForKey(requests[int(kind)%len(requests)].Key())
		if version < 0 || version > req.MaxVersion() {
			return
		}
		req.SetVersion(version)
		var known *reasoned
		before := allocated()
		_, err := decode(req, body)
		if cost := allocated() - before; cost > 1<<20+perByte*uint64(len(body)) {
			t.Errorf("%d bytes of memory for an answer of %d", cost, len(body))
		}
		if err != nil && (!errors.As(err, &known) || known.reason != ReasonProtocol) {
			t.Errorf("%v is not a breach of the protocol", err)
		}
	})
}

func TestSkipTags(t *testing.T) {
	long := binary.AppendUvarint(nil, 1<<40)
	for _, c := range []struct {
		in   []byte
		rest string
		bad  bool
	}{
		{[]byte{0}, "", false},
		{[]byte("\x00rest"), "rest", false},
		{[]byte("\x01\x05\x02abrest"), "rest", false},
		{[]byte("\x02\x00\x00\x01\x01xrest"), "rest", false},
		{nil, "", true},
		{[]byte{1}, "", true},
		{[]byte{1, 0}, "", true},
		{[]byte("\x01\x00\x03ab"), "", true},
		{append([]byte{1, 0}, long...), "", true},
		{long, "", true},
	} {
		rest, err := skipTags(c.in)
		if string(rest) != c.rest || (err != nil) != c.bad {
			t.Errorf("skipTags(%q) = %q, %v", c.in, rest, err)
		}
	}
}
