//go:build e2e

package gateway

import (
	"net"
	"strconv"
	"testing"
)

// Gateway stands between clients and the brokers of one cluster.
type Gateway struct {
	// Ports are in the order of the inner addresses.
	Ports []*Port

	outer map[address]address // by inner one
}

type address struct {
	host string
	port int32
}

// Start opens a port for each inner address; all are shut when the test ends.
func Start(t testing.TB, inner []string) *Gateway {
	t.Helper()
	g := &Gateway{outer: map[address]address{}}
	for _, addr := range inner {
		p, err := newPort(g, addr)
		if err != nil {
			t.Fatal(err)
		}
		g.Ports = append(g.Ports, p)
		g.outer[parse(t, addr)] = parse(t, p.Addr)
	}
	for _, p := range g.Ports {
		p.Open(t)
		t.Cleanup(p.Shut)
	}
	return g
}

// Addrs are the addresses of the ports.
func (g *Gateway) Addrs() []string {
	addrs := make([]string, len(g.Ports))
	for i, p := range g.Ports {
		addrs[i] = p.Addr
	}
	return addrs
}

func parse(t testing.TB, addr string) address {
	t.Helper()
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return address{host, int32(port)}
}
