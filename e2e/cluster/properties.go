//go:build e2e

package cluster

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// properties is a Java properties file in the making.
type properties map[string]string

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

func (p properties) merge(more map[string]string) { maps.Copy(p, more) }

func (p properties) write(file string) error {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "%s=%s\n", key, escapes.Replace(p[key]))
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write properties: %w", err)
	}
	return nil
}
