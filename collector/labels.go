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

// addressVerdict says how dialing one address of a name went in the last attempt. Of several that were under way when one
// connected, the trace does not say which one it was.
func addressVerdict(t *wire.Trace, a *wire.AddressTrace) string {
	switch {
	case a.Err != nil:
		return "failed"
	case !a.Tried:
		return "untried"
	}
	open := 0
	for _, other := range t.Addresses {
		if other.Tried && other.Err == nil {
			open++
		}
	}
	if open == 1 {
		return "connected"
	}
	return "undecided"
}
