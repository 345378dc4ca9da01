//go:build !unix

package app

func descriptorLimit() int { return 0 }
