package security

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestTokenFile(t *testing.T) {
	file := temp(t, "token", []byte("one\n"))
	s := mustSASL(t, SASLOptions{Mechanism: "oauth", OAuth: OAuthOptions{
		Token: SecretFile(file), Extensions: map[string]string{"logicalCluster": "lkc-1"}}})
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if got, err := first(t, s, "a.test:9092"); got != "n,,\x01auth=Bearer one\x01logicalCluster=lkc-1\x01\x01" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	write(t, file, []byte("two"))
	if got, err := first(t, s, "a.test:9092"); !strings.Contains(got, "Bearer two") || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	write(t, file, []byte("two words"))
	_, err := first(t, s, "a.test:9092")
	wantUnavailable(t, err)
}

// endpoint counts requests and answers them with what is set.
type endpoint struct {
	*httptest.Server
	requests atomic.Int64
	answer   http.HandlerFunc
}

func newEndpoint(t *testing.T, answer http.HandlerFunc) *endpoint {
	t.Helper()
	e := &endpoint{answer: answer}
	e.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		e.answer(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) options(t *testing.T, secret string) SASLOptions {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw})
	return SASLOptions{Mechanism: "oauth", RetryInterval: 5 * time.Minute, OAuth: OAuthOptions{
		TokenURL: e.URL, ClientID: "me", ClientSecret: SecretFile(temp(t, "secret", []byte(secret))),
		Scopes: []string{"a", "b"}, CAFile: temp(t, "ca", ca)}}
}

func token(lifetime int) http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		n++
		user, secret, _ := r.BasicAuth()
		if r.ParseForm() != nil || user != "me" || secret != marker || r.Form.Get("scope") != "a b" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"access_token":"token%d","token_type":"bearer","expires_in":%d}`, n, lifetime)
	}
}

func TestClientCredentials(t *testing.T) {
	e := newEndpoint(t, token(3600))
	s := mustSASL(t, e.options(t, marker))
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := first(t, s, "a.test:9092"); !strings.Contains(got, "Bearer token1\x01") || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if got := e.requests.Load(); got != 1 {
		t.Errorf("%d requests for three connections", got)
	}
	m, err := s.Mechanism(t.Context(), "a.test")
	if err != nil {
		t.Fatal(err)
	}
	session, _, err := m.Authenticate(t.Context(), "a.test:9092")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := session.Challenge([]byte(`{"status":"invalid_token"}`)); err != nil {
		t.Fatal(err)
	}
	if got, err := first(t, s, "a.test:9092"); !strings.Contains(got, "Bearer token2\x01") || err != nil {
		t.Errorf("a refused token is used again: %q, %v", got, err)
	}
}

func TestClientCredentialsWithoutLifetime(t *testing.T) {
	e := newEndpoint(t, token(0))
	s := mustSASL(t, e.options(t, marker))
	for i := range 2 {
		if got, err := first(t, s, "a.test:9092"); !strings.Contains(got, fmt.Sprintf("Bearer token%d\x01", i+1)) || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestEndpointRefuses(t *testing.T) {
	e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		_, secret, _ := r.BasicAuth()
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"no\n%s"}`, secret)
	})
	options := e.options(t, marker)
	s := mustSASL(t, options)
	for range 20 {
		_, err := first(t, s, "a.test:9092")
		wantUnavailable(t, err)
		if !strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "invalid_client") {
			t.Errorf("got %v", err)
		}
	}
	asked := e.requests.Load()
	if asked > 2 {
		t.Errorf("%d requests with a secret that was refused", asked)
	}
	file := strings.TrimPrefix(options.OAuth.ClientSecret.String(), "file ")
	write(t, file, []byte("another"))
	if _, err := first(t, s, "a.test:9092"); err == nil || e.requests.Load() == asked {
		t.Error("a new secret was not tried")
	}
}

func TestEndpointFails(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"server error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"no token":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) },
		"bad token": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"access_token":"a\u0001b c","token_type":"bearer"}`)
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<html>`) },
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, answer)
			_, err := first(t, mustSASL(t, e.options(t, marker)), "a.test:9092")
			wantUnavailable(t, err)
		})
	}
}

func TestEndpointIsNotTrusted(t *testing.T) {
	e := newEndpoint(t, token(60))
	options := e.options(t, marker)
	options.OAuth.CAFile = ""
	_, err := first(t, mustSASL(t, options), "a.test:9092")
	wantUnavailable(t, err)
	if !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
	options.OAuth.CAFile = temp(t, "x", []byte("nothing"))
	if err := mustSASL(t, options).Check(); err == nil || !strings.Contains(err.Error(), "CA file of the token endpoint") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(options.OAuth.CAFile); err != nil {
		t.Fatal(err)
	}
	_, err = first(t, mustSASL(t, options), "a.test:9092")
	wantUnavailable(t, err)
}

func TestCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached[int]()
		calls := 0
		next := obtained[int]{}
		get := func(version string) (int, error) {
			return c.get(t.Context(), version, func(context.Context) obtained[int] { calls++; return next })
		}
		want := func(value, total int) {
			t.Helper()
			got, err := get("v")
			if got != value || calls != total || (err != nil) != (value == 0) {
				t.Fatalf("got %d, %v after %d calls, want %d after %d", got, err, calls, value, total)
			}
		}
		next = obtained[int]{value: 1, expiry: time.Now().Add(100 * time.Second)}
		want(1, 1)
		time.Sleep(79 * time.Second)
		want(1, 1)
		time.Sleep(time.Second)
		next = obtained[int]{err: context.Canceled, hold: time.Second}
		want(0, 2)
		want(0, 2)
		time.Sleep(time.Second)
		next = obtained[int]{value: 2, expiry: time.Now().Add(100 * time.Second)}
		want(2, 3)
		if got, _ := get("w"); got != 2 || calls != 4 {
			t.Errorf("a new version is not asked for")
		}
	})
}

func TestCachedWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached[int]()
		release := make(chan struct{})
		go c.get(t.Context(), "", func(context.Context) obtained[int] { <-release; return obtained[int]{} })
		synctest.Wait()
		c.forget()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.get(ctx, "", nil); err == nil || time.Until(mustDeadline(ctx)) > 0 {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}

func mustDeadline(ctx context.Context) time.Time {
	deadline, _ := ctx.Deadline()
	return deadline
}
