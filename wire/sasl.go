package wire

import (
	"bytes"
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

// login performs one SASL exchange. Credentials are obtained first, then the mechanism is agreed on, and then the turn is asked for:
// neither a slow token endpoint or KDC nor a broker that hangs before it has seen any credentials keeps others waiting. The
// turn may take what is left of ctx, the exchange half of the connect timeout.
func (d *Dialer) login(ctx context.Context, c *Conn) error {
	l, err := d.prepare(ctx, c)
	if err != nil {
		return err
	}
	l.via = c.roundTrip
	start := time.Now()
	if err := within(ctx, d.Timeout/2, l.chooseMechanism); err != nil {
		return err
	}
	return d.inTurn(ctx, c, func(ctx context.Context) error { return l.authenticate(ctx, start) })
}

// Reauthenticate renews the SASL session of a live connection (KIP-368). Requests of others wait meanwhile, as the broker
// accepts nothing else in between; so the turn comes before the line. After an error the connection must be replaced.
func (d *Dialer) Reauthenticate(ctx context.Context, c *Conn) error {
	l, err := d.prepare(ctx, c)
	if err == nil {
		err = d.inTurn(ctx, c, l.again)
	}
	if err != nil {
		return AsError(PhaseSASL, err)
	}
	return nil
}

// prepare obtains the credentials.
func (d *Dialer) prepare(ctx context.Context, c *Conn) (*login, error) {
	mechanism, err := d.SASL(ctx, c.Peer.Host)
	if err != nil {
		return nil, tokenError(err)
	}
	l := &login{conn: c, mechanism: mechanism.Name()}
	if l.session, l.message, err = mechanism.Authenticate(ctx, c.Peer.String()); err != nil {
		return nil, tokenError(err)
	}
	return l, nil
}

// inTurn runs what shows the credentials to the broker when it is this connection's turn.
func (d *Dialer) inTurn(ctx context.Context, c *Conn, exchange func(context.Context) error) error {
	done := func(error) {}
	if d.Turn != nil {
		var err error
		if done, err = d.Turn(ctx, c); err != nil {
			return err
		}
	}
	err := within(ctx, d.Timeout/2, exchange)
	if err != nil {
		err = AsError(PhaseSASL, err)
	}
	done(err)
	return err
}

func within(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// login is one exchange under way.
type login struct {
	conn      *Conn
	via       roundTripper
	mechanism string
	session   sasl.Session
	message   []byte // to send next
}

// again is a whole exchange on a line of its own.
func (l *login) again(ctx context.Context) error {
	via, finish, err := l.conn.exclusive(ctx)
	if err != nil {
		return err
	}
	defer finish()
	l.via = via
	start := time.Now()
	if err := l.chooseMechanism(ctx); err != nil {
		return err
	}
	return l.authenticate(ctx, start)
}

// authenticate performs the exchange of KIP-43 and KIP-152, once the mechanism is agreed on, and notes the lifetime of the session
// (KIP-368), which began not before start.
func (l *login) authenticate(ctx context.Context, start time.Time) error {
	for done := false; ; {
		resp, err := l.step(ctx)
		if err != nil {
			return err
		}
		l.conn.session.Store(&session{from: start, lifetime: milliseconds(resp.SessionLifetimeMillis)})
		if done {
			return nil
		}
		done, l.message, err = l.session.Challenge(resp.SASLAuthBytes)
		if err != nil {
			return because(reasonOfChallenge(resp.SASLAuthBytes), "the broker's answer to %s was not accepted: %w", l.mechanism, err)
		}
		if done && len(l.message) == 0 {
			return nil
		}
	}
}

func (l *login) chooseMechanism(ctx context.Context) error {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Mechanism = l.mechanism
	if !l.conn.versions.offers(req.Key(), 1) {
		return because(ReasonUnsupportedVersion, "the broker does not offer SaslHandshake version 1 (key %d)", req.Key())
	}
	req.Version = 1
	answer, err := l.via(ctx, req)
	if err != nil {
		return err
	}
	resp := answer.(*kmsg.SASLHandshakeResponse)
	switch resp.ErrorCode {
	case 0:
		return nil
	case kerr.UnsupportedSaslMechanism.Code:
		return because(ReasonMechanismUnsupported, "the broker does not offer %s on this listener, it offers %s",
			l.mechanism, strings.Join(resp.SupportedMechanisms, ", "))
	case kerr.IllegalSaslState.Code:
		return because(ReasonMechanismUnsupported, "the listener takes no SASL: %w", kerr.IllegalSaslState)
	}
	return kafkaError("SaslHandshake", resp.ErrorCode, nil)
}

func (l *login) step(ctx context.Context) (*kmsg.SASLAuthenticateResponse, error) {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.SASLAuthBytes = l.message
	if err := l.conn.versions.negotiate(req); err != nil {
		return nil, err
	}
	answer, err := l.via(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.SASLAuthenticateResponse)
	if resp.ErrorCode != 0 {
		return nil, rejection(resp, l.message)
	}
	return resp, nil
}

// reasonOfChallenge tells a no that a mechanism says in its own words, SCRAM's e=… (RFC 5802) and OAUTHBEARER's JSON (RFC 7628),
// from an answer that makes no sense: nobody has rejected anything then, and the others need not be held back.
func reasonOfChallenge(answer []byte) Reason {
	if bytes.HasPrefix(answer, []byte("e=")) || bytes.HasPrefix(answer, []byte("{")) {
		return ReasonCredentialsRejected
	}
	return ReasonProtocol
}

// rejection is the broker's definite no. Only the text of the code for it is kept, without the secret that it may repeat.
func rejection(resp *kmsg.SASLAuthenticateResponse, sent []byte) error {
	if resp.ErrorCode == kerr.SaslAuthenticationFailed.Code {
		text := deref(resp.ErrorMessage)
		if secret := secretIn(sent); secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
		return because(ReasonCredentialsRejected, "%w: %s", kerr.SaslAuthenticationFailed, text)
	}
	return kafkaError("SaslAuthenticate", resp.ErrorCode, nil)
}

// secretIn returns the secret that a message carries as it is: PLAIN's password (RFC 4616), which follows the last NUL, and
// OAUTHBEARER's token (RFC 7628). The other mechanisms send proofs.
func secretIn(message []byte) string {
	if _, token, ok := bytes.Cut(message, []byte("auth=Bearer ")); ok {
		token, _, _ = bytes.Cut(token, []byte{1})
		return string(token)
	}
	if i := bytes.LastIndexByte(message, 0); i >= 0 {
		return string(message[i+1:])
	}
	return ""
}

// tokenError is about everything that fails on our own side before a byte of the credentials was sent.
func tokenError(err error) error {
	var typed *Error
	if errors.As(err, &typed) {
		return err
	}
	return because(ReasonTokenUnavailable, "the credentials could not be prepared: %w", err)
}
