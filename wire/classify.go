package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// classify finds the reason for an error that came out of the standard library during phase p. It returns the phase to
// charge as well: a TLS alert that arrives with the first read after the handshake is the verdict of that handshake
// (TLS 1.3 servers judge the client's certificate late), so it belongs to PhaseTLS.
func classify(err error, p Phase) (Reason, Phase) {
	if reason, ok := classifyTLS(err); ok {
		if p > PhaseTLS && p < PhaseRequest {
			p = PhaseTLS
		}
		return reason, p
	}
	if reason, ok := classifyDNS(err); ok {
		return reason, p
	}
	return classifyNet(err), p
}

func classifyDNS(err error) (Reason, bool) {
	var dns *net.DNSError
	if !errors.As(err, &dns) {
		return 0, false
	}
	switch {
	case dns.IsNotFound:
		return ReasonDNSNotFound, true
	case dns.IsTimeout:
		return ReasonTimeout, true
	}
	return ReasonDNSFailure, true
}

func classifyNet(err error) Reason {
	var timeout net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return ReasonTimeout
	case errors.As(err, &timeout) && timeout.Timeout():
		return ReasonTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return ReasonRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return ReasonReset
	case isUnreachable(err):
		return ReasonUnreachable
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe), errors.Is(err, net.ErrClosed):
		return ReasonClosed
	}
	return ReasonOther
}

// isUnreachable is about everything that our own side or the network on the way says instead of the peer. EINVAL and
// EADDRNOTAVAIL are what Linux says to a link-local address without a zone and to a family that the host lacks.
func isUnreachable(err error) bool {
	for _, errno := range []syscall.Errno{
		syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN,
		syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT, syscall.EINVAL, syscall.EACCES, syscall.EPERM,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func classifyTLS(err error) (Reason, bool) {
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		return reasonForNonTLS(record.RecordHeader[:]), true
	}
	if reason, ok := classifyCertificate(err); ok {
		return reason, true
	}
	if alert, ok := remoteAlert(err); ok {
		if clientCertificateAlerts[alert] {
			return ReasonClientCertificateRejected, true
		}
		return ReasonTLSAlert, true
	}
	// crypto/tls has no type for what it refuses itself, such as a version or a parameter that it does not know, or a certificate
	// that does not parse or does not fit the server's key.
	if text, ok := strings.CutPrefix(rootMessage(err), "tls: "); ok {
		if strings.Contains(text, "certificate") && !strings.Contains(text, "client certificate") && !strings.Contains(text, "unexpected") {
			return ReasonCertificateInvalid, true
		}
		return ReasonTLSAlert, true
	}
	return 0, false
}

func classifyCertificate(err error) (Reason, bool) {
	var invalid x509.CertificateInvalidError
	var untrusted x509.UnknownAuthorityError
	var name x509.HostnameError
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ReasonCertificateExpired, true
	case errors.As(err, &untrusted):
		return ReasonCertificateUntrusted, true
	case errors.As(err, &name):
		return ReasonCertificateNameMismatch, true
	case errors.As(err, &invalid), errors.As(err, &verification):
		return ReasonCertificateInvalid, true
	}
	return 0, false
}

// clientCertificateAlerts are the alerts of RFC 8446 section 6.2, in crypto/tls' words, by which a server says that it
// does not like our certificate.
var clientCertificateAlerts = map[string]bool{
	"bad certificate": true, "unsupported certificate": true, "revoked certificate": true, "expired certificate": true,
	"unknown certificate": true, "unknown certificate authority": true, "certificate required": true, "access denied": true,
}

// remoteAlert returns the words of an alert that the peer sent. crypto/tls wraps an alert of an unexported type into a
// *net.OpError, so its text is all there is to go by.
func remoteAlert(err error) (string, bool) {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return "", false
	}
	return strings.TrimPrefix(op.Err.Error(), "tls: "), true
}

func rootMessage(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
