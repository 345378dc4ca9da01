//go:build !unix

package app

import "os"

func windowWidth(*os.File) (width int, terminal bool) { return 0, false }
