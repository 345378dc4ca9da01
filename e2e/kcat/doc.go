// Package kcat asks Debian's kcat (librdkafka) what it sees of a cluster, and runs librdkafka's mock cluster.
package kcat
