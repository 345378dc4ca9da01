package wire

// Phase says how far a connection got. Phases follow each other in the order of their values; a plaintext connection
// has no PhaseTLS and one without credentials has no PhaseSASL.
type Phase uint8

// The phases of a connection, and PhaseRequest for everything after it is usable.
const (
	PhaseResolve     Phase = iota // the host's name becomes addresses
	PhaseDial                     // TCP connects to one of them
	PhaseTLS                      // the TLS handshake and the verification of the certificate
	PhaseAPIVersions              // the peer speaks Kafka and says which versions (KIP-35, KIP-511)
	PhaseSASL                     // the credentials are accepted (KIP-43, KIP-152)
	PhaseIdentity                 // the peer is the broker, and of the cluster, that was meant
	PhaseRequest                  // requests on the finished connection
)

// NumPhases is the number of phases, for arrays indexed by Phase.
const NumPhases = int(PhaseRequest) + 1

var phaseNames = [NumPhases]string{"resolve", "dial", "tls", "api_versions", "sasl", "identity", "request"}

// String returns the name that metrics and logs use.
func (p Phase) String() string {
	if int(p) < NumPhases {
		return phaseNames[p]
	}
	return "unknown"
}

// Phases returns all phases in their order.
func Phases() []Phase {
	all := make([]Phase, NumPhases)
	for i := range all {
		all[i] = Phase(i)
	}
	return all
}
