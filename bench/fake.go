package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is one broker of a fake cluster.
type member struct {
	id   int32
	host string
	port int32
}

// fake answers for all brokers of a cluster. wiretest's scripted brokers build each answer anew, for n brokers n entries;
// here each is encoded once, so that ten thousand brokers cost little more than the kernel's work.
type fake struct {
	members []member
	mu      sync.Mutex
	bodies  map[[2]int16][]byte // by key and version
	conns   map[net.Conn]bool
	mute    bool // connections stay open and are not answered
}

func newFake() *fake {
	return &fake{bodies: make(map[[2]int16][]byte), conns: make(map[net.Conn]bool)}
}

const fakeClusterID = "MkU3OEVBNTcwNTJENDM2Qk"

// offered is what a broker of Kafka 4.4 offers of what the clients here ask for.
var offered = []struct {
	key  kmsg.Key
	last int16
}{{kmsg.Metadata, 13}, {kmsg.ApiVersions, 5}, {kmsg.DescribeCluster, 2}}

// accept serves every connection to l until it is closed.
func (f *fake) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go f.serve(conn)
	}
}

func (f *fake) serve(conn net.Conn) {
	f.mu.Lock()
	f.conns[conn] = true
	f.mu.Unlock()
	defer func() {
		_ = conn.Close()
		f.mu.Lock()
		delete(f.conns, conn)
		f.mu.Unlock()
	}()
	r := bufio.NewReaderSize(conn, 512)
	for {
		var head [12]byte // length, key, version, correlation id
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		if _, err := r.Discard(int(binary.BigEndian.Uint32(head[:])) - 8); err != nil {
			return
		}
		body, silent := f.answer(int16(binary.BigEndian.Uint16(head[4:])), int16(binary.BigEndian.Uint16(head[6:])))
		if silent {
			continue
		}
		binary.BigEndian.PutUint32(head[:], uint32(len(body)+4))
		copy(head[4:], head[8:])
		frame := net.Buffers{head[:8], body}
		if _, err := frame.WriteTo(conn); err != nil || body == nil {
			return
		}
	}
}

// answer returns what follows the correlation id, nil for a request that is not offered.
func (f *fake) answer(key, version int16) (body []byte, silent bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mute {
		return nil, true
	}
	body, ok := f.bodies[[2]int16{key, version}]
	if !ok {
		body = f.encode(key, version)
		f.bodies[[2]int16{key, version}] = body
	}
	return body, false
}

func (f *fake) encode(key, version int16) []byte {
	var resp kmsg.Response
	for _, o := range offered {
		if o.key.Int16() == key && version <= o.last {
			resp = kmsg.ResponseForKey(key)
		}
	}
	unknown := resp == nil && key == kmsg.ApiVersions.Int16() // KIP-511: the answer comes in version 0
	if unknown {
		resp, version = kmsg.NewPtrApiVersionsResponse(), 0
	}
	if resp == nil {
		return nil
	}
	resp.SetVersion(version)
	switch r := resp.(type) {
	case *kmsg.ApiVersionsResponse:
		f.fillVersions(r, unknown)
	case *kmsg.MetadataResponse:
		f.fillMetadata(r)
	case *kmsg.DescribeClusterResponse:
		f.fillCluster(r)
	}
	var body []byte
	if resp.IsFlexible() && key != kmsg.ApiVersions.Int16() {
		body = []byte{0} // the header's tagged fields
	}
	return resp.AppendTo(body)
}

func (f *fake) fillVersions(r *kmsg.ApiVersionsResponse, unknown bool) {
	if unknown {
		r.ErrorCode = kerr.UnsupportedVersion.Code
	}
	for _, o := range offered {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = o.key.Int16(), o.last
		r.ApiKeys = append(r.ApiKeys, k)
	}
}

func (f *fake) fillMetadata(r *kmsg.MetadataResponse) {
	r.ClusterID, r.ControllerID = kmsg.StringPtr(fakeClusterID), f.members[0].id
	for _, m := range f.members {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = m.id, m.host, m.port, rack(m)
		r.Brokers = append(r.Brokers, b)
	}
}

func (f *fake) fillCluster(r *kmsg.DescribeClusterResponse) {
	r.ClusterID, r.ControllerID = fakeClusterID, f.members[0].id
	for _, m := range f.members {
		b := kmsg.NewDescribeClusterResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = m.id, m.host, m.port, rack(m)
		r.Brokers = append(r.Brokers, b)
	}
}

func rack(m member) *string { return kmsg.StringPtr(fmt.Sprintf("zone-%d", m.id%3)) }

// open returns the connections that are open now.
func (f *fake) open() (all []*net.TCPConn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.conns {
		all = append(all, conn.(*net.TCPConn))
	}
	return all
}

// silence stops all answers.
func (f *fake) silence() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mute = true
}
