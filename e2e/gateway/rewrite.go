//go:build e2e

package gateway

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxFrame is no limit of Kafka's, but what these tests could need, in bytes.
const maxFrame = 64 << 20

var errShort = errors.New("a frame that ends in its header")

// request is what of a request tells how to read its answer.
type request struct {
	key     kmsg.Key
	version int16
}

// session is one client's connection.
type session struct {
	gateway *Gateway

	mu    sync.Mutex
	asked map[int32]request // by correlation id
}

// note remembers what is asked. Requests go through as they are.
func (s *session) note(frame []byte) ([]byte, error) {
	if len(frame) < 8 {
		return nil, errShort
	}
	r := request{kmsg.Key(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[int32(binary.BigEndian.Uint32(frame[4:]))] = r
	return frame, nil
}

// rewrite puts outer addresses into the answers that clients take them from.
func (s *session) rewrite(frame []byte) ([]byte, error) {
	if len(frame) < 4 {
		return nil, errShort
	}
	id := int32(binary.BigEndian.Uint32(frame))
	s.mu.Lock()
	r, ok := s.asked[id]
	delete(s.asked, id)
	s.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("an answer that nobody asked for, correlation id %d", id)
	}
	var answer kmsg.Response
	switch r.key {
	case kmsg.Metadata:
		answer = kmsg.NewPtrMetadataResponse()
	case kmsg.FindCoordinator:
		answer = kmsg.NewPtrFindCoordinatorResponse()
	default:
		return frame, nil
	}
	answer.SetVersion(r.version)
	header := frame[:4]
	if answer.IsFlexible() {
		header = frame[:min(5, len(frame))] // the count of tagged fields, which no broker sends here
	}
	if err := answer.ReadFrom(frame[len(header):]); err != nil {
		return nil, fmt.Errorf("answer to key %d version %d: %w", r.key, r.version, err)
	}
	s.gateway.translate(answer)
	return answer.AppendTo(append([]byte{}, header...)), nil
}

func (g *Gateway) translate(answer kmsg.Response) {
	switch a := answer.(type) {
	case *kmsg.MetadataResponse:
		for i := range a.Brokers {
			g.replace(&a.Brokers[i].Host, &a.Brokers[i].Port)
		}
	case *kmsg.FindCoordinatorResponse:
		g.replace(&a.Host, &a.Port)
		for i := range a.Coordinators {
			g.replace(&a.Coordinators[i].Host, &a.Coordinators[i].Port)
		}
	}
}

func (g *Gateway) replace(host *string, port *int32) {
	if outer, ok := g.outer[address{*host, *port}]; ok {
		*host, *port = outer.host, outer.port
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var size int32
	if err := binary.Read(r, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	if size < 0 || size > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes", size)
	}
	frame := make([]byte, size)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

func writeFrame(w io.Writer, frame []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	return err
}
