package security

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

// OAuthOptions is where bearer tokens come from: either a file that something else keeps fresh, or a token endpoint that
// hands them out for a client's credentials (RFC 6749, section 4.4).
type OAuthOptions struct {
	Token        Secret
	TokenURL     string
	ClientID     string
	ClientSecret Secret
	Scopes       []string
	Extensions   map[string]string // sent to the broker along with the token (KIP-342)
	CAFile       string            // trusted for the endpoint; empty: the system's authorities
}

// bearer is a source of tokens.
type bearer struct {
	options OAuthOptions
	hold    time.Duration
	tokens  *cached[string]
}

func newOAuth(options OAuthOptions, hold time.Duration) (source, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	return &bearer{options: options, hold: hold, tokens: newCached[string]()}, nil
}

func (o OAuthOptions) check() error {
	if o.Token.IsSet() == (o.TokenURL != "") {
		return errors.New("either a token file or a token URL is needed, and not both")
	}
	if o.TokenURL != "" {
		if err := checkTokenURL(o.TokenURL); err != nil {
			return err
		}
		if o.ClientID == "" || !o.ClientSecret.IsSet() {
			return errors.New("a token URL needs a client id and a client secret, the latter from a file or from the environment")
		}
	} else if o.ClientID != "" || o.ClientSecret.IsSet() || len(o.Scopes) > 0 || o.CAFile != "" {
		return errors.New("client id, client secret, scopes and CA file belong to a token URL, and none is given")
	}
	for name, value := range o.Extensions {
		if err := checkExtension(name, value); err != nil {
			return err
		}
	}
	return nil
}

func checkTokenURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("the token URL must be of the form https://host/path")
	case u.User != nil:
		return errors.New("the token URL must hold no credentials, give the client secret by file")
	}
	return nil
}

// checkExtension applies RFC 7628, section 3.1: other bytes would end the field early.
func checkExtension(name, value string) error {
	notLetter := func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }
	if name == "" || strings.ContainsFunc(name, notLetter) || name == "auth" {
		return fmt.Errorf("the extension name %q must consist of letters and must not be auth", name)
	}
	notPrintable := func(r rune) bool { return (r < ' ' || r > '~') && r != '\t' && r != '\r' && r != '\n' }
	if value == "" || strings.ContainsFunc(value, notPrintable) {
		return fmt.Errorf("the value of the extension %s is empty or has characters that are not printable ASCII", name)
	}
	return nil
}

func (b *bearer) check() error {
	if b.options.TokenURL == "" {
		_, err := b.readToken()
		return err
	}
	if _, err := b.readSecret(); err != nil {
		return err
	}
	if b.options.CAFile == "" {
		return nil
	}
	_, err := b.endpointRoots()
	return err
}

func (b *bearer) readToken() (string, error) {
	token, err := b.options.Token.read()
	if err != nil {
		return "", fmt.Errorf("the token: %w", err)
	}
	return token, checkToken(token)
}

// checkToken applies RFC 6750, section 2.1, roughly: other bytes would end the field of the message early.
func checkToken(token string) error {
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the token is empty, or has a space or a character that no token has")
	}
	return nil
}

func (b *bearer) readSecret() (string, error) {
	secret, err := b.options.ClientSecret.read()
	if err != nil {
		return "", fmt.Errorf("the client secret: %w", err)
	}
	return secret, nil
}

func (b *bearer) files() []string {
	return append(b.options.Token.files(), b.options.ClientSecret.files()...)
}

func (b *bearer) mechanism(ctx context.Context) (sasl.Mechanism, error) {
	token, err := b.token(ctx)
	if err != nil {
		return nil, err
	}
	m := oauth.Auth{Token: token, Extensions: b.options.Extensions}.AsMechanism()
	return refusable{m, b.tokens.forget}, nil
}

func (b *bearer) token(ctx context.Context) (string, error) {
	if b.options.TokenURL == "" {
		return b.readToken()
	}
	return b.tokens.get(ctx, versions(b.files()), b.fetch)
}

// refusable tells when a broker does not want the token: it says so in a challenge (RFC 7628, section 3.2.2).
type refusable struct {
	sasl.Mechanism
	refused func()
}

func (r refusable) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	session, first, err := r.Mechanism.Authenticate(ctx, host)
	return refusableSession{session, r.refused}, first, err
}

type refusableSession struct {
	sasl.Session
	refused func()
}

func (s refusableSession) Challenge(challenge []byte) (bool, []byte, error) {
	if len(challenge) > 0 {
		s.refused()
	}
	return s.Session.Challenge(challenge)
}
