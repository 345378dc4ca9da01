package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// TLSOptions is how connections are encrypted and who is trusted.
type TLSOptions struct {
	CAFile   string // PEM bundle of trusted authorities; empty: those of the system
	CertFile string // PEM chain of the client's certificate; empty: none
	KeyFile  string // its key

	ServerName  string            // that all certificates are verified against; empty: the host that is dialed
	ServerNames map[string]string // the same for single hosts, which are written in lower case

	InsecureSkipVerify bool   // trust any certificate
	SkipNameVerify     bool   // verify the chain, not the name
	MinVersion         uint16 // tls.VersionTLS12 and such; 0: Go's own

	OnChange func(FileStatus) // a file cannot be used any more, for another cause, or again; must not block; nil: none
}

// TLS makes the TLS configuration of each new connection. It may be used by many goroutines.
type TLS struct {
	options TLSOptions
	current atomic.Pointer[material]
	errors  [numFiles]atomic.Uint64
}

// NewTLS checks options for contradictions. It reads no file, Check does.
func NewTLS(options TLSOptions) (*TLS, error) {
	switch {
	case options.CertFile != "" && options.KeyFile == "":
		return nil, errors.New("a TLS certificate is given without its key")
	case options.CertFile == "" && options.KeyFile != "":
		return nil, errors.New("a TLS key is given without its certificate")
	}
	t := &TLS{options: options}
	t.current.Store(&material{})
	return t, nil
}

// Check loads every file and returns what is wrong with any of them.
func (t *TLS) Check() error {
	m := t.load()
	var all []error
	for file, failure := range m.failures {
		if failure != "" {
			all = append(all, fmt.Errorf("TLS %s file %s", File(file), failure))
		}
	}
	if t.options.CAFile == "" && !t.options.InsecureSkipVerify {
		all = append(all, checkSystemRoots())
	}
	return errors.Join(all...)
}

// checkSystemRoots finds containers without certificates, in which every broker would seem untrusted.
func checkSystemRoots() error {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return fmt.Errorf("the certificates of the system cannot be read, give a CA file: %w", err)
	}
	if pool.Equal(x509.NewCertPool()) {
		return errors.New("the system has no certificates of authorities, give a CA file")
	}
	return nil
}

// Config returns the configuration for a new connection to host, a name or an address. A file that cannot be read or used
// now leaves what was loaded from it before in place; the error says that there was nothing before.
func (t *TLS) Config(host string) (*tls.Config, error) {
	m := t.load()
	if t.options.CAFile != "" && m.roots == nil {
		return nil, fmt.Errorf("TLS %s file %s", FileCA, m.failures[FileCA])
	}
	if t.options.CertFile != "" && m.pair == nil {
		return nil, fmt.Errorf("TLS files %s and %s: %s%s", FileCert, FileKey, m.failures[FileCert], m.failures[FileKey])
	}
	config := &tls.Config{
		MinVersion:         t.options.MinVersion,
		RootCAs:            m.roots,
		ServerName:         t.serverName(host),
		InsecureSkipVerify: t.options.InsecureSkipVerify || t.options.SkipNameVerify,
	}
	if m.pair != nil {
		// Certificates would be left out when the broker's list of authorities does not name the issuer, and the
		// broker would then say "missing" where it should say what it has against this one.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return m.pair, nil }
	}
	if t.options.SkipNameVerify && !t.options.InsecureSkipVerify {
		config.VerifyConnection = verifyChain(m.roots)
	}
	return config, nil
}

func (t *TLS) serverName(host string) string {
	if name, ok := t.options.ServerNames[strings.ToLower(host)]; ok {
		return name
	}
	if t.options.ServerName != "" {
		return t.options.ServerName
	}
	name, _, _ := strings.Cut(host, "%") // a zone means nothing to the other end
	return strings.TrimSuffix(name, ".")
}

// verifyChain does what crypto/tls does by itself, but for the name.
func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, cert := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(cert)
		}
		if _, err := state.PeerCertificates[0].Verify(options); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		}
		return nil
	}
}
