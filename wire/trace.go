package wire

import (
	"net/netip"
	"time"
)

// Trace is what one connection attempt went through, phase by phase, whether it succeeded or not.
type Trace struct {
	Started   time.Time
	Steps     []Step         // finished phases in order; the last one may have failed
	Addresses []AddressTrace // what the name resolved to, in the order it was tried
	Form      Form           // that ApiVersions was asked in, if the attempt came as far
	NotAfter  time.Time      // the earliest end of a certificate in the chain that the peer presented, also if it was not accepted
	Chain     []Certificate  // that the peer presented, with Dialer.KeepChain, also if it was not accepted
}

// Step is one finished phase.
type Step struct {
	Phase    Phase
	Duration time.Duration
	Err      *Error // nil if the phase succeeded
}

// AddressTrace is one address of a name and how dialing it went.
type AddressTrace struct {
	Addr      netip.AddrPort
	Tried     bool
	Connected bool   // the one that is used
	Doubtful  bool   // an earlier attempt connected to it and failed then
	Err       *Error // nil if it was not tried, connected, or was abandoned for a faster one
}

// Reached returns the address that the attempt was connected to, or the zero value.
func (t Trace) Reached() netip.Addr {
	for _, a := range t.Addresses {
		if a.Connected {
			return a.Addr.Addr()
		}
	}
	return netip.Addr{}
}

// Duration is the time from the start of the first to the end of the last phase.
func (t Trace) Duration() time.Duration {
	var sum time.Duration
	for _, s := range t.Steps {
		sum += s.Duration
	}
	return sum
}

// TLSInfo is what a TLS handshake agreed on.
type TLSInfo struct {
	Version  string    // "TLS 1.3"
	Cipher   string    // the IANA name of the cipher suite
	NotAfter time.Time // the earliest end of a certificate in the chain that the peer presented
}

// Identity says how sure it is that the peer is the broker that was meant (KIP-1242).
type Identity uint8

// The identities.
const (
	IdentityUnknown    Identity = iota // not yet asked, or a seed, which has no id
	IdentityVerified                   // the peer confirmed its node id
	IdentityUnverified                 // the peer offers no way to ask, or does not permit it
	IdentityWrong                      // the peer is another broker, or of another cluster
)
