//go:build unix

package app

import (
	"math"
	"syscall"
)

// descriptorLimit returns how many descriptors this process may have open, 0 for no limit. Package os has raised the soft
// limit to the hard one before main.
func descriptorLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || uint64(limit.Cur) > math.MaxInt32 {
		return 0
	}
	return int(limit.Cur)
}
