package wiretest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"regexp"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a Script may return instead of an answer.
var (
	ErrSilence = errors.New("do not answer, go on reading")
	ErrHang    = errors.New("close the connection")
)

// Request is one request as a broker sees it.
type Request struct {
	kmsg.Request
	ClientID string
	Session  *Session
}

// Session is what a broker remembers of one connection.
type Session struct {
	Requests []int16 // keys in order
	Values   map[string]any
}

// softwareWord is what brokers accept as the name and the version of a client (KIP-511).
var softwareWord = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

// Script answers one request, or returns ErrSilence, ErrHang or a Raw.
type Script func(r Request) (kmsg.Response, error)

// Raw is an answer of bytes that are sent as they are, length and correlation id included.
type Raw []byte

// Error makes Raw usable as a Script's error.
func (r Raw) Error() string { return "send raw bytes" }

// Versions is what a broker offers: by key the lowest and the highest version.
type Versions map[int16][2]int16

// Old is a broker before KIP-511, Common one before KIP-1242, Modern one of Kafka 4.4.
var (
	Old    = Versions{3: {0, 8}, 17: {0, 1}, 18: {0, 2}, 32: {0, 2}, 36: {0, 1}}
	Common = Versions{3: {0, 12}, 17: {0, 1}, 18: {0, 4}, 32: {1, 4}, 36: {0, 2}, 60: {0, 1}}
	Modern = Versions{3: {0, 13}, 17: {0, 1}, 18: {0, 5}, 32: {1, 4}, 36: {0, 2}, 60: {0, 2}}
)

// Broker is a scripted broker. Its zero scripts behave well; a test replaces those that shall not.
type Broker struct {
	mu       sync.Mutex
	id       int32
	cluster  *Cluster
	versions Versions
	scripts  map[int16]Script
}

// NewBroker returns a broker that is no member of its cluster's list by itself.
func NewBroker(id int32, cluster *Cluster, versions Versions) *Broker {
	return &Broker{id: id, cluster: cluster, versions: versions, scripts: make(map[int16]Script)}
}

// On replaces the script for one kind of request from now on; nil restores the good behaviour.
func (b *Broker) On(key kmsg.Key, script Script) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if script == nil {
		delete(b.scripts, key.Int16())
		return
	}
	b.scripts[key.Int16()] = script
}

// Serve answers the requests on one connection until it ends.
func (b *Broker) Serve(conn net.Conn) {
	session := &Session{Values: make(map[string]any)}
	for {
		frame, err := readFrame(conn)
		if err != nil {
			return
		}
		answer, err := b.answer(session, frame)
		var raw Raw
		switch {
		case errors.Is(err, ErrSilence):
			continue
		case errors.As(err, &raw):
			answer = raw
		case err != nil:
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var size int32
	if err := binary.Read(r, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	if size < 0 || size > 1<<20 {
		return nil, fmt.Errorf("a frame of %d bytes", size)
	}
	frame := make([]byte, size)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// answer parses a request frame, has it answered and returns the answer's frame.
func (b *Broker) answer(session *Session, frame []byte) ([]byte, error) {
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	correlationID, rest := frame[4:8], frame[8:]
	clientID := ""
	if n := int16(binary.BigEndian.Uint16(rest)); n >= 0 {
		clientID, rest = string(rest[2:2+n]), rest[n:]
	}
	rest = rest[2:]
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	if req.IsFlexible() {
		rest = rest[1:] // no tagged fields
	}
	session.Requests = append(session.Requests, key)
	offered, ok := b.versions[key]
	known := ok && version >= offered[0] && version <= offered[1]
	if known {
		if err := req.ReadFrom(rest); err != nil {
			return nil, err
		}
	}
	resp, err := b.respond(Request{req, clientID, session}, known)
	if err != nil {
		return nil, err
	}
	out := append([]byte{0, 0, 0, 0}, correlationID...)
	if resp.IsFlexible() && key != kmsg.ApiVersions.Int16() {
		out = append(out, 0)
	}
	out = resp.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out, nil
}

func (b *Broker) respond(r Request, known bool) (kmsg.Response, error) {
	b.mu.Lock()
	script := b.scripts[r.Key()]
	b.mu.Unlock()
	switch {
	case script != nil:
		return script(r)
	case !known && r.Key() != kmsg.ApiVersions.Int16():
		return nil, ErrHang // as Kafka does
	}
	return b.Well(r)
}

// Well is the good behaviour, for scripts that only change a part of it.
func (b *Broker) Well(r Request) (kmsg.Response, error) {
	switch req := r.Request.(type) {
	case *kmsg.ApiVersionsRequest:
		resp := b.apiVersions(req.Version)
		if req.Version > b.versions[req.Key()][1] { // as KIP-511 wants it
			resp.Version, resp.ErrorCode = 0, kerr.UnsupportedVersion.Code
			return resp, nil
		}
		if req.Version >= 3 && (!softwareWord.MatchString(req.ClientSoftwareName) || !softwareWord.MatchString(req.ClientSoftwareVersion)) {
			resp.ErrorCode, resp.ApiKeys = kerr.InvalidRequest.Code, nil
		}
		if req.ClusterID != nil && (*req.ClusterID != b.cluster.ID() || req.NodeID != b.id) {
			resp.ErrorCode, resp.ApiKeys = kerr.RebootstrapRequired.Code, nil
		}
		return resp, nil
	case *kmsg.MetadataRequest:
		return b.cluster.metadata(req), nil
	case *kmsg.DescribeClusterRequest:
		return b.cluster.describe(req), nil
	case *kmsg.DescribeConfigsRequest:
		return b.describeConfigs(req), nil
	case *kmsg.SASLHandshakeRequest:
		resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
		resp.ErrorCode = kerr.IllegalSaslState.Code
		return resp, nil
	}
	return nil, ErrHang
}

func (b *Broker) apiVersions(version int16) *kmsg.ApiVersionsResponse {
	resp := &kmsg.ApiVersionsResponse{Version: version}
	resp.Default()
	for _, key := range slices.Sorted(maps.Keys(b.versions)) {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = key, b.versions[key][0], b.versions[key][1]
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return resp
}

func (b *Broker) describeConfigs(req *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	for _, asked := range req.Resources {
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName = asked.ResourceType, asked.ResourceName
		if asked.ResourceName != fmt.Sprint(b.id) {
			r.ErrorCode = kerr.InvalidRequest.Code
			r.ErrorMessage = kmsg.StringPtr(fmt.Sprintf("Unexpected broker id, expected %d or empty string, but received %s", b.id, asked.ResourceName))
		}
		resp.Resources = append(resp.Resources, r)
	}
	return resp
}
