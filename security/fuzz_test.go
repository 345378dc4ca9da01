package security

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

// FuzzSecretFile: a password, a token or a client secret out of a file is one line without its end, or an error that holds
// nothing of it; the same for a value from the environment.
func FuzzSecretFile(f *testing.F) {
	for _, s := range []string{"", "\n", "hunter2-hunter2", "hunter2-hunter2\r\n", "two\nlines", "zero\x00byte", " spaces ", "\xef\xbb\xbfbom", "a.b.c\n\n", "ünï"} {
		f.Add([]byte(s))
	}
	file := filepath.Join(f.TempDir(), "secret")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		fromFile, err := SecretFile(file).read()
		checkSecret(t, content, fromFile, err)
		fromValue, valueErr := SecretValue(string(content)).read()
		checkSecret(t, content, fromValue, valueErr)
		if fromFile != fromValue {
			t.Errorf("%q is %q from a file and %q from the environment", content, fromFile, fromValue)
		}
		for _, mechanism := range Mechanisms()[:4] {
			options := SASLOptions{Mechanism: mechanism, Username: "u", Password: SecretFile(file), RetryInterval: time.Minute}
			if mechanism == OAuthBearer {
				options.OAuth.Token = SecretFile(file)
			}
			s, err := NewSASL(options)
			if err != nil {
				t.Fatal(err)
			}
			checkErr := s.Check()
			withheld(t, content, checkErr)
			_, err = s.Mechanism(t.Context(), "a:1")
			var typed *wire.Error
			if (err != nil) != (checkErr != nil) || err != nil && (!errors.As(err, &typed) || typed.Reason != wire.ReasonTokenUnavailable) {
				t.Errorf("%s: Check says %v, and Mechanism %v", mechanism, checkErr, err)
			}
		}
	})
}

func checkSecret(t *testing.T, content []byte, secret string, err error) {
	t.Helper()
	withheld(t, content, err)
	if err != nil {
		return
	}
	rest, ok := bytes.CutPrefix(content, []byte(secret))
	if secret == "" || strings.ContainsAny(secret, "\r\n\x00") || !ok || strings.Trim(string(rest), "\r\n") != "" {
		t.Errorf("%q is read as %q", content, secret)
	}
}

// withheld fails if an error holds what may be a secret. Shorter ones may occur in it by chance.
func withheld(t *testing.T, content []byte, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for line := range strings.FieldsFuncSeq(string(content), unicode.IsControl) {
		if len(line) >= 12 && strings.Contains(err.Error(), line) {
			t.Errorf("%q is in %v", line, err)
		}
	}
	if strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("more than one line: %v", err)
	}
}

// FuzzPEM: whatever is in the files of certificates and keys, there is something that TLS can use, or an error in words.
func FuzzPEM(f *testing.F) {
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})
	sealed := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})
	f.Add(cert, key)
	f.Add(cert[:20], sealed)
	f.Add([]byte("\xfe\xed\xfe\xed"), []byte{0x30, 0x82})
	issued, issuedKey := fuzzPair(f)
	f.Add(issued, issuedKey)
	f.Add(append(issued, cert...), issuedKey[:len(issuedKey)-30])
	f.Fuzz(func(t *testing.T, cert, key []byte) {
		roots, err := parseRoots(cert)
		if (roots == nil) != (err != nil) || err != nil && err.Error() == "" {
			t.Errorf("roots %t, %v", roots != nil, err)
		}
		pair, file, pairErr := parsePair(cert, key)
		if (pair == nil) != (pairErr != nil) || err != nil && (pairErr == nil || file != FileCert) {
			t.Errorf("a pair %t, %s: %v", pair != nil, file, pairErr)
		}
		if pair != nil && (pair.PrivateKey == nil || len(pair.Certificate) == 0) {
			t.Errorf("an incomplete pair")
		}
		withheld(t, key, pairErr)
	})
}

// fuzzPair is a certificate and its key, in PEM.
func fuzzPair(f *testing.F) (cert, key []byte) {
	pair := wiretest.NewAuthority().Issue(time.Now().Add(time.Hour), "a.test")
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		f.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// FuzzOptions: options are refused or make a mechanism; no error holds a secret or more than a line.
func FuzzOptions(f *testing.F) {
	f.Add("PLAIN", "u", marker, "", "", "", "", "")
	f.Add("scram-sha-512", "u", marker, "", "", "", "", "")
	f.Add("OAUTHBEARER", "", "", marker, "", "", "logicalCluster", "lkc-1")
	f.Add("oauth", "", "", "", "https://idp.test/token", "me", "auth", "\x01")
	f.Add("oauth", "", "", "", "https://u:"+marker+"@idp.test/%zz", "me", "", "")
	f.Fuzz(func(t *testing.T, mechanism, user, password, bearer, url, id, extension, value string) {
		options := SASLOptions{Mechanism: mechanism, Username: user, Password: SecretValue(password), RetryInterval: time.Minute,
			OAuth: OAuthOptions{Token: SecretValue(bearer), TokenURL: url, ClientID: id, ClientSecret: SecretValue(password)}}
		if extension != "" {
			options.OAuth.Extensions = map[string]string{extension: value}
		}
		s, err := NewSASL(options)
		if err != nil {
			if strings.Contains(err.Error(), marker) || strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("a secret, or several lines: %v", err)
			}
			return
		}
		if again, err := ParseMechanism(s.Name()); err != nil || again != s.Name() {
			t.Errorf("the name %q is read as %q, %v", s.Name(), again, err)
		}
		if s.Name() == GSSAPI || s.Name() == AWSMSKIAM || url != "" {
			return // they ask others
		}
		m, err := s.Mechanism(t.Context(), "a:1")
		if err != nil {
			return
		}
		if _, first, err := m.Authenticate(t.Context(), "a:1"); err == nil && len(first) == 0 || m.Name() != s.Name() {
			t.Errorf("%s begins with nothing", m.Name())
		}
	})
}
