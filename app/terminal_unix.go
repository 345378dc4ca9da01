//go:build unix

package app

import (
	"os"

	"golang.org/x/sys/unix"
)

// windowWidth returns the width of a terminal in characters, 0 where it does not tell, and whether the file is one.
func windowWidth(file *os.File) (width int, terminal bool) {
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}
