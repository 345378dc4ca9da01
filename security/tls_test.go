package security

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustTLS(t *testing.T, options TLSOptions) *TLS {
	t.Helper()
	s, err := NewTLS(options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustConfig(t *testing.T, s *TLS, host string) *tls.Config {
	t.Helper()
	config, err := s.Config(host)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestTLSVerification(t *testing.T) {
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	bundle := temp(t, "ca.pem", []byte("# two authorities\n"), other.pem, ca.pem)
	foreign := temp(t, "foreign.pem", other.pem)
	tests := []struct {
		name    string
		options TLSOptions
		dial    string // host that is dialed
		cert    string // host that the certificate is for
		want    any    // type of the error that is expected
	}{
		{name: "second of a bundle", options: TLSOptions{CAFile: bundle}, dial: "b.test", cert: "b.test"},
		{name: "absolute name", options: TLSOptions{CAFile: bundle}, dial: "b.test.", cert: "b.test"},
		{name: "address with zone", options: TLSOptions{CAFile: bundle}, dial: "fe80::1%eth0", cert: "fe80::1"},
		{name: "other name", options: TLSOptions{CAFile: bundle}, dial: "a.test", cert: "b.test", want: new(x509.HostnameError)},
		{name: "other authority", options: TLSOptions{CAFile: foreign}, dial: "b.test", cert: "b.test", want: new(x509.UnknownAuthorityError)},
		{name: "system authorities", options: TLSOptions{}, dial: "b.test", cert: "b.test", want: new(x509.UnknownAuthorityError)},
		{name: "server name for all", options: TLSOptions{CAFile: bundle, ServerName: "b.test"}, dial: "a.test", cert: "b.test"},
		{name: "server name for one", options: TLSOptions{CAFile: bundle, ServerName: "c.test",
			ServerNames: map[string]string{"a.test": "b.test"}}, dial: "A.test", cert: "b.test"},
		{name: "chain, not name", options: TLSOptions{CAFile: bundle, SkipNameVerify: true}, dial: "a.test", cert: "b.test"},
		{name: "chain, not name, other authority", options: TLSOptions{CAFile: foreign, SkipNameVerify: true}, dial: "a.test",
			cert: "b.test", want: new(x509.UnknownAuthorityError)},
		{name: "nothing", options: TLSOptions{InsecureSkipVerify: true}, dial: "a.test", cert: "b.test"},
		{name: "nothing at all", options: TLSOptions{CAFile: foreign, InsecureSkipVerify: true, SkipNameVerify: true}, dial: "a.test", cert: "b.test"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := handshake(t, mustConfig(t, mustTLS(t, tt.options), tt.dial), ca.server(t, tt.cert))
			var verification *tls.CertificateVerificationError
			switch {
			case tt.want == nil && err != nil:
				t.Error(err)
			case tt.want != nil && (!errors.As(err, tt.want) || !errors.As(err, &verification)):
				t.Errorf("got %v, want a %T", err, tt.want)
			}
		})
	}
}

func TestTLSMinVersion(t *testing.T) {
	ca := newAuthority(t, "ca")
	server := ca.server(t, "b.test")
	server.MaxVersion = tls.VersionTLS12
	options := TLSOptions{CAFile: temp(t, "ca.pem", ca.pem), MinVersion: tls.VersionTLS13}
	if _, err := handshake(t, mustConfig(t, mustTLS(t, options), "b.test"), server); err == nil {
		t.Error("TLS 1.2 is spoken although 1.3 is the minimum")
	}
}

func TestTLSRotation(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t, "ca")
	cert, key := ca.issue(t, "one.test")
	var changes []FileStatus
	s := mustTLS(t, TLSOptions{
		CAFile:   write(t, filepath.Join(dir, "ca"), ca.pem),
		CertFile: write(t, filepath.Join(dir, "cert"), cert),
		KeyFile:  write(t, filepath.Join(dir, "key"), key),
		OnChange: func(f FileStatus) { changes = append(changes, f) },
	})
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	present := func(want string) { t.Helper(); wantPresented(t, s, ca, want) }
	failures := func(ca, cert, key uint64) { t.Helper(); wantErrors(t, s, [3]uint64{ca, cert, key}) }
	present("one.test")

	cert2, key2 := ca.issue(t, "two.test")
	write(t, filepath.Join(dir, "cert"), cert2[:len(cert2)/2])
	present("one.test")
	present("one.test")
	failures(0, 2, 0)
	write(t, filepath.Join(dir, "cert"), cert2)
	present("one.test") // the key does not fit yet
	failures(0, 2, 1)
	write(t, filepath.Join(dir, "key"), key2)
	present("two.test")
	if err := os.Remove(filepath.Join(dir, "ca")); err != nil {
		t.Fatal(err)
	}
	present("two.test")
	failures(1, 2, 1)
	if got := s.Status()[FileCA]; got.File != FileCA || !strings.Contains(got.Failure, "no such file") {
		t.Errorf("got %+v", got)
	}

	var told []string
	for _, c := range changes {
		told = append(told, c.File.String()+map[bool]string{true: "+", false: "-"}[c.Failure == ""])
	}
	if got := strings.Join(told, " "); got != "cert- cert+ key- key+ ca-" {
		t.Errorf("reported %q", got)
	}
}

// wantPresented connects and asserts which certificate the server got.
func wantPresented(t *testing.T, s *TLS, ca authority, want string) {
	t.Helper()
	peer, err := handshake(t, mustConfig(t, s, "b.test"), ca.server(t, "b.test"))
	if err != nil || peer == nil || peer.Subject.CommonName != want {
		t.Fatalf("the server got %v, %v", peer, err)
	}
}

// wantErrors asserts how often each file could not be used.
func wantErrors(t *testing.T, s *TLS, want [3]uint64) {
	t.Helper()
	got := s.Status()
	if want != [3]uint64{got[FileCA].Errors, got[FileCert].Errors, got[FileKey].Errors} {
		t.Fatalf("got %+v, want %v", got, want)
	}
}

func TestTLSSymlinkSwap(t *testing.T) {
	dir := t.TempDir()
	first, second := newAuthority(t, "ca"), newAuthority(t, "ca")
	write(t, filepath.Join(dir, "1"), first.pem)
	write(t, filepath.Join(dir, "2"), second.pem)
	link := filepath.Join(dir, "ca.pem")
	for i, ca := range []authority{first, second} {
		swap := filepath.Join(dir, "swap")
		if err := os.Symlink([]string{"1", "2"}[i], swap); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(swap, link); err != nil {
			t.Fatal(err)
		}
		s := mustTLS(t, TLSOptions{CAFile: link})
		if _, err := handshake(t, mustConfig(t, s, "b.test"), ca.server(t, "b.test")); err != nil {
			t.Errorf("target %d: %v", i+1, err)
		}
	}
}

func TestTLSBadFiles(t *testing.T) {
	ca := newAuthority(t, "ca")
	cert, key := ca.issue(t, "a.test")
	_, otherKey := ca.issue(t, "a.test")
	damaged := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})
	pkcs8 := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})
	legacy := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: []byte("x")})
	caFile, certFile, keyFile := temp(t, "ca", ca.pem), temp(t, "cert", cert), temp(t, "key", key)
	tests := []struct {
		name    string
		options TLSOptions
		want    string
	}{
		{"ca missing", TLSOptions{CAFile: "/nowhere/ca"}, "TLS ca file /nowhere/ca: no such file"},
		{"ca is a folder", TLSOptions{CAFile: t.TempDir()}, "is not a regular file"},
		{"ca is a device", TLSOptions{CAFile: "/dev/zero"}, "is not a regular file"},
		{"ca empty", TLSOptions{CAFile: temp(t, "x")}, "is empty"},
		{"ca without PEM", TLSOptions{CAFile: temp(t, "x", []byte("hello"))}, "has no PEM block with a certificate"},
		{"ca is a key", TLSOptions{CAFile: keyFile}, "has no PEM block with a certificate"},
		{"ca damaged", TLSOptions{CAFile: temp(t, "x", ca.pem, damaged)}, "certificate 2 is damaged"},
		{"ca cut off", TLSOptions{CAFile: temp(t, "x", ca.pem, ca.pem[:90])}, "cut off or damaged after certificate 1"},
		{"ca is DER", TLSOptions{CAFile: temp(t, "x", ca.cert.Raw)}, "DER or PKCS #12"},
		{"ca is JKS", TLSOptions{CAFile: temp(t, "x", []byte("\xfe\xed\xfe\xed\x00"))}, "Java keystore"},
		{"cert empty", TLSOptions{CAFile: caFile, CertFile: temp(t, "x"), KeyFile: keyFile}, "TLS cert file"},
		{"key missing", TLSOptions{CAFile: caFile, CertFile: certFile, KeyFile: "/nowhere/key"}, "TLS key file /nowhere/key: no such file"},
		{"key encrypted", TLSOptions{CAFile: caFile, CertFile: certFile, KeyFile: temp(t, "x", pkcs8)}, "is encrypted"},
		{"old key encrypted", TLSOptions{CAFile: caFile, CertFile: certFile, KeyFile: temp(t, "x", legacy)}, "is encrypted"},
		{"key without PEM", TLSOptions{CAFile: caFile, CertFile: certFile, KeyFile: temp(t, "x", []byte("?"))}, "no PEM block with a private key"},
		{"key cut off", TLSOptions{CAFile: caFile, CertFile: certFile, KeyFile: temp(t, "x", key[:60])}, "no complete private key"},
		{"other key", TLSOptions{CAFile: caFile, CertFile: certFile, KeyFile: temp(t, "x", otherKey)}, "no usable key for the certificate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustTLS(t, tt.options)
			err := s.Check()
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if config, err := s.Config("a.test"); err == nil {
				t.Errorf("a configuration was made of nothing: %v", config)
			}
		})
	}
}

func TestTLSHalfAPair(t *testing.T) {
	for _, options := range []TLSOptions{{CertFile: "x"}, {KeyFile: "x"}} {
		if _, err := NewTLS(options); err == nil {
			t.Errorf("%+v is accepted", options)
		}
	}
}
