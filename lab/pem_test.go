package lab

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// file writes a file of the test's own and returns its path.
func file(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// caFlags make the exporter use TLS and trust an authority.
func caFlags(t testing.TB, ca *wiretest.Authority) []string {
	t.Helper()
	chain := ca.Issue(time.Now().Add(time.Hour)).Certificate // the second one is the authority's own
	return []string{"--tls", "--tls.ca-file=" + file(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[1]}))}
}

// clientFlags make it present a certificate.
func clientFlags(t testing.TB, cert tls.Certificate) []string {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"--tls.cert-file=" + file(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})),
		"--tls.key-file=" + file(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
	}
}

// behindTLS serves a handler behind TLS, by default with a certificate that is good for a name or address.
func behindTLS(ca *wiretest.Authority, name string, config *tls.Config, handler func(net.Conn)) func(net.Conn) {
	config = config.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	if config.Certificates == nil {
		config.Certificates = []tls.Certificate{ca.Issue(time.Now().Add(time.Hour), name)}
	}
	return func(conn net.Conn) { handler(tls.Server(conn, config)) }
}

// secure puts all brokers behind TLS, with certificates for the hosts that they advertise.
func (c *cluster) secure(ca *wiretest.Authority) {
	for i, b := range c.brokers {
		c.stands[i].serve(behindTLS(ca, hostOf(c.stands[i].addr), nil, b.Serve))
	}
}
