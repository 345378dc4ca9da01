// Package exporter builds and runs the exporter's real binary, and reads its /metrics.
package exporter
