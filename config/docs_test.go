package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPage: docs/CONFIG.md has every key.
func TestPage(t *testing.T) { compare(t, "../docs/CONFIG.md", page()) }

// TestSchema: docs/clusters.schema.json is what editors complete and check a file by.
func TestSchema(t *testing.T) {
	text, err := json.MarshalIndent(schema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "../docs/clusters.schema.json", string(text)+"\n")
}

const pageHead = `# The file of --config.file

<!-- Made by go test ./config -update from the table of settings (config/table.go). -->

One YAML file names all clusters that one process watches. [clusters.schema.json](clusters.schema.json) is a schema of it: editors
with a YAML language server complete and check a file that begins with

` + "```yaml" + `
# yaml-language-server: $schema=https://…/docs/clusters.schema.json
` + "```" + `

## The whole of it

| key | type | meaning |
|---|---|---|
| ` + "`defaults`" + ` | group of keys | What holds for all clusters of the file that do not say otherwise, key by key. |
| ` + "`clusters`" + ` | list of groups of keys | The clusters, each with the keys below. |
| ` + "`cluster_files`" + ` | list of text | More files, by name or by pattern (` + "`clusters.d/*.yml`" + `; a name that begins with a dot fits no pattern that does not). They have the same form without ` + "`cluster_files`" + `; their defaults are for their own clusters, on top of those of the first file. |

- Paths are relative to the file that names them; one that is a link counts by its own name.
- Secrets are never in the file: it names the files that they are in.
- A list replaces the one of defaults. What defaults say and what has no effect in a cluster, such as ` + "`tls.ca_file`" + ` where
  ` + "`tls.enabled`" + ` is false, is left out there; what has no effect anywhere is a mistake. An empty ` + "`sasl.mechanism`" + ` (` + "`''`" + `) is none, where
  defaults have one.
- Durations have units: ` + "`250ms`, `30s`, `1m30s`, `12h`, `1d`" + `.
- Aliases and merge keys of YAML are not read, and a file is one document of at most 4 MiB.
- Everything that is wrong is told at once, with file, line and column. ` + "`--config.check`" + ` looks without starting, and reads every
  file that is named; ` + "`--config.print`" + ` shows what is effective, in the form of such a file. With flags instead of a file it
  writes the file that stands for the flags.

## Keys of a cluster

A key is its flag: ` + "`--kafka.x`" + ` is ` + "`x`" + `, ` + "`--group.x-y`" + ` is ` + "`x_y`" + ` below ` + "`group`" + `, written ` + "`group.x_y`" + ` here.

| key | type | default | meaning |
|---|---|---|---|
`

func page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, s := range table {
		def, help := s.Default, s.Help
		if def != "" {
			def = "`" + def + "`"
		}
		switch {
		case s == nameSetting || s == seedSetting:
			def = "required"
		case s.own:
			help += " Not under defaults."
		case s == tlsEnabled:
			def = "`false`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Key(), s.kind(), def, strings.ReplaceAll(help, "|", `\|`))
	}
	return b.String()
}

// kind is the type in words.
func (s *Setting) kind() string {
	switch s.field(&Cluster{}).(type) {
	case *[]string:
		if s.form != "" {
			return "list of " + s.form
		}
		return "list of text"
	case *bool:
		return "true or false"
	case *int32:
		return "whole number"
	case *float64:
		return "number"
	case *time.Duration:
		return "duration"
	}
	switch {
	case s.path:
		return "file"
	case s.Values != nil:
		return strings.Join(s.Values, " or ")
	}
	return "text"
}

func schema() map[string]any {
	cluster, defaults := keys.schema(false), keys.schema(true)
	cluster["required"] = []string{"name", "seeds"}
	return map[string]any{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "The file of kafka_connection_exporter --config.file",
		"type":                 "object",
		"additionalProperties": false,
		"properties": map[string]any{
			"defaults":      defaults,
			"clusters":      map[string]any{"type": "array", "description": "The clusters.", "items": cluster},
			"cluster_files": map[string]any{"type": "array", "description": "More files of the same form, by name or by pattern.", "items": map[string]any{"type": "string", "minLength": 1}},
		},
	}
}

func (g *group) schema(defaults bool) map[string]any {
	properties := make(map[string]any)
	for name, s := range g.settings {
		if !s.own || !defaults {
			properties[name] = s.schema()
		}
	}
	for name, inner := range g.groups {
		properties[name] = inner.schema(defaults)
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

func (s *Setting) schema() map[string]any {
	one := map[string]any{"description": s.Help}
	switch s.field(&Cluster{}).(type) {
	case *[]string:
		item := map[string]any{"type": "string"}
		if s.form != "" {
			item["pattern"] = "^[^=]+=.+$"
		}
		one["type"], one["items"] = "array", item
		if s == seedSetting {
			one["minItems"] = 1
		}
	case *bool:
		one["type"] = "boolean"
	case *int32:
		one["type"], one["minimum"], one["maximum"] = "integer", 0, 1<<31-1
	case *float64:
		one["type"], one["exclusiveMinimum"] = "number", 0
	case *time.Duration:
		text := map[string]any{"type": "string", "pattern": `^(0|([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h|d|w|y))+)$`}
		one["anyOf"] = []any{text, map[string]any{"const": 0}}
	default:
		one["type"] = "string"
		if s.Values != nil {
			one["enum"] = s.Values // in quotes for editors; Load takes a number, too
		}
	}
	if s == nameSetting {
		one["minLength"] = 1
	}
	if s.Default != "" {
		one["default"] = s.Default
		switch v := s.value(&builtIn).(type) {
		case int32, float64:
			one["default"] = v
		}
	}
	return one
}
