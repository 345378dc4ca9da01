package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// handshake speaks TLS. A certificate that has ended is an error even where verification is switched off: brokers and
// clients that do verify will not accept it.
func (a *attempt) handshake(ctx context.Context) error {
	config, err := a.dialer.TLS(a.peer.Host)
	if err != nil {
		return err
	}
	config, wanted := noteRequest(config)
	secured := tls.Client(a.raw, config)
	err = secured.HandshakeContext(ctx)
	if alert, ok := remoteAlert(err); ok && alert == "handshake failure" && *wanted {
		// Some servers say no more than this, in TLS 1.2, to a client without the certificate that they asked for.
		err = because(ReasonClientCertificateRejected, "the peer asked for a client certificate and then failed: %w", err)
	}
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("the TLS handshake was not answered: %w", context.Cause(ctx))
	}
	if isEOF(err) || err != nil && classifyNet(err) == ReasonReset {
		err = a.explainHangup(ctx, err)
	}
	chain := presented(secured, err)
	a.trace.NotAfter = earliestEnd(chain)
	if a.dialer.KeepChain {
		a.trace.Chain = chainOf(chain)
	}
	if err != nil {
		return retellCertificate(err, chain)
	}
	a.raw = secured
	state := secured.ConnectionState()
	a.tls = &TLSInfo{Version: tls.VersionName(state.Version), Cipher: tls.CipherSuiteName(state.CipherSuite), NotAfter: a.trace.NotAfter}
	if leaf := state.PeerCertificates[0]; time.Now().After(leaf.NotAfter) {
		return because(ReasonCertificateExpired, "%s", outsideItsTime(leaf, time.Now()))
	}
	return nil
}

// explainHangup finds out what it means that the peer ended the connection instead of answering the ClientHello. A Kafka
// listener without TLS does so, as it takes the ClientHello for a frame of 369 MB; asked without TLS, it answers.
func (a *attempt) explainHangup(ctx context.Context, hangup error) error {
	_ = a.raw.Close()
	raw, err := a.dialer.DialAddress(ctx, a.address)
	if err == nil {
		a.raw = raw
		conn := newConn(raw, a.dialer.ClientID)
		conn.Peer = Peer{NodeID: -1}
		_, _, err = conn.askVersions(ctx, a.dialer.SoftwareVersion)
		conn.Close()
		<-conn.Ended()
	}
	if err == nil {
		return because(ReasonPeerIsPlaintext, "the peer ended the connection during the TLS handshake, and speaks Kafka without TLS on the same port: %w", hangup)
	}
	return fmt.Errorf("the peer ended the connection during the TLS handshake: %w", hangup)
}

// noteRequest returns a copy of config that notes whether the peer asks for a client certificate, and else answers as
// config would.
func noteRequest(config *tls.Config) (noting *tls.Config, wanted *bool) {
	wanted = new(bool)
	noting = config.Clone()
	noting.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		*wanted = true
		if config.GetClientCertificate != nil {
			return config.GetClientCertificate(info)
		}
		for i := range config.Certificates {
			if info.SupportsCertificate(&config.Certificates[i]) == nil {
				return &config.Certificates[i], nil
			}
		}
		return new(tls.Certificate), nil
	}
	return noting, wanted
}

// presented returns the chain that the peer has presented, also if the handshake failed because of it.
func presented(secured *tls.Conn, err error) []*x509.Certificate {
	var unverified *tls.CertificateVerificationError
	if errors.As(err, &unverified) {
		return unverified.UnverifiedCertificates
	}
	return secured.ConnectionState().PeerCertificates
}

// earliestEnd is zero for an empty chain.
func earliestEnd(chain []*x509.Certificate) (end time.Time) {
	for i, c := range chain {
		if i == 0 || c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end
}

// rawConn returns the TCP connection below TLS.
func rawConn(nc net.Conn) net.Conn {
	if secured, ok := nc.(*tls.Conn); ok {
		return secured.NetConn()
	}
	return nc
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
