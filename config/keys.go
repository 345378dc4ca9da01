package config

import (
	"fmt"
	"slices"
	"strings"
)

// group is a mapping of the file: its keys are settings or further groups.
type group struct {
	path     string // with a dot at the end, or empty
	settings map[string]*Setting
	groups   map[string]*group
}

// keys is everything that a cluster may have.
var keys = func() *group {
	root := newGroup("")
	for _, s := range table {
		parts := strings.Split(s.Key(), ".")
		g, last := root, len(parts)-1
		for _, part := range parts[:last] {
			if g.groups[part] == nil {
				g.groups[part] = newGroup(g.path + part + ".")
			}
			g = g.groups[part]
		}
		g.settings[parts[last]] = s
	}
	return root
}()

func newGroup(path string) *group {
	return &group{path: path, settings: make(map[string]*Setting), groups: make(map[string]*group)}
}

func (g *group) names() (all []string) {
	for name := range g.settings {
		all = append(all, name)
	}
	for name := range g.groups {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// plainKey is what of an unknown key may be shown: somebody who forgot the space after a colon has the value in the key.
func plainKey(key string) string {
	if i := strings.IndexAny(key, ":= \t\r\n"); i >= 0 {
		key = key[:i]
	}
	return fmt.Sprintf("%.40q", key)
}

// secretKeys are those that people write a secret itself into.
var secretKeys = []struct{ word, file string }{
	{"client_secret", "sasl.oauth.client_secret_file"}, {"secret", "sasl.oauth.client_secret_file"}, {"token", "sasl.oauth.token_file"},
	{"password", "sasl.password_file"}, {"passwd", "sasl.password_file"},
}

// secretKey returns the word that key is or begins with, and the key to use.
func secretKey(key string) (word, file string) {
	for _, s := range secretKeys {
		if rest, found := strings.CutPrefix(key, s.word); found && (rest == "" || strings.ContainsAny(rest[:1], ":= \t\r\n")) {
			return s.word, s.file
		}
	}
	return "", ""
}

// meant returns the setting that an unknown key was to be, so that nothing is said about it being missing, or nil.
func (g *group) meant(key string) *Setting {
	plain := strings.ToLower(strings.ReplaceAll(key, "-", "_"))
	path := g.nearest(plain)
	if _, file := secretKey(plain); file != "" {
		path = file
	}
	for _, s := range table {
		if s.Key() == path {
			return s
		}
	}
	return nil
}

// processKeys begin the flags that are not about a cluster.
var processKeys = []string{"web", "log", "collector", "config", "shard", "total_shards"}

// unknown says what to do about a key that g does not have.
func (g *group) unknown(key string) string {
	shown, plain := plainKey(key), strings.ToLower(strings.ReplaceAll(key, "-", "_"))
	if key == "<<" {
		return "merge keys (<<) are not read: say it once under defaults"
	}
	if word, file := secretKey(plain); word != "" {
		return fmt.Sprintf("%s: secrets only by file: %s", g.path+word, strings.TrimPrefix(file, g.path))
	}
	if strings.ContainsAny(key, ":=") {
		return fmt.Sprintf("unknown key %s: after the colon of a key there must be a space", shown)
	}
	if near := g.nearest(plain); near != "" {
		return fmt.Sprintf("unknown key %s, the nearest one is %s", shown, near)
	}
	if g.path == "" && plain == "kafka" {
		return fmt.Sprintf("unknown key %s: what is --kafka.x as a flag is the key x of a cluster", shown)
	}
	if g.path == "" && slices.Contains(processKeys, plain) {
		return fmt.Sprintf("unknown key %s: what is about the process and not about a cluster stays a flag", shown)
	}
	return fmt.Sprintf("unknown key %s, there are %s", shown, strings.Join(g.names(), ", "))
}

// unknownAtTop is the same for the top of a file.
func unknownAtTop(key string) string {
	names := []string{"clusters", "defaults", "cluster_files"}
	near := closest(key, names, max(2, len(key)/2))
	switch {
	case near != "":
		return fmt.Sprintf("unknown key %s, the nearest one is %s", plainKey(key), near)
	case keys.settings[key] != nil || keys.groups[key] != nil:
		return fmt.Sprintf("the key %s belongs to a cluster, or under defaults, and not to the top of the file", plainKey(key))
	case slices.Contains(processKeys, key):
		return keys.unknown(key)
	}
	return fmt.Sprintf("unknown key %s, there are %s", plainKey(key), strings.Join(names, ", "))
}

// nearest returns the known key that is meant, with its groups if it is somewhere else, or "".
func (g *group) nearest(key string) string {
	flat := strings.NewReplacer(".", "_", "-", "_")
	for _, s := range table { // by its flag, or by its path with other separators
		path := flat.Replace(g.path + key)
		if path == flat.Replace(s.Key()) || path == flat.Replace(s.Flag) || path == flat.Replace(strings.TrimPrefix(s.Flag, "kafka.")) {
			return s.Key()
		}
	}
	if name := closest(key, g.names(), max(2, len(key)/3)); name != "" {
		return g.path + name
	}
	for _, s := range table {
		if path := s.Key(); strings.HasSuffix(path, "."+key) {
			return path
		}
	}
	if name := closest(key, g.names(), len(key)/2); name != "" {
		return g.path + name
	}
	return ""
}

// closest returns the name that takes the fewest typing errors to come from, if these are not more than most.
func closest(key string, names []string, most int) (best string) {
	const longest = 64
	if len(key) > longest {
		return ""
	}
	for _, name := range names {
		if d := distance(key, name); d <= most && d < len(name) {
			best, most = name, d-1
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, above+1, row[j]+1)
			corner = above
		}
	}
	return row[len(b)]
}
