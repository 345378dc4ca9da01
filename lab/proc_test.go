package lab

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"

	"kafka_connection_exporter/e2e/sockets"
)

// sockets lists the TCP sockets that the exporter holds.
func (p *process) sockets() []sockets.Socket {
	p.Helper()
	all, err := sockets.Of(p.cmd.Process.Pid)
	if err != nil {
		p.Fatal(err)
	}
	return all
}

// openSockets counts the exporter's sockets of all kinds by its descriptors, which leaves none out.
func (p *process) openSockets() int {
	p.Helper()
	inodes, err := sockets.Inodes(p.cmd.Process.Pid)
	if err != nil {
		p.Fatal(err)
	}
	return len(inodes)
}

// connections counts the exporter's established connections to addresses.
func (p *process) connections(addrs ...string) []int {
	p.Helper()
	counts := make([]int, len(addrs))
	for _, s := range p.sockets() {
		if i := slices.Index(addrs, s.Remote.String()); i >= 0 && s.State == sockets.Established {
			counts[i]++
		}
	}
	return counts
}

// inCloseWait counts the sockets whose peer has closed and that the exporter has not.
func (p *process) inCloseWait() int {
	p.Helper()
	n := 0
	for _, s := range p.sockets() {
		if s.State == sockets.CloseWait {
			n++
		}
	}
	return n
}

// peakMemory is the most memory that the exporter has had so far, in bytes.
func (p *process) peakMemory() int {
	p.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		p.Fatalf("no VmHWM in %s", status)
	}
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil {
		p.Fatal(err)
	}
	return kib << 10
}
