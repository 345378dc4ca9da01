package config

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"
)

// Print writes what is effective as a file that Load reads as the same clusters, if it stands where relative paths of it
// lead to the same files. Files with secrets are shown by name only, and secrets from the environment not at all.
func Print(w io.Writer, clusters []Cluster) error {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range clusters {
		list.Content = append(list.Content, clusters[i].node())
	}
	root := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text("clusters"), list}}
	var all bytes.Buffer
	encoder := yaml.NewEncoder(&all)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return fmt.Errorf("the configuration cannot be printed: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return fmt.Errorf("the configuration cannot be printed: %w", err)
	}
	_, err := w.Write(all.Bytes())
	return err
}

// node returns everything that is not empty, in the order of the table, but for the name, which comes first.
func (c *Cluster) node() *yaml.Node {
	root := &yaml.Node{Kind: yaml.MappingNode}
	nameSetting.put(root, c)
	for _, s := range table {
		if s != nameSetting {
			s.put(root, c)
		}
	}
	return root
}

// put adds the value in c to root, below its groups.
func (s *Setting) put(root *yaml.Node, c *Cluster) {
	value := s.node(c)
	if value == nil {
		return
	}
	parts := strings.Split(s.Key(), ".")
	last := len(parts) - 1
	for _, part := range parts[:last] {
		root = below(root, part)
	}
	root.Content = append(root.Content, text(parts[last]), value)
}

func below(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	inner := &yaml.Node{Kind: yaml.MappingNode}
	n.Content = append(n.Content, text(key), inner)
	return inner
}

// node returns the value in c, or nil where there is none.
func (s *Setting) node(c *Cluster) *yaml.Node {
	switch v := s.value(c).(type) {
	case string:
		if v == "" && s.isDefault(c) {
			return nil
		}
		return text(v)
	case []string:
		if len(v) == 0 {
			return nil
		}
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range v {
			list.Content = append(list.Content, text(item))
		}
		return list
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	case int32:
		return scalar("!!int", strconv.Itoa(int(v)))
	case float64:
		return scalar("!!float", strconv.FormatFloat(v, 'g', -1, 64))
	case time.Duration:
		return scalar("!!str", formatDuration(v))
	}
	return nil
}

// formatDuration writes a duration as Prometheus does, or as Go does where that would lose a part of it.
func formatDuration(d time.Duration) string {
	if d < 0 || d%time.Millisecond != 0 {
		return d.String()
	}
	return model.Duration(d).String()
}

// text is quoted by the library where it would be something else without.
func text(value string) *yaml.Node { return scalar("!!str", value) }

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}
