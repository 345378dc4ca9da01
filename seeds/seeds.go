// Package seeds holds the addresses that a user names to find a cluster by. A List is frozen: it is parsed once and never
// changes. The package uses nothing but the standard library.
package seeds

import (
	"iter"
	"net"
	"slices"
	"strconv"
)

// DefaultPort is the port of a seed that names none.
const DefaultPort = 9092

// Seed is one host and port that the user named.
type Seed struct {
	Host string // a name in lower case, an IPv4 or an IPv6 address without brackets, zone included
	Port int    // 1 to 65535
}

// String returns host:port, with brackets around an IPv6 address. Parse reads it back as the same seed.
func (s Seed) String() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// List is a frozen list of seeds in the order in which they were given, without duplicates. It may be shared freely.
type List struct {
	seeds []Seed
}

// Len returns the number of seeds.
func (l List) Len() int { return len(l.seeds) }

// At returns the seed at position i, from 0 to Len()-1.
func (l List) At(i int) Seed { return l.seeds[i] }

// All yields the seeds in order.
func (l List) All() iter.Seq[Seed] { return slices.Values(l.seeds) }
