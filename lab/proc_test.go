package lab

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// States of TCP sockets, as the kernel numbers them.
const (
	established = "01"
	timeWait    = "06"
	closeWait   = "08"
)

// socket is one TCP socket of the exporter.
type socket struct {
	remote netip.AddrPort
	state  string
}

// sockets lists the TCP sockets that the exporter holds, from /proc. The table is read before the descriptors, so that a
// socket that was closed in between is not reported.
func (p *process) sockets() []socket {
	p.Helper()
	table := make(map[string]socket)
	for _, file := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.cmd.Process.Pid, file))
		if err != nil {
			p.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, " "+timeWait+" 0") { // nobody's any more, and there may be tens of thousands
				continue
			}
			if fields := strings.Fields(line); len(fields) >= 10 && fields[0] != "sl" {
				table["socket:["+fields[9]+"]"] = socket{remote: p.address(fields[2]), state: fields[3]}
			}
		}
	}
	var own []socket
	for _, link := range p.descriptors() {
		if s, ok := table[link]; ok {
			own = append(own, s)
		}
	}
	return own
}

// openSockets counts the exporter's sockets of all kinds by its descriptors. The kernel's table of connections, which sockets reads, may
// leave one out while the rest of the machine opens and closes thousands.
func (p *process) openSockets() (n int) {
	p.Helper()
	for _, link := range p.descriptors() {
		if strings.HasPrefix(link, "socket:") {
			n++
		}
	}
	return n
}

// connections counts the exporter's established connections to addresses.
func (p *process) connections(addrs ...string) []int {
	p.Helper()
	counts := make([]int, len(addrs))
	for _, s := range p.sockets() {
		if i := slices.Index(addrs, s.remote.String()); i >= 0 && s.state == established {
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
		if s.state == closeWait {
			n++
		}
	}
	return n
}

// descriptors are what the exporter's open descriptors lead to.
func (p *process) descriptors() []string {
	p.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	if err != nil {
		p.Fatal(err)
	}
	var targets []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil { // else closed in the meantime
			targets = append(targets, target)
		}
	}
	return targets
}

// address reads what the kernel prints: 32-bit words in the byte order of the machine, in hexadecimal.
func (p *process) address(text string) netip.AddrPort {
	p.Helper()
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil {
		p.Fatal(err)
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	number, err := strconv.ParseUint(port, 16, 16)
	addr, ok := netip.AddrFromSlice(raw)
	if err != nil || !ok {
		p.Fatalf("no address: %s", text)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(number))
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
