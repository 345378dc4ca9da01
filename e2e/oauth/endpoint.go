//go:build e2e

package oauth

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Endpoint is a token endpoint for the client credentials grant (RFC 6749, 4.4).
type Endpoint struct {
	// URL takes POST requests with HTTP basic authentication or client_id and client_secret in the form.
	URL string

	issuer          *Issuer
	id, secret      string
	mu              sync.Mutex
	lifetime        time.Duration
	failing, silent bool
	tokens          []string
	seen            int
}

// Serve opens a token endpoint on loopback until the test ends. Its tokens are valid for lifetime.
func (i *Issuer) Serve(t testing.TB, id, secret string, lifetime time.Duration) *Endpoint {
	t.Helper()
	e := &Endpoint{issuer: i, id: id, secret: secret, lifetime: lifetime}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.URL = server.URL + "/token"
	return e
}

// SetFailing makes the endpoint answer 503 to everybody, or stop doing so.
func (e *Endpoint) SetFailing(failing bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failing = failing
}

// SetSilent makes the endpoint accept requests and answer none, or stop doing so.
func (e *Endpoint) SetSilent(silent bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.silent = silent
}

// Issued counts the tokens handed out.
func (e *Endpoint) Issued() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.tokens)
}

// Tokens are those handed out, oldest first.
func (e *Endpoint) Tokens() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.tokens)
}

// Seen counts the requests, whatever they were answered.
func (e *Endpoint) Seen() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen
}

// ServeHTTP answers one request for a token.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.mute() {
		_, _ = io.Copy(io.Discard, r.Body) // or nobody would notice that the client has gone
		<-r.Context().Done()
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen++
	switch {
	case e.failing:
		http.Error(w, "down", http.StatusServiceUnavailable)
	case r.FormValue("grant_type") != "client_credentials":
		e.refuse(w, http.StatusBadRequest, "unsupported_grant_type")
	case !e.knows(r):
		e.refuse(w, http.StatusUnauthorized, "invalid_client")
	default:
		e.issue(w, r)
	}
}

func (e *Endpoint) mute() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.silent
}

func (e *Endpoint) issue(w http.ResponseWriter, r *http.Request) {
	token, err := e.issuer.Token(Claims{Subject: e.id, Scope: r.FormValue("scope"), Lifetime: e.lifetime})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	e.tokens = append(e.tokens, token)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"access_token": token, "token_type": "Bearer", "expires_in": int(e.lifetime.Seconds()),
	})
}

func (e *Endpoint) refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
}

func (e *Endpoint) knows(r *http.Request) bool {
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	return id == e.id && secret == e.secret
}
