// Package lab is the fault lab: every fault of the catalogue (catalogue_test.go, FAULTS.md) is done to a running exporter, over
// real loopback sockets, and what the exporter shows is asserted on /metrics and nothing inside it. It has tests only.
//
// The exporter is a child process: the test binary runs itself again as one (child_test.go). So it can be stopped, its
// sockets are in /proc, and its name server is one that a test controls.
package lab
