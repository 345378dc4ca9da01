// Package freeport finds TCP ports on loopback that nobody uses and that the kernel never gives to an outgoing connection.
package freeport
