// Package dashboards builds the Grafana dashboards of the exporter. The JSON files beside it are what people import; go generate
// writes them, and a test compares.
package dashboards

//go:generate go run ./generate
