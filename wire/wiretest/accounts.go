package wiretest

import (
	"bytes"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Accounts is the user database of brokers that require SASL PLAIN.
type Accounts struct {
	mu       sync.Mutex
	password string
	delay    time.Duration
	lifetime time.Duration
	attempts []time.Time
}

// NewAccounts accepts one password for every user name. The answer to a wrong one is delayed; sessions live for lifetime,
// 0 for ever.
func NewAccounts(password string, delay, lifetime time.Duration) *Accounts {
	return &Accounts{password: password, delay: delay, lifetime: lifetime}
}

// SetPassword changes the password that is accepted.
func (a *Accounts) SetPassword(password string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.password = password
}

// Attempts returns when a password was presented.
func (a *Accounts) Attempts() []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]time.Time(nil), a.attempts...)
}

// Require makes the broker serve only who has authenticated, as a SASL listener does: it answers ApiVersions to everybody
// and closes at the first other request without, or after the end of, a session.
func (b *Broker) Require(a *Accounts) {
	b.On(kmsg.SASLHandshake, func(r Request) (kmsg.Response, error) {
		resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
		resp.SupportedMechanisms = []string{"PLAIN"}
		if r.Request.(*kmsg.SASLHandshakeRequest).Mechanism != "PLAIN" {
			resp.ErrorCode = kerr.UnsupportedSaslMechanism.Code
		}
		return resp, nil
	})
	b.On(kmsg.SASLAuthenticate, a.authenticate)
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.DescribeCluster, kmsg.DescribeConfigs} {
		b.On(key, func(r Request) (kmsg.Response, error) {
			end, ok := r.Session.Values["authenticated"].(time.Time)
			if !ok || !end.IsZero() && time.Now().After(end) {
				return nil, ErrHang
			}
			return b.Well(r)
		})
	}
}

func (a *Accounts) authenticate(r Request) (kmsg.Response, error) {
	req := r.Request.(*kmsg.SASLAuthenticateRequest)
	resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	a.mu.Lock()
	a.attempts = append(a.attempts, time.Now())
	good := bytes.HasSuffix(req.SASLAuthBytes, []byte("\x00"+a.password))
	delay, lifetime := a.delay, a.lifetime
	a.mu.Unlock()
	if !good {
		time.Sleep(delay)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		resp.ErrorMessage = kmsg.StringPtr("Authentication failed: Invalid username or password")
		return resp, nil
	}
	var end time.Time
	if lifetime > 0 {
		end = time.Now().Add(lifetime)
		resp.SessionLifetimeMillis = lifetime.Milliseconds()
	}
	r.Session.Values["authenticated"] = end
	return resp, nil
}
