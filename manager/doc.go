// Package manager keeps one managed connection to every broker of a cluster. It is policy only: when to connect, to whom,
// how often, and what a failure means. Sockets are wire's business and metrics the collector's.
//
// Ownership: Run is the owner of the list of brokers and of the refresh rounds; each target (seed or broker) has an owner
// goroutine of its own; the gate's owner decides whose turn it is to authenticate. Nobody else writes their state, there
// is no mutex, and every owner publishes a copy of its state when its turn ends, for readers that never wait.
package manager
