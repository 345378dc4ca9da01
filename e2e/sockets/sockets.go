// Package sockets lists the TCP sockets of a process, for tests that look at one from outside.
package sockets

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// TCP states as the kernel numbers them.
const (
	Established = 1
	CloseWait   = 8
)

// Socket is one TCP socket of a process.
type Socket struct {
	Local, Remote netip.AddrPort
	State         uint64
}

// Of lists the TCP sockets that a process holds open. The kernel's table is read before the descriptors, so that a socket that was
// closed in between is not reported. Where a socket is in no table, Of looks again: the last look counts.
func Of(pid int) ([]Socket, error) {
	var own []Socket
	for range looks {
		table, err := connections(pid)
		if err != nil {
			return nil, err
		}
		inodes, err := Inodes(pid)
		if err != nil {
			return nil, err
		}
		own = own[:0]
		for _, inode := range inodes {
			if s, ok := table[inode]; ok {
				own = append(own, s)
			}
		}
		if len(own) == len(inodes) {
			break
		}
	}
	return own, nil
}

// looks is how often Of tries to find all sockets: the kernel's table has no moment of its own, and an entry may be missed while it is read.
const looks = 3

// Inodes lists the sockets of all kinds that a process holds open, exactly.
func Inodes(pid int) ([]uint64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	targets, err := p.FileDescriptorTargets()
	if err != nil {
		return nil, fmt.Errorf("descriptors of process %d: %w", pid, err)
	}
	var inodes []uint64
	for _, target := range targets {
		text, ok := strings.CutPrefix(target, "socket:[")
		if inode, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64); ok && err == nil {
			inodes = append(inodes, inode)
		}
	}
	return inodes, nil
}

// connections is the kernel's table of the process' network, by inode.
func connections(pid int) (map[uint64]Socket, error) {
	fs, err := procfs.NewFS(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	table := make(map[uint64]Socket)
	//lint:ignore SA1019 its successor, sock_diag over netlink, is a kernel module that not every machine has
	for _, read := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} {
		lines, err := read()
		if err != nil {
			return nil, fmt.Errorf("connections of process %d: %w", pid, err)
		}
		for _, l := range lines {
			table[l.Inode] = Socket{addrPort(l.LocalAddr, l.LocalPort), addrPort(l.RemAddr, l.RemPort), l.St}
		}
	}
	return table, nil
}

func addrPort(ip net.IP, port uint64) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port))
}
