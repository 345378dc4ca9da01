// Package proxy is a TCP proxy on loopback whose target can be changed and whose life can be ended by the test.
package proxy
