//go:build e2e

package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
)

const lowest = 15000

var (
	mu     sync.Mutex
	picked = map[int]bool{}
)

// Pick returns a port of 127.0.0.1 that is free and was not returned before in this process.
//
// It lies below the kernel's ephemeral range: while a broker is down, its port must stay refused, and a client that
// dials a closed port inside the range can be given that very port as its own and connect to itself.
func Pick() (int, error) {
	mu.Lock()
	defer mu.Unlock()
	highest := belowEphemeral()
	for range 1000 {
		port := lowest + rand.IntN(highest-lowest)
		if picked[port] || !free(port) {
			continue
		}
		picked[port] = true
		return port, nil
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 between %d and %d", lowest, highest)
}

// PickN returns n ports as Pick does.
func PickN(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		port, err := Pick()
		if err != nil {
			return nil, err
		}
		ports[i] = port
	}
	return ports, nil
}

func free(port int) bool {
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func belowEphemeral() int {
	var low, high int
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, err = fmt.Sscan(string(text), &low, &high)
	}
	if err != nil || low <= lowest+1000 {
		return 32768
	}
	return low
}
