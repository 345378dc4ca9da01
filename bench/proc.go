package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc, USER_HZ, which is the same on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// usage is what the kernel knows of a process.
type usage struct {
	at      time.Time
	cpu     time.Duration // user and system
	rss     int64         // bytes
	sockets int
}

func usageOf(pid int) (u usage, err error) {
	u.at = time.Now()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	// The name in parentheses may hold spaces. The third field follows it; user and system time are the 14th and the 15th.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return u, err
		}
		u.cpu += time.Duration(n) * tick
	}
	pages, err := strconv.ParseInt(fields[21], 10, 64)
	if err != nil {
		return u, err
	}
	u.rss = pages * int64(os.Getpagesize())
	u.sockets, err = socketsOf(pid)
	return u, err
}

func socketsOf(pid int) (n int, err error) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if to, err := os.Readlink(dir + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n, err
}
