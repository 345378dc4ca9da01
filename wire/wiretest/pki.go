package wiretest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"time"
)

// Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns an authority that is valid for a day.
func NewAuthority() *Authority { return NewAuthorityUntil(time.Now().Add(24 * time.Hour)) }

// NewAuthorityUntil returns an authority that is valid until end.
func NewAuthorityUntil(end time.Time) *Authority {
	key, template := newCertificate("a test authority", end)
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	return &Authority{cert: sign(template, template, &key.PublicKey, key), key: key}
}

// Subordinate returns an authority that a has signed.
func (a *Authority) Subordinate() *Authority {
	key, template := newCertificate("a subordinate authority", time.Now().Add(24*time.Hour))
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	return &Authority{cert: sign(template, a.cert, &key.PublicKey, a.key), key: key}
}

// Pool returns a pool that trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Issue returns a certificate for a server or a client, for these names or addresses, that ends at notAfter.
func (a *Authority) Issue(notAfter time.Time, names ...string) tls.Certificate {
	key, template := newCertificate("a test certificate", notAfter)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	cert := sign(template, a.cert, &key.PublicKey, a.key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw, a.cert.Raw}, PrivateKey: key, Leaf: cert}
}

// IssueForClients returns a certificate that no server may use.
func (a *Authority) IssueForClients(names ...string) tls.Certificate {
	key, template := newCertificate("a client", time.Now().Add(time.Hour))
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	template.DNSNames = names
	for _, name := range names {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(name))
	}
	cert := sign(template, a.cert, &key.PublicKey, a.key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

func newCertificate(name string, notAfter time.Time) (*ecdsa.PrivateKey, *x509.Certificate) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		panic(err)
	}
	return key, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: notAfter,
	}
}

func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return cert
}
