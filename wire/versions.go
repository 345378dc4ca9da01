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

// askVersions performs the ApiVersions exchange, beginning with the form that the peer is to be asked in. A broker that does not
// know its version says UNSUPPORTED_VERSION, and is asked again. With known ids, a broker of Kafka 4.4 or later refuses to be
// taken for another (KIP-1242): askVersions then asks once more without them and returns mismatch.
func (c *Conn) askVersions(ctx context.Context, softwareVersion string) (mismatch, confirmed bool, err error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName = softwareName
	req.ClientSoftwareVersion = softwareVersion
	c.Form = c.Peer.form()
	if req.Version = c.Form.Version(); c.Form == FormIdentified {
		req.ClusterID, req.NodeID = &c.Peer.ClusterID, c.Peer.NodeID
	}
	resp, err := c.askUntilKnown(ctx, req)
	if err != nil {
		return false, false, err
	}
	if resp.ErrorCode == kerr.RebootstrapRequired.Code && req.ClusterID != nil {
		mismatch = true
		req.ClusterID, req.NodeID = nil, -1
		if resp, err = c.askUntilKnown(ctx, req); err != nil {
			return mismatch, false, err
		}
	}
	if resp.ErrorCode == kerr.UnsupportedVersion.Code {
		return mismatch, false, because(ReasonUnsupportedVersion, "the broker refuses ApiVersions in version %d, which all clients know", req.Version)
	}
	if resp.ErrorCode != 0 {
		return mismatch, false, kafkaError("ApiVersions", resp.ErrorCode, nil)
	}
	c.versions, c.APIVersions = versionsOf(resp), resp.Version
	c.old.Store(!c.versions.offers(kmsg.Metadata.Int16(), 1))
	return mismatch, resp.Version >= 5 && req.ClusterID != nil, nil
}

// askUntilKnown asks again while the answer is UNSUPPORTED_VERSION: in the version that the broker then names, if its answer is
// the one of KIP-511 and names one, and at last in version 0. What else such an answer holds does not matter: several
// implementations send none of it, or all in the version that they do not know.
func (c *Conn) askUntilKnown(ctx context.Context, req *kmsg.ApiVersionsRequest) (*kmsg.ApiVersionsResponse, error) {
	for {
		frame, err := c.exchange(ctx, req, c.calls)
		if err != nil {
			return nil, err
		}
		body := frame[headerSize:]
		if len(body) < 2 || int16(binary.BigEndian.Uint16(body)) != kerr.UnsupportedVersion.Code {
			resp, err := decode(req, body)
			if err != nil {
				return nil, err
			}
			return resp.(*kmsg.ApiVersionsResponse), nil
		}
		if req.Version == 0 {
			return &kmsg.ApiVersionsResponse{ErrorCode: kerr.UnsupportedVersion.Code}, nil
		}
		req.Version = versionNamed(body, req.Version)
	}
}

// versionNamed returns the highest version of ApiVersions below asked that an UNSUPPORTED_VERSION answer offers, or 0.
func versionNamed(body []byte, asked int16) int16 {
	var resp kmsg.ApiVersionsResponse // of version 0
	if resp.ReadFrom(body) != nil {
		return 0
	}
	if offered := versionsOf(&resp)[kmsg.ApiVersions.Int16()].max; offered < asked {
		return offered
	}
	return 0
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
