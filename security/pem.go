package security

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// parseRoots reads a bundle of certificates. It fails on a damaged one instead of leaving it out, as x509.CertPool does,
// because the missing authority would show as the brokers' fault.
func parseRoots(content []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	count := 0
	for {
		block, rest := pem.Decode(content)
		if block == nil {
			break
		}
		content = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		count++
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d is damaged: %w", count, err)
		}
		pool.AddCert(cert)
	}
	if bytes.Contains(content, []byte("-----BEGIN")) {
		return nil, fmt.Errorf("is cut off or damaged after certificate %d", count)
	}
	if count == 0 {
		return nil, errors.New(noPEM(content, "certificate"))
	}
	return pool, nil
}

// noPEM says what a file without PEM blocks may be.
func noPEM(content []byte, want string) string {
	switch {
	case bytes.HasPrefix(content, []byte("\xfe\xed\xfe\xed")):
		return "is a Java keystore, and must be a PEM file (keytool -importkeystore -deststoretype pkcs12, then openssl pkcs12)"
	case bytes.HasPrefix(content, []byte{0x30, 0x82}):
		return "is in DER or PKCS #12 form, and must be a PEM file (openssl x509, openssl pkey or openssl pkcs12 convert it)"
	}
	return "has no PEM block with a " + want
}

// checkKey explains what tls.X509KeyPair would only refuse.
func checkKey(content []byte) error {
	for rest := content; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil:
			if bytes.Contains(content, []byte("-----BEGIN")) {
				return errors.New("has no complete private key, it may be cut off")
			}
			return errors.New(noPEM(content, "private key"))
		case block.Type == "ENCRYPTED PRIVATE KEY", strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return errors.New("is encrypted, and there is no way to give its passphrase: decrypt it with openssl pkey")
		case block.Type == "PRIVATE KEY", strings.HasSuffix(block.Type, " PRIVATE KEY"):
			return nil
		}
	}
}

// parsePair reads a certificate chain and its key. The error is about the file that is returned with it.
func parsePair(cert, key []byte) (*tls.Certificate, File, error) {
	if _, err := parseRoots(cert); err != nil {
		return nil, FileCert, err
	}
	if err := checkKey(key); err != nil {
		return nil, FileKey, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, FileKey, errors.New("is no usable key for the certificate: " + strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &pair, FileKey, nil
}
