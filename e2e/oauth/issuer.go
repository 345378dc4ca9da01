//go:build e2e

package oauth

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// What every token says and every broker demands.
const (
	IssuerName = "https://issuer.test"
	Audience   = "kafka"
)

const keyID = "e2e"

// Issuer holds an RSA key and signs tokens with it.
type Issuer struct {
	// JWKSFile is the path of the public key as a JSON Web Key Set.
	JWKSFile string
	key      *rsa.PrivateKey
}

// Claims is what may differ from token to token. The zero value is a token of subject "exporter" that is valid for an hour.
type Claims struct {
	Subject string
	Scope   string
	// Lifetime may be negative for a token that has expired.
	Lifetime time.Duration
	// Audience, if not empty, replaces the one that the brokers expect.
	Audience string
}

// New makes an issuer and writes its key set into dir.
func New(dir string) (*Issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	set := map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": keyID,
		"n": encode(key.N.Bytes()),
		"e": encode(big.NewInt(int64(key.E)).Bytes()),
	}}}
	text, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	i := &Issuer{JWKSFile: filepath.Join(dir, "jwks.json"), key: key}
	if err := os.WriteFile(i.JWKSFile, text, 0o644); err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	return i, nil
}

// Token signs an RS256 JWT.
func (i *Issuer) Token(c Claims) (string, error) {
	now := time.Now()
	if c.Subject == "" {
		c.Subject = "exporter"
	}
	if c.Lifetime == 0 {
		c.Lifetime = time.Hour
	}
	if c.Audience == "" {
		c.Audience = Audience
	}
	claims := map[string]any{
		"iss": IssuerName, "aud": c.Audience, "sub": c.Subject,
		"iat": now.Add(min(0, c.Lifetime) - time.Minute).Unix(), "exp": now.Add(c.Lifetime).Unix(),
	}
	if c.Scope != "" {
		claims["scope"] = c.Scope
	}
	return i.sign(claims)
}

func (i *Issuer) sign(claims map[string]any) (string, error) {
	header, err := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": keyID})
	if err != nil {
		return "", fmt.Errorf("oauth: %w", err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("oauth: %w", err)
	}
	text := encode(header) + "." + encode(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("oauth: %w", err)
	}
	return text + "." + encode(signature), nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
