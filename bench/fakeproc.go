package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"kafka_connection_exporter/wire/wiretest"
)

// perAddress is how many brokers share one listener. A client has fewer than 28,000 ports for each address that it dials,
// and those of closed connections stay taken for a minute.
const perAddress = 1000

// serveFakes is the child process: clusters of n brokers each, of which the first dead do not answer a SYN. It prints a seed of each.
func serveFakes(n, dead, clusters int) {
	s := newStage()
	defer s.close()
	for range clusters {
		fmt.Println(serveFake(s, n, dead))
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// serveFake serves one cluster in the background and returns a seed.
func serveFake(s *stage, n, dead int) string {
	f := newFake()
	blackhole := int32(0)
	if dead > 0 {
		blackhole = int32(wiretest.BlackholePort(s))
	}
	seed := ""
	for first := 0; first < n-dead; first += perAddress {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", 2+first/perAddress))
		if err != nil {
			s.Fatal(err)
		}
		seed = l.Addr().String()
		at := netip.MustParseAddrPort(seed)
		for i := first; i < min(first+perAddress, n-dead); i++ {
			f.members = append(f.members, member{int32(dead + i), at.Addr().String(), int32(at.Port())})
		}
		go f.accept(l)
	}
	for i := range dead {
		f.members = append(f.members, member{int32(i), "127.0.0.1", blackhole})
	}
	return seed
}

// startFakes runs serveFakes as a process of its own, so that its cost is nobody's else, and returns its seed.
func startFakes(s *stage, n, dead int) string { return startClusters(s, n, dead, 1)[0] }

// startClusters does so for several clusters, and returns a seed of each.
func startClusters(s *stage, n, dead, clusters int) (seeds []string) {
	self, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	cmd := exec.Command(self, fmt.Sprintf("-fake=%d", n), fmt.Sprintf("-dead=%d", dead), fmt.Sprintf("-clusters=%d", clusters))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(stdout)
	for range clusters {
		seed, err := lines.ReadString('\n')
		if err != nil {
			s.Fatal(fmt.Sprintf("the fake cluster does not start: %v", err))
		}
		seeds = append(seeds, strings.TrimSpace(seed))
	}
	return seeds
}
