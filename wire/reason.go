package wire

// Reason is one word out of a closed set that says why a phase failed. Alerts and dashboards depend on the words:
// one may be added, none may change its meaning. runbooks/reasons/ explains them.
type Reason uint8

// The reasons. ReasonOther is for failures that none of them describes; every failure that is seen in practice deserves
// a word of its own.
const (
	ReasonOther                     Reason = iota
	ReasonDNSNotFound                      // the name does not exist
	ReasonDNSFailure                       // the name servers could not be asked, or failed
	ReasonRefused                          // nothing listens at the port
	ReasonUnreachable                      // no route, or the network says that the host is not there
	ReasonTimeout                          // no answer within the deadline
	ReasonReset                            // the peer, or something between, reset the connection
	ReasonClosed                           // the peer closed the connection
	ReasonInvalidAddress                   // the advertised address must not be dialed
	ReasonCertificateExpired               // expired, or not yet valid
	ReasonCertificateUntrusted             // signed by nobody that we trust
	ReasonCertificateNameMismatch          // valid for other names
	ReasonCertificateInvalid               // any other fault of the peer's certificate
	ReasonClientCertificateRejected        // ours is missing, unknown, expired or not allowed
	ReasonTLSAlert                         // the TLS handshake failed for another cause
	ReasonPeerIsPlaintext                  // TLS was spoken to a port without TLS
	ReasonPeerSpeaksTLS                    // plaintext was spoken to a TLS port
	ReasonPeerSpeaksHTTP                   // the port belongs to an HTTP server
	ReasonNotKafka                         // the first bytes are no Kafka frame
	ReasonFrameTooLarge                    // a frame longer than the limit
	ReasonUnsupportedVersion               // no version of a request in common
	ReasonProtocol                         // an answer that breaks the protocol
	ReasonCredentialsRejected              // the broker does not accept the credentials
	ReasonMechanismUnsupported             // the listener does not offer the SASL mechanism
	ReasonAuthenticationRequired           // the listener wants SASL and none is configured
	ReasonTokenUnavailable                 // our own token, ticket or password could not be obtained
	ReasonSessionExpired                   // the SASL session ended before it was renewed (KIP-368)
	ReasonWrongCluster                     // the peer belongs to another cluster
	ReasonMisrouted                        // the peer is another broker
	ReasonEmptyMetadata                    // an answer without any broker
	ReasonKafkaError                       // an error code of Kafka in the answer
)

// NumReasons is the number of reasons, for arrays indexed by Reason.
const NumReasons = int(ReasonKafkaError) + 1

var reasonNames = [NumReasons]string{
	"other", "dns_not_found", "dns_failure", "refused", "unreachable", "timeout", "reset", "closed", "invalid_address",
	"certificate_expired", "certificate_untrusted", "certificate_name_mismatch", "certificate_invalid",
	"client_certificate_rejected", "tls_alert", "peer_is_plaintext", "peer_speaks_tls", "peer_speaks_http", "not_kafka",
	"frame_too_large", "unsupported_version", "protocol", "credentials_rejected", "mechanism_unsupported",
	"authentication_required", "token_unavailable", "session_expired", "wrong_cluster", "misrouted", "empty_metadata",
	"kafka_error",
}

// String returns the word that metrics and logs use.
func (r Reason) String() string {
	if int(r) < NumReasons {
		return reasonNames[r]
	}
	return reasonNames[ReasonOther]
}

// Reasons returns all reasons in their order.
func Reasons() []Reason {
	all := make([]Reason, NumReasons)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}
