package wire

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
)

// roundTripper sends a request in the version that it carries and returns the decoded answer.
type roundTripper func(context.Context, kmsg.Request) (kmsg.Response, error)

// login waits for its turn and performs one SASL exchange. The turn may take what is left of ctx, the exchange half of the
// connect timeout.
func (d *Dialer) login(ctx context.Context, c *Conn, via roundTripper) error {
	mechanism, err := d.SASL(ctx, c.Peer.Host)
	if err != nil {
		return tokenError(err)
	}
	done := func(error) {}
	if d.Turn != nil {
		if done, err = d.Turn(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, d.Timeout/2)
	defer cancel()
	err = c.authenticate(ctx, mechanism, via)
	if err != nil {
		err = AsError(PhaseSASL, err)
	}
	done(err)
	return err
}

// Reauthenticate renews the SASL session of a live connection (KIP-368). Requests of others wait meanwhile, as the broker
// accepts nothing else in between. After an error the connection must be replaced.
func (d *Dialer) Reauthenticate(ctx context.Context, c *Conn) error {
	via, finish, err := c.exclusive(ctx)
	if err != nil {
		return AsError(PhaseSASL, err)
	}
	defer finish()
	return d.login(ctx, c, via)
}

// authenticate performs the exchange of KIP-43 and KIP-152 and notes the session's lifetime (KIP-368).
func (c *Conn) authenticate(ctx context.Context, mechanism sasl.Mechanism, via roundTripper) error {
	start := time.Now()
	if err := c.chooseMechanism(ctx, mechanism.Name(), via); err != nil {
		return err
	}
	exchange, message, err := mechanism.Authenticate(ctx, c.Peer.String())
	if err != nil {
		return tokenError(err)
	}
	for done := false; ; {
		resp, err := c.saslStep(ctx, message, via)
		if err != nil {
			return err
		}
		c.session.Store(&session{from: start, lifetime: time.Duration(resp.SessionLifetimeMillis) * time.Millisecond})
		if done {
			return nil
		}
		done, message, err = exchange.Challenge(resp.SASLAuthBytes)
		if err != nil {
			return because(ReasonCredentialsRejected, "the broker's answer to %s was not accepted: %w", mechanism.Name(), err)
		}
		if done && len(message) == 0 {
			return nil
		}
	}
}

func (c *Conn) chooseMechanism(ctx context.Context, name string, via roundTripper) error {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Mechanism = name
	if !c.versions.offers(req.Key(), 1) {
		return because(ReasonUnsupportedVersion, "the broker does not offer SaslHandshake version 1 (key %d)", req.Key())
	}
	req.Version = 1
	answer, err := via(ctx, req)
	if err != nil {
		return err
	}
	resp := answer.(*kmsg.SASLHandshakeResponse)
	switch resp.ErrorCode {
	case 0:
		return nil
	case kerr.UnsupportedSaslMechanism.Code:
		return because(ReasonMechanismUnsupported, "the broker does not offer %s on this listener, it offers %s",
			name, strings.Join(resp.SupportedMechanisms, ", "))
	case kerr.IllegalSaslState.Code:
		return because(ReasonMechanismUnsupported, "the listener takes no SASL: %w", kerr.IllegalSaslState)
	}
	return kafkaError("SaslHandshake", resp.ErrorCode, nil)
}

func (c *Conn) saslStep(ctx context.Context, message []byte, via roundTripper) (*kmsg.SASLAuthenticateResponse, error) {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.SASLAuthBytes = message
	if err := c.versions.negotiate(req); err != nil {
		return nil, err
	}
	answer, err := via(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.SASLAuthenticateResponse)
	if resp.ErrorCode != 0 {
		return nil, rejection(resp)
	}
	return resp, nil
}

// rejection is the broker's definite no. Only the text of the code for it is kept: others may repeat what was sent.
func rejection(resp *kmsg.SASLAuthenticateResponse) error {
	if resp.ErrorCode == kerr.SaslAuthenticationFailed.Code {
		return because(ReasonCredentialsRejected, "%w: %s", kerr.SaslAuthenticationFailed, deref(resp.ErrorMessage))
	}
	return kafkaError("SaslAuthenticate", resp.ErrorCode, nil)
}

// tokenError is about everything that fails on our own side before a byte of the credentials was sent.
func tokenError(err error) error {
	var typed *Error
	if errors.As(err, &typed) {
		return err
	}
	return because(ReasonTokenUnavailable, "the credentials could not be prepared: %w", err)
}
