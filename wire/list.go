package wire

import "strings"

// Anomaly is something that a list of brokers should not hold. What is wrong is left out, and the rest counts.
type Anomaly uint8

// The anomalies.
const (
	AnomalyDuplicate  Anomaly = iota // an id for the second time; the first entry counts
	AnomalyNegativeID                // an id that no broker can have
	AnomalyExcess                    // more brokers than any cluster has
)

// NumAnomalies is the number of anomalies, for arrays indexed by Anomaly.
const NumAnomalies = int(AnomalyExcess) + 1

// String returns the word that metrics and logs use.
func (a Anomaly) String() string {
	return [NumAnomalies]string{"duplicate", "negative_id", "excess"}[a]
}

// Anomalies says which ones one answer had.
type Anomalies [NumAnomalies]bool

const (
	// mostBrokers bounds what one answer can make us keep: each broker costs a connection and some kilobytes. The largest clusters
	// that are known have a tenth of it.
	mostBrokers = 10_000
	// longestText bounds the host and the rack of a broker in bytes. No name in DNS is longer.
	longestText = 255
)

// validText makes s fit for a label and for being kept. It may still be a part of a frame.
func validText(s string) string {
	if len(s) > longestText {
		s = s[:longestText] + "…" // which no name server knows
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// ownList returns the n brokers of an answer without reference to its frame, and each of them once: known, if they are the same.
func ownList(known []BrokerInfo, n int, at func(int) BrokerInfo) ([]BrokerInfo, Anomalies) {
	same := len(known) == n
	for i := 0; same && i < n; i++ {
		same = at(i) == known[i]
	}
	if same {
		return known, Anomalies{}
	}
	var anomalies Anomalies
	seen := make(map[int32]bool, min(n, mostBrokers))
	list := make([]BrokerInfo, 0, min(n, mostBrokers))
	same = true
	for i := range n {
		b := at(i)
		switch {
		case b.ID < 0:
			anomalies[AnomalyNegativeID] = true
			continue
		case seen[b.ID]:
			anomalies[AnomalyDuplicate] = true
			continue
		case len(list) == mostBrokers:
			anomalies[AnomalyExcess] = true
			return list, anomalies
		}
		seen[b.ID] = true
		same = same && len(list) < len(known) && known[len(list)] == b
		b.Host, b.Rack = strings.Clone(b.Host), strings.Clone(b.Rack)
		list = append(list, b)
	}
	if same && len(list) == len(known) && len(list) > 0 {
		return known, anomalies
	}
	return list, anomalies
}
