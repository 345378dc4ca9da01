//go:build e2e

package exporter

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// TCP states as /proc/net/tcp writes them.
const (
	Established = "01"
	SynSent     = "02"
	CloseWait   = "08"
)

// Socket is one TCP socket of a process.
type Socket struct {
	Local  netip.AddrPort
	Remote netip.AddrPort
	State  string
}

// Sockets lists the TCP sockets that the exporter's process holds open, from /proc.
func (e *Exporter) Sockets() []Socket {
	e.t.Helper()
	sockets, err := socketsOf(e.PID())
	if err != nil {
		e.t.Fatal(err)
	}
	return sockets
}

// Connections counts the exporter's established connections to each of the addresses.
func (e *Exporter) Connections(addrs ...string) map[string]int {
	e.t.Helper()
	counts := map[string]int{}
	for _, addr := range addrs {
		counts[addr] = 0
	}
	for _, s := range e.Sockets() {
		if _, ok := counts[s.Remote.String()]; ok && s.State == Established {
			counts[s.Remote.String()]++
		}
	}
	return counts
}

// socketsOf looks at the table of sockets before the descriptors, so that a socket opened in between is not missed twice.
func socketsOf(pid int) ([]Socket, error) {
	table := map[string]Socket{}
	for _, file := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if err != nil {
			return nil, fmt.Errorf("sockets of %d: %w", pid, err)
		}
		for line := range strings.Lines(string(text)) {
			if inode, s, ok := parseSocket(line); ok {
				table[inode] = s
			}
		}
	}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return nil, err
	}
	var own []Socket
	for _, link := range links {
		target, _ := os.Readlink(link) // closed in the meantime: not open
		inode := strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")
		if s, ok := table[inode]; ok {
			own = append(own, s)
		}
	}
	return own, nil
}

func parseSocket(line string) (inode string, s Socket, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 {
		return "", s, false
	}
	local, ok1 := parseAddr(fields[1])
	remote, ok2 := parseAddr(fields[2])
	return fields[9], Socket{Local: local, Remote: remote, State: fields[3]}, ok1 && ok2
}

// parseAddr reads the address as the kernel prints it: 32-bit words in the byte order of the machine, in hexadecimal.
func parseAddr(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	number, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok
}
