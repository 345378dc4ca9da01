// Package haproxy runs Debian's HAProxy before a Kafka cluster: one address to start from, a port for each broker, health checks.
package haproxy
