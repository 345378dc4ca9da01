package config

import (
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"
)

// mostClusters is far above what one process can keep connections to. A file of 4 MiB could hold a million empty ones.
const mostClusters = 20_000

// loader reads one file and those that it names.
type loader struct {
	most     int // clusters
	files    []string
	seen     map[string]bool // of files
	sum      hash.Hash
	drafts   []draft
	problems problems
}

// draft is a cluster, and where each of its values was said.
type draft struct {
	Cluster
	at     position
	origin map[*Setting]origin // of what was said, here or in defaults
}

// origin is where a value was said.
type origin struct {
	at    position
	items []position // of a list
	own   bool       // by the cluster itself, and not by defaults
}

// under returns a draft that begins with everything that d has.
func (d draft) under(at position) draft {
	inherited := make(map[*Setting]origin, len(d.origin))
	for s, o := range d.origin {
		o.own = false
		inherited[s] = o
	}
	return draft{Cluster: d.Cluster, at: at, origin: inherited}
}

// file reads the file at path. It was named at, or by the user himself where that is nil.
func (l *loader) file(path string, base draft, at *position) {
	clean := filepath.Clean(path)
	if l.seen[clean] {
		return
	}
	l.seen[clean] = true
	s := &source{path: path, order: len(l.files), dir: filepath.Dir(path), root: filepath.Dir(path)}
	if absolute, err := filepath.Abs(s.dir); err == nil {
		s.root = absolute
	}
	l.files = append(l.files, path)
	content, err := readFile(path)
	switch {
	case err != nil && at != nil:
		l.problems.add(*at, "%s: %s", path, oneLine(err))
		return
	case err != nil:
		l.problems.add(s.start(), "%s", oneLine(err))
		return
	case s.order > 0:
		fmt.Fprintf(l.sum, "\x00%s\x00", path) // as a file that moves may mean something else
	}
	l.sum.Write(content)
	if root := l.document(s, content); root != nil {
		l.root(s, root, base, at == nil)
	}
}

// root reads what a file says, on top of the defaults of base. Only the first one names others.
func (l *loader) root(s *source, root *yaml.Node, base draft, first bool) {
	values := l.topLevel(s, root, first)
	if values["defaults"] == nil && values["clusters"] == nil && values["cluster_files"] == nil {
		l.problems.add(s.at(root), "there are no clusters, add clusters: with a name and seeds each")
		return
	}
	defaults := base.under(s.at(root))
	if n := values["defaults"]; n != nil {
		l.group(s, keys, n, &target{draft: &defaults, defaults: true})
	}
	for _, n := range l.list(s, values["clusters"], "clusters", "a list of clusters, each with - name: and seeds:") {
		if len(l.drafts) == l.most {
			l.problems.add(s.at(n), "there are more than %d clusters, share them out over several files and processes", l.most)
			break
		}
		if n.Kind != yaml.MappingNode {
			l.problems.add(s.at(n), "a cluster is %s, it must be keys with values, name and seeds at least", kindOf(n))
			continue
		}
		d := defaults.under(s.at(n))
		l.group(s, keys, n, &target{draft: &d})
		l.drafts = append(l.drafts, d)
	}
	for _, n := range l.list(s, values["cluster_files"], "cluster_files", "a list of files, such as [clusters.d/*.yml]") {
		l.glob(s, n, defaults)
	}
}

// topLevel returns the values of the keys of a file.
func (l *loader) topLevel(s *source, root *yaml.Node, first bool) map[string]*yaml.Node {
	values := make(map[string]*yaml.Node)
	l.eachKey(s, root, "", func(key, value *yaml.Node) {
		switch name := key.Value; {
		case name == "cluster_files" && !first:
			l.problems.add(s.at(key), "cluster_files can only stand in the first file, name these files there")
		case name == "defaults" || name == "clusters" || name == "cluster_files":
			values[name] = value
		default:
			l.problems.add(s.at(key), "%s", unknownAtTop(name))
		}
	})
	return values
}

// list returns the items of a list that may be missing.
func (l *loader) list(s *source, n *yaml.Node, key, must string) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind != yaml.SequenceNode:
		l.problems.add(s.at(n), "%s is %s, it must be %s", key, kindOf(n), must)
		return nil
	}
	return n.Content
}

// glob reads the files that a pattern, relative to the file that names it, stands for.
func (l *loader) glob(s *source, n *yaml.Node, defaults draft) {
	at := s.at(n)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || n.Value == "" {
		l.problems.add(at, "an entry of cluster_files is %s, it must be the name of a file or a pattern, such as clusters.d/*.yml", kindOf(n))
		return
	}
	if strings.ContainsRune(n.Value, 0) {
		l.problems.add(at, "a name of a file holds no zero byte, remove it")
		return
	}
	pattern, absolute := n.Value, filepath.IsAbs(n.Value)
	switch plain := !strings.ContainsAny(pattern, `*?[\`); {
	case plain && absolute:
		l.file(pattern, defaults, &at)
		return
	case plain:
		l.file(filepath.Join(s.dir, pattern), defaults, &at)
		return
	case !absolute:
		pattern = filepath.Join(escaped(s.dir), pattern)
	}
	matches, err := filepath.Glob(pattern)
	if err != nil {
		l.problems.add(at, "%s is no pattern: %s; close the bracket, or put a backslash before it", quoted(n.Value), err)
		return
	}
	for _, match := range matches {
		if hidden := strings.HasPrefix(filepath.Base(match), "."); hidden && !strings.HasPrefix(filepath.Base(pattern), ".") {
			continue // what editors and Kubernetes leave there
		}
		l.file(match, defaults, &at)
	}
}

// escaped makes a directory a pattern that stands for it alone.
func escaped(dir string) string {
	if os.PathSeparator == '\\' {
		return dir // there is no way to escape there
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
