// Generate writes the dashboards as JSON into the folder it is run in: go generate ./dashboards.
package main

import (
	"fmt"
	"os"

	"kafka_connection_exporter/dashboards"
)

func main() {
	for name, text := range dashboards.Files() {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
