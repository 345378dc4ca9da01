package security

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"

	"kafka_connection_exporter/wire"
)

// The mechanisms by the names that Kafka knows them by.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
	OAuthBearer = "OAUTHBEARER"
	GSSAPI      = "GSSAPI"
	AWSMSKIAM   = "AWS_MSK_IAM"
)

// Mechanisms lists the names of all mechanisms.
func Mechanisms() []string {
	return []string{Plain, ScramSHA256, ScramSHA512, OAuthBearer, GSSAPI, AWSMSKIAM}
}

var aliases = map[string]string{
	"sha256": ScramSHA256, "scram256": ScramSHA256, "sha512": ScramSHA512, "scram512": ScramSHA512,
	"oauth": OAuthBearer, "kerberos": GSSAPI, "mskiam": AWSMSKIAM, "awsiam": AWSMSKIAM,
}

// ParseMechanism returns Kafka's name for a mechanism that is written in whatever case and with whatever hyphens.
func ParseMechanism(name string) (string, error) {
	plain := simplify(name)
	for _, m := range Mechanisms() {
		if simplify(m) == plain {
			return m, nil
		}
	}
	if m, ok := aliases[plain]; ok {
		return m, nil
	}
	return "", fmt.Errorf("unknown SASL mechanism %q, use one of %s", name, strings.Join(Mechanisms(), ", "))
}

func simplify(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// SASLOptions is how to authenticate.
type SASLOptions struct {
	Mechanism string // in any spelling that ParseMechanism accepts
	Username  string // of PLAIN and SCRAM
	Password  Secret // the same
	OAuth     OAuthOptions
	Kerberos  KerberosOptions

	// RetryInterval is how long a token endpoint that refused the client is not asked again, unless the secret changes.
	RetryInterval time.Duration
}

// SASL makes the mechanism of each new connection. It may be used by many goroutines.
type SASL struct {
	name   string
	source source
}

// source obtains credentials of one kind.
type source interface {
	check() error // reads the files, asks nobody
	mechanism(ctx context.Context) (sasl.Mechanism, error)
	files() []string // that hold credentials
}

// NewSASL checks options for what is missing or does not fit the mechanism. It reads no file, Check does.
func NewSASL(options SASLOptions) (*SASL, error) {
	name, err := ParseMechanism(options.Mechanism)
	if err != nil {
		return nil, err
	}
	s := &SASL{name: name}
	switch name {
	case Plain, ScramSHA256, ScramSHA512:
		s.source, err = newPassword(name, options)
	case OAuthBearer:
		s.source, err = newOAuth(options.OAuth, options.RetryInterval)
	case GSSAPI:
		s.source, err = newKerberos(options.Kerberos)
	case AWSMSKIAM:
		s.source = newAWS()
	}
	if err != nil {
		return nil, fmt.Errorf("SASL %s: %w", name, err)
	}
	return s, nil
}

// Name returns Kafka's name of the mechanism.
func (s *SASL) Name() string { return s.name }

// Check reads every file once and returns what is wrong with them. It asks no server for a token or a ticket.
func (s *SASL) Check() error {
	if err := s.source.check(); err != nil {
		return fmt.Errorf("SASL %s: %w", s.name, err)
	}
	return nil
}

// Mechanism returns a mechanism that holds the credentials of this moment and serves one authentication. Its Authenticate
// wants the peer as host:port. Every failure to get hold of credentials, here or there, is a *wire.Error with
// wire.ReasonTokenUnavailable.
func (s *SASL) Mechanism(ctx context.Context, _ string) (sasl.Mechanism, error) {
	m, err := s.source.mechanism(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	return typed{m}, nil
}

// CredentialVersion changes when a file that holds credentials is replaced or rewritten. It is made of the names, times
// and sizes of the files, never of their content.
func (s *SASL) CredentialVersion() string { return versions(s.source.files()) }

// typed marks what goes wrong before the first message as our own lack of credentials.
type typed struct {
	sasl.Mechanism
}

// Authenticate begins an authentication with the peer at host, which is a host:port.
func (t typed) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	session, first, err := t.Mechanism.Authenticate(ctx, host)
	if err != nil {
		return nil, nil, unavailable(err)
	}
	return session, first, nil
}

func unavailable(err error) error {
	var already *wire.Error
	if errors.As(err, &already) {
		return err
	}
	return &wire.Error{Phase: wire.PhaseSASL, Reason: wire.ReasonTokenUnavailable, Err: err}
}
