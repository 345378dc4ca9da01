package wire

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// identify finds out whether the peer is the broker that was meant. ApiVersions of Kafka 4.4 has already told (mismatch
// or confirmed); the cluster's id is in every answer about the cluster; an older broker tells its id by refusing to
// describe another broker's configuration, if it permits the question at all. A seed has no id, and which cluster it
// belongs to is for whoever reads its answers.
func (c *Conn) identify(ctx context.Context, mismatch, confirmed bool) error {
	if c.Peer.NodeID < 0 {
		return nil
	}
	if confirmed && !mismatch {
		c.Identity = IdentityVerified
		return nil
	}
	if err := c.checkCluster(ctx); err != nil {
		return err
	}
	if mismatch {
		c.Identity = IdentityWrong
		return because(ReasonMisrouted, "the peer says that it is not broker %d", c.Peer.NodeID)
	}
	return c.checkNode(ctx)
}

func (c *Conn) checkCluster(ctx context.Context) error {
	if c.Peer.ClusterID == "" {
		return nil
	}
	view, err := c.metadata(ctx, nil)
	if err != nil {
		return err
	}
	if view.ClusterID != "" && view.ClusterID != c.Peer.ClusterID {
		c.Identity = IdentityWrong
		return because(ReasonWrongCluster, "the peer belongs to cluster %q, not to %q", view.ClusterID, c.Peer.ClusterID)
	}
	return nil
}

// checkNode asks for one configuration value of the broker with our id. The broker with that id answers it, any other
// answers INVALID_REQUEST and names its own id in the text. Without the right to ask nothing is known, nor from another text or
// none: a proxy that does not support the question says INVALID_REQUEST, too.
func (c *Conn) checkNode(ctx context.Context) error {
	c.Identity = IdentityUnverified
	if c.Peer.NoQuestion || !c.versions.offers(kmsg.DescribeConfigs.Int16(), 0) {
		return nil
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType = kmsg.ConfigResourceTypeBroker
	resource.ResourceName = strconv.Itoa(int(c.Peer.NodeID))
	resource.ConfigNames = []string{"broker.id"}
	req.Resources = append(req.Resources, resource)
	if err := c.versions.negotiate(req); err != nil {
		return nil
	}
	answer, err := c.roundTrip(ctx, req)
	if err != nil {
		known := AsError(PhaseIdentity, err)
		return &Error{known.Phase, known.Reason, fmt.Errorf("%w: %w", errQuestion, known.Err)}
	}
	for _, r := range answer.(*kmsg.DescribeConfigsResponse).Resources {
		switch r.ErrorCode {
		case 0:
			c.Identity = IdentityVerified
		case kerr.InvalidRequest.Code:
			if !namesAnother(deref(r.ErrorMessage), c.Peer.NodeID) {
				continue
			}
			c.Identity = IdentityWrong
			return because(ReasonMisrouted, "the peer is not broker %d: %s", c.Peer.NodeID, deref(r.ErrorMessage))
		}
	}
	return nil
}

// itsID finds the id in "Unexpected broker id, expected 1 or empty string, but received 2" of Kafka.
var itsID = regexp.MustCompile(`expected (\d+)`)

// namesAnother says whether the text names an id as the peer's own that is not id.
func namesAnother(text string, id int32) bool {
	found := itsID.FindStringSubmatch(text)
	return found != nil && found[1] != strconv.Itoa(int(id))
}
