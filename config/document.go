package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	// Of the libraries that tell positions, v4 alone has the column of errors of syntax, too, and new work is done there;
	// v3 gets security fixes only. Of goccy/go-yaml, which has columns as well, the YAML organization keeps no version, and
	// Prometheus uses this one's family.
	"go.yaml.in/yaml/v4"
)

// document parses content, the text of s, and returns the mapping that it is, or nil after telling why there is none.
// Nodes are never decoded by the library, so that no alias is expanded.
func (l *loader) document(s *source, content []byte) *yaml.Node {
	if at, wrong := badText(s, content); wrong != "" {
		l.problems.add(at, "%s", wrong)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var first, second yaml.Node
	err := decoder.Decode(&first)
	if errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0 {
		l.problems.add(s.start(), "the file is empty, it must have clusters: with a name and seeds each")
		return nil
	}
	if err == nil {
		if err = decoder.Decode(&second); err == nil {
			l.problems.add(s.at(&second), "a second document begins here, a file is one: put the clusters into one list, or into a file of cluster_files")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		l.problems.add(syntax(s, err))
		return nil
	}
	if l.aliases(s, &first) {
		return nil
	}
	root := first.Content[0]
	if root.Kind != yaml.MappingNode {
		l.problems.add(s.at(root), "the file is %s, it must be keys with values: clusters, defaults and cluster_files", kindOf(root))
		return nil
	}
	return root
}

// badText finds what no YAML may hold, as the library has no position for it.
func badText(s *source, content []byte) (at position, wrong string) {
	at = s.start()
	for i := 0; i < len(content); {
		r, size := utf8.DecodeRune(content[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			return at, "the file is not UTF-8 from here on, save it as UTF-8"
		case r == '\n':
			at.line, at.column = at.line+1, 0
		case r < ' ' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff:
			return at, "a control character is here, remove it"
		}
		at.column++
		i += size
	}
	return at, ""
}

// syntax tells where the library stopped. Its words hold nothing of the file but the names of anchors and directives, and
// an anchor may be a password that begins with an asterisk.
func syntax(s *source, err error) (at position, format string, text string) {
	at, text = s.start(), "YAML that cannot be read"
	var load *yaml.LoadError
	if errors.As(err, &load) {
		at.line, at.column, text = load.Mark.Line, load.Mark.Column, load.Message
	}
	if strings.Contains(text, "anchor") {
		text = "an alias is of an anchor that is not there; what begins with * must be in quotes"
	} else {
		text = "this is no YAML: " + oneLine(errors.New(text)) + "; look at the indentation, colons and quotes here and in the line before"
	}
	return at, "%s", text
}

// aliases refuses them all: they make a small file a large one, and defaults are there for what they are used for.
func (l *loader) aliases(s *source, n *yaml.Node) (found bool) {
	if n.Kind == yaml.AliasNode {
		l.problems.add(s.at(n), "aliases (*) are not read, so that a small file stays small: say it once under defaults; text that begins with * must be in quotes")
		return true
	}
	for _, child := range n.Content {
		found = l.aliases(s, child) || found
	}
	return found
}

// kindOf says what a node is, without its value.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a group of keys"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!str":
		return "text"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a truth value"
	case "!!null":
		return "empty"
	case "!!timestamp":
		return "a date"
	}
	return "something with a tag (!)"
}

// quoted shows a value in a message, cut to a length that fits.
func quoted(text string) string { return fmt.Sprintf("%.60q", text) }
