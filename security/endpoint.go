package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// maxCause is how much of a server's own words is told on.
const maxCause = 200

// fetch asks the endpoint for a token.
func (b *bearer) fetch(ctx context.Context) obtained[string] {
	secret, err := b.readSecret()
	if err != nil {
		return obtained[string]{err: err}
	}
	client, err := b.endpointClient()
	if err != nil {
		return obtained[string]{err: err, hold: shortHold}
	}
	config := clientcredentials.Config{
		ClientID:     b.options.ClientID,
		ClientSecret: secret,
		TokenURL:     b.options.TokenURL,
		Scopes:       b.options.Scopes,
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err != nil {
		text, definite := endpointError(err)
		hold := shortHold
		if definite {
			hold = max(hold, b.hold)
		}
		text = strings.ReplaceAll(text, secret, "…")
		return obtained[string]{err: fmt.Errorf("the token endpoint %s: %s", b.options.TokenURL, text), hold: hold}
	}
	if err := checkToken(token.AccessToken); err != nil {
		return obtained[string]{err: fmt.Errorf("the token endpoint %s: %w", b.options.TokenURL, err), hold: shortHold}
	}
	return obtained[string]{value: token.AccessToken, expiry: token.Expiry}
}

// endpointError returns what went wrong in a line of bounded length, and whether the client was refused, so that asking
// again with the same secret would only help to lock it out.
func endpointError(err error) (text string, definite bool) {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) {
		return oneLineOf(err.Error()), false
	}
	text = refused.Response.Status
	if refused.ErrorCode != "" {
		text += ": " + refused.ErrorCode
	}
	if refused.ErrorDescription != "" {
		text += ": " + refused.ErrorDescription
	}
	status := refused.Response.StatusCode
	definite = status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusBadRequest
	return oneLineOf(text), definite
}

// oneLineOf makes foreign text fit for a log line.
func oneLineOf(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxCause {
		text = strings.ToValidUTF8(text[:maxCause], "") + "…"
	}
	return text
}

// endpointClient returns a client that leaves no connection behind and takes the secret nowhere else.
func (b *bearer) endpointClient() (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	if b.options.CAFile != "" {
		roots, err := b.endpointRoots()
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: noRedirect}, nil
}

func (b *bearer) endpointRoots() (*x509.CertPool, error) {
	content, err := readFile(b.options.CAFile)
	if err != nil {
		return nil, fmt.Errorf("the CA file of the token endpoint: %w", err)
	}
	roots, err := parseRoots(content)
	if err != nil {
		return nil, fmt.Errorf("the CA file of the token endpoint: %s %w", b.options.CAFile, err)
	}
	return roots, nil
}
