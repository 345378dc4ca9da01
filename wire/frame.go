package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
)

const (
	// firstFrameLimit bounds the answer to ApiVersions, the first thing a peer says. No broker's is longer than a few
	// kilobytes; what is longer comes from a peer that speaks another protocol.
	firstFrameLimit = 1 << 20
	// frameLimit bounds every later frame: a list of 100,000 brokers is shorter.
	frameLimit = 8 << 20
	// oldFrameLimit is for brokers before 0.10, which know no Metadata without all their topics.
	oldFrameLimit = 64 << 20
	// frameChunk is how much is allocated ahead of the bytes that have arrived: a length alone costs no memory.
	frameChunk = 64 << 10
)

// readFrame reads one length-prefixed frame of at most limit bytes and returns it without its length. With first set, the
// length is judged as the first four bytes of an unknown peer.
func readFrame(r io.Reader, limit int, first bool) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(head[:])))
	if size < 4 || size > int64(limit) {
		return nil, badLength(head[:], size, limit, first)
	}
	frame := newFrame(int(size))
	for len(frame) < int(size) {
		have := len(frame)
		frame = slices.Grow(frame, min(int(size)-have, max(frameChunk, have)))
		n, err := io.ReadFull(r, frame[have:min(cap(frame), int(size))])
		frame = frame[:have+n]
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("the peer closed the connection after %d of %d bytes of a frame: %w", len(frame), size, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return nil, err
		}
	}
	return frame, nil
}

// The sizes of frames that are worth to be used again: in a large cluster they are lists of its brokers, each as long as the
// last one, and many a second.
const minSpare, maxSpare = 4 << 10, 1 << 20

var spareFrames sync.Pool // of *[]byte

// newFrame returns room for a frame, but never more than frameChunk that is not a used one.
func newFrame(size int) []byte {
	if size >= minSpare {
		if spare, ok := spareFrames.Get().(*[]byte); ok && cap(*spare) >= size {
			return (*spare)[:0]
		}
	}
	return make([]byte, 0, min(size, frameChunk))
}

// recycle takes back a frame that nothing refers to any more.
func recycle(frame []byte) {
	if minSpare <= cap(frame) && cap(frame) <= maxSpare {
		spareFrames.Put(&frame)
	}
}

func badLength(head []byte, size int64, limit int, first bool) error {
	if first {
		if reason, what := nameOfForeigner(head); reason != ReasonOther {
			return because(reason, "the peer answered with %q: it speaks %s, not Kafka", head, what)
		}
	}
	if size > int64(limit) {
		return because(ReasonFrameTooLarge, "the peer announced a frame of %d bytes, the limit is %d", size, limit)
	}
	if first {
		return because(ReasonNotKafka, "the peer's first bytes %x are no length of a Kafka frame", head)
	}
	return because(ReasonProtocol, "the peer announced a frame of %d bytes, too short for a correlation id", size)
}

// nameOfForeigner tells from the first four bytes what a peer speaks. Read as a length, they are between 340 MB and 2 GB.
func nameOfForeigner(head []byte) (Reason, string) {
	if head[0] >= 0x14 && head[0] <= 0x17 && head[1] == 3 {
		return ReasonPeerSpeaksTLS, "TLS"
	}
	if string(head) == "HTTP" {
		return ReasonPeerSpeaksHTTP, "HTTP"
	}
	for _, b := range head {
		if b != '\r' && b != '\n' && (b < ' ' || b > '~') {
			return ReasonOther, ""
		}
	}
	return ReasonNotKafka, "a text protocol"
}

// reasonForNonTLS tells what a peer speaks that answered a TLS ClientHello with something else, or with TLS records that make no
// sense.
func reasonForNonTLS(record []byte) Reason {
	if len(record) >= 4 && string(record[:4]) == "HTTP" {
		return ReasonPeerSpeaksHTTP
	}
	const changeCipherSpec, heartbeat, major = 20, 24, 3 // the kinds of records, and the version that they all begin with
	if len(record) >= 2 && record[0] >= changeCipherSpec && record[0] <= heartbeat && record[1] == major {
		return ReasonProtocol
	}
	return ReasonPeerIsPlaintext
}
