package collector

import (
	"strconv"
	"strings"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

// The closed sets of label values.
var (
	reasons    = names(wire.Reasons())
	phases     = names(wire.Phases())
	states     = values[manager.State](manager.NumStates)
	causes     = values[manager.Cause](manager.NumCauses)
	identities = []string{"verified", "unverified", "wrong"}
)

// requestReasons are the reasons that a request on a finished connection can fail with. They exist from the start for every
// broker; the rest would be thousands of zeros in a large cluster, and exist from their first occurrence on.
var requestReasons = map[wire.Reason]bool{
	wire.ReasonOther: true, wire.ReasonTimeout: true, wire.ReasonReset: true, wire.ReasonClosed: true,
	wire.ReasonFrameTooLarge: true, wire.ReasonProtocol: true, wire.ReasonUnsupportedVersion: true,
	wire.ReasonAuthenticationRequired: true, wire.ReasonSessionExpired: true, wire.ReasonWrongCluster: true,
	wire.ReasonEmptyMetadata: true, wire.ReasonKafkaError: true, wire.ReasonUnreachable: true, wire.ReasonTLSAlert: true,
}

func names[T interface{ String() string }](all []T) []string {
	var texts []string
	for _, v := range all {
		texts = append(texts, v.String())
	}
	return texts
}

func values[T interface {
	~uint8
	String() string
}](n int) []string {
	var texts []string
	for i := range n {
		texts = append(texts, T(i).String())
	}
	return texts
}

// address is host:port; the package stays clear of net, so that a scrape cannot be made to use it.
func address(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

// advertised is the address that the broker's clients dial; there is none where only DescribeCluster knows the broker and is not to be trusted.
func advertised(b *manager.Broker) string {
	if b.Hidden {
		return ""
	}
	return address(b.Host, b.Port)
}

// failing returns the failure of a broker that matters most: that it cannot be reached, else that it accepts nobody new.
func failing(b *manager.Broker) *manager.Failure {
	switch {
	case b.Reachable == manager.VerdictBad && b.Failure != nil:
		return b.Failure
	case b.Accepts == manager.VerdictBad:
		return b.AcceptFail
	}
	return nil
}

// addressVerdict says how dialing one address of a name went when it was last tried.
func addressVerdict(a *wire.AddressTrace) string {
	switch {
	case a.Connected:
		return "connected"
	case a.Err != nil, a.Doubtful:
		return "failed"
	case a.Tried:
		return "abandoned"
	}
	return "untried"
}
