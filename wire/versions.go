package wire

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// softwareName is told to brokers. They refuse everything but letters, digits, hyphens and dots (KIP-511).
const softwareName = "kafka-connection-exporter"

// versionRange is what a broker offers for one kind of request, both ends included.
type versionRange struct{ min, max int16 }

// versions maps a request's key to what the broker offers.
type versions map[int16]versionRange

// negotiate sets req to the highest version that both sides know. A nil versions knows nothing and so forbids all.
func (v versions) negotiate(req kmsg.Request) error {
	name := kmsg.NameForKey(req.Key())
	offered, ok := v[req.Key()]
	if !ok {
		return because(ReasonUnsupportedVersion, "the broker does not offer %s (key %d)", name, req.Key())
	}
	version := min(offered.max, req.MaxVersion())
	if version < offered.min {
		return because(ReasonUnsupportedVersion, "the broker offers %s (key %d) in versions %d to %d, we know up to %d",
			name, req.Key(), offered.min, offered.max, req.MaxVersion())
	}
	req.SetVersion(version)
	return nil
}

// offers says whether the broker offers a request in at least version atLeast.
func (v versions) offers(key, atLeast int16) bool {
	offered, ok := v[key]
	return ok && offered.max >= atLeast
}

// askVersions performs the ApiVersions exchange. It starts with our highest version; a broker that does not know it
// answers UNSUPPORTED_VERSION in the format of version 0, with the versions that it does know where it is new enough
// (KIP-511), and gets a second request. With known ids, a broker of Kafka 4.4 or later refuses to be taken for another
// (KIP-1242): askVersions then asks once more without them and returns mismatch.
func (c *Conn) askVersions(ctx context.Context, softwareVersion string) (mismatch, confirmed bool, err error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName = softwareName
	req.ClientSoftwareVersion = softwareVersion
	req.Version = req.MaxVersion()
	if c.Peer.ClusterID != "" && c.Peer.NodeID >= 0 {
		req.ClusterID, req.NodeID = &c.Peer.ClusterID, c.Peer.NodeID
	}
	resp, err := c.askOnce(ctx, req)
	if err != nil {
		return false, false, err
	}
	if resp.ErrorCode == kerr.UnsupportedVersion.Code {
		req.Version = min(versionsOf(resp)[req.Key()].max, req.MaxVersion())
		resp, err = c.askOnce(ctx, req)
	} else if resp.ErrorCode == kerr.RebootstrapRequired.Code && req.ClusterID != nil {
		mismatch = true
		req.ClusterID, req.NodeID = nil, -1
		resp, err = c.askOnce(ctx, req)
	}
	if err != nil {
		return mismatch, false, err
	}
	if resp.ErrorCode == kerr.UnsupportedVersion.Code {
		return mismatch, false, because(ReasonUnsupportedVersion, "the broker refuses ApiVersions in version %d, which it has offered itself", req.Version)
	}
	if resp.ErrorCode != 0 {
		return mismatch, false, kafkaError("ApiVersions", resp.ErrorCode, nil)
	}
	c.versions = versionsOf(resp)
	c.old.Store(!c.versions.offers(kmsg.Metadata.Int16(), 1))
	return mismatch, resp.Version >= 5 && req.ClusterID != nil, nil
}

// askOnce sends one ApiVersions request and reads an UNSUPPORTED_VERSION answer in the format that it comes in.
func (c *Conn) askOnce(ctx context.Context, req *kmsg.ApiVersionsRequest) (*kmsg.ApiVersionsResponse, error) {
	frame, err := c.exchange(ctx, req, c.calls)
	if err != nil {
		return nil, err
	}
	asked, body := *req, frame[headerSize:]
	if len(body) >= 2 && int16(binary.BigEndian.Uint16(body)) == kerr.UnsupportedVersion.Code {
		asked.Version = 0
	}
	resp, err := decode(&asked, body)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.ApiVersionsResponse), nil
}

func versionsOf(resp *kmsg.ApiVersionsResponse) versions {
	offered := make(versions, len(resp.ApiKeys))
	for _, k := range resp.ApiKeys {
		if k.MaxVersion >= max(k.MinVersion, 0) { // no broker offers anything else
			offered[k.ApiKey] = versionRange{max(k.MinVersion, 0), k.MaxVersion}
		}
	}
	return offered
}

// decode reads the answer to req. What does not decode breaks the protocol.
func decode(req kmsg.Request, body []byte) (kmsg.Response, error) {
	resp := req.ResponseKind()
	if err := decodeInto(resp.ReadFrom, req, body); err != nil {
		return nil, err
	}
	return resp, nil
}

// decodeInto lets read, which is an answer's decoder, read what follows the answer's header.
func decodeInto(read func([]byte) error, req kmsg.Request, body []byte) error {
	name := kmsg.NameForKey(req.Key())
	// The header of a flexible answer ends in tagged fields; ApiVersions has none there, so that old clients can read it.
	if req.IsFlexible() && req.Key() != kmsg.ApiVersions.Int16() {
		rest, err := skipTags(body)
		if err != nil {
			return because(ReasonProtocol, "the header of the %s answer: %w", name, err)
		}
		body = rest
	}
	if err := read(body); err != nil {
		return because(ReasonProtocol, "the %s answer (version %d, %d bytes) does not decode: %w", name, req.GetVersion(), len(body), err)
	}
	return nil
}

func kafkaError(what string, code int16, message *string) error {
	text := ""
	if message != nil && *message != "" {
		text = ": " + *message
	}
	return because(ReasonKafkaError, "%s answered %w%s", what, kerr.TypedErrorForCode(code), text)
}

// skipTags returns what follows the tagged fields (KIP-482) at the start of b.
func skipTags(b []byte) ([]byte, error) {
	next := func() (uint64, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, false
		}
		b = b[n:]
		return v, true
	}
	count, ok := next()
	for ; ok && count > 0; count-- {
		_, ok = next()
		size, sized := next()
		if !ok || !sized || size > uint64(len(b)) {
			return nil, errCutTags
		}
		b = b[size:]
	}
	if !ok {
		return nil, errCutTags
	}
	return b, nil
}

var errCutTags = errors.New("its tagged fields are cut off")
