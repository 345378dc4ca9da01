package security

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// password is a user with a password.
type password struct {
	name   string
	user   string
	secret Secret
}

func newPassword(name string, options SASLOptions) (source, error) {
	if options.Username == "" {
		return nil, errors.New("a user name is needed")
	}
	if !options.Password.IsSet() {
		return nil, errors.New("a password is needed, from a file or from the environment")
	}
	return password{name: name, user: options.Username, secret: options.Password}, nil
}

func (p password) check() error {
	_, err := p.read()
	return err
}

func (p password) read() (string, error) {
	secret, err := p.secret.read()
	if err != nil {
		return "", fmt.Errorf("the password: %w", err)
	}
	return secret, nil
}

func (p password) files() []string { return p.secret.files() }

func (p password) mechanism(context.Context) (sasl.Mechanism, error) {
	secret, err := p.read()
	if err != nil {
		return nil, err
	}
	switch p.name {
	case ScramSHA256:
		return scram.Auth{User: p.user, Pass: secret}.AsSha256Mechanism(), nil
	case ScramSHA512:
		return scram.Auth{User: p.user, Pass: secret}.AsSha512Mechanism(), nil
	}
	return plain.Auth{User: p.user, Pass: secret}.AsMechanism(), nil
}
