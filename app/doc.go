// Package app is the exporter as a program: flags become options, options become a logger, a dialer, a manager, a
// collector and a server, and all of them end in the reverse order. It can be run in a test, in process, on port 0.
package app
