package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"
)

// mostItems bounds what 20,000 clusters can inherit from one file.
const mostItems = 1000

// target is what a group of keys is read into.
type target struct {
	draft    *draft
	defaults bool
}

// eachKey calls visit for every key that is there for the first time.
func (l *loader) eachKey(s *source, n *yaml.Node, path string, visit func(key, value *yaml.Node)) {
	first := make(map[string]position)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			l.problems.add(s.at(key), "a key is %s, it must be a word", kindOf(key))
			continue
		}
		if at, twice := first[key.Value]; twice {
			l.problems.add(s.at(key), "the key %s is there twice, the first time in line %d: remove one", path+plainWord(key.Value), at.line)
			continue
		}
		first[key.Value] = s.at(key)
		visit(key, value)
	}
}

// plainWord is plainKey without quotes where it needs none.
func plainWord(key string) string { return strings.Trim(plainKey(key), `"`) }

// group reads the keys of g.
func (l *loader) group(s *source, g *group, n *yaml.Node, to *target) {
	if n.Kind != yaml.MappingNode {
		l.problems.add(s.at(n), "%s", g.notKeys(n))
		if g == keys.groups["seed"] { // after --kafka.seed
			to.draft.origin[seedSetting] = origin{at: s.at(n), own: true}
		}
		return
	}
	l.eachKey(s, n, g.path, func(key, value *yaml.Node) {
		setting := g.settings[key.Value]
		switch inner := g.groups[key.Value]; {
		case inner != nil:
			l.group(s, inner, value, to)
		case setting == nil:
			l.problems.add(s.at(key), "%s", g.unknown(key.Value))
			if meant := g.meant(key.Value); meant != nil {
				to.draft.origin[meant] = origin{at: s.at(key), own: true}
			}
		case setting.own && to.defaults:
			l.problems.add(s.at(key), "%s cannot stand under defaults, every cluster has its own", setting.Key())
		default:
			l.setting(s, setting, value, to.draft)
		}
	})
}

// notKeys says what a group must be.
func (g *group) notKeys(n *yaml.Node) string {
	name, example := strings.TrimSuffix(g.path, "."), strings.Join(g.names(), ", ")
	switch {
	case g == keys:
		name, example = "defaults", "check: {interval: 10s}"
	case g.settings["enabled"] != nil:
		example = name + ": {enabled: true}"
	case g == keys.groups["seed"]:
		example += "; the brokers to ask first are under seeds"
	}
	return fmt.Sprintf("%s is %s, it must be keys with values, such as %s", name, kindOf(n), example)
}

// setting reads one value. One that is wrong leaves a draft that is wrong in no other way.
func (l *loader) setting(s *source, setting *Setting, n *yaml.Node, to *draft) {
	before := l.problems.count
	o := origin{at: s.at(n), own: true}
	read := to.Cluster
	if _, isList := setting.field(&read).(*[]string); isList {
		*setting.field(&read).(*[]string) = nil
		for i, item := range l.list(s, n, setting.Key(), "a list, such as "+setting.example()) {
			if i == mostItems {
				l.problems.add(s.at(item), "%s has more than %d items, leave some out", setting.Key(), mostItems)
				break
			}
			o.items = append(o.items, s.at(item))
			l.scalar(s, setting, item, &read)
		}
	} else {
		l.scalar(s, setting, n, &read)
	}
	to.origin[setting] = o
	if l.problems.count > before {
		return
	}
	if say := setting.wrong(&read); say != nil {
		l.problems.add(o.at, "%s", say(KeyName))
		return
	}
	to.Cluster = read
}

// scalar reads one value or one item of a list.
func (l *loader) scalar(s *source, setting *Setting, n *yaml.Node, c *Cluster) {
	key, text, kind := setting.Key(), n.Value, kindOf(n)
	bare := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	number := kind == "a number" && bare
	switch setting.field(c).(type) {
	case *string, *[]string:
		switch {
		case kind == "text" || number && setting.Values != nil:
		case number || kind == "a truth value" || kind == "a date":
			l.problems.add(s.at(n), "%s is %s, it must be text: put it in quotes", key, kind)
			return
		default:
			l.problems.add(s.at(n), "%s is %s, it must be text, such as %s", key, kind, setting.example())
			return
		}
		if strings.ContainsRune(text, 0) {
			l.problems.add(s.at(n), "%s holds a zero byte, remove it", key)
			return
		}
		if setting.path && text != "" && !filepath.IsAbs(text) {
			text = filepath.Join(s.root, text)
		}
	case *bool:
		if kind == "a truth value" {
			text = strings.ToLower(text)
		} else {
			text = "" // text in quotes is none
		}
	case *int32, *float64:
		if !number {
			text = ""
		}
	}
	err := setting.set(c, text)
	switch {
	case err == nil:
	case n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null":
		l.problems.add(s.at(n), "%s is %s, it %s", key, kind, err)
	default:
		l.problems.add(s.at(n), "%s is %s, it %s", key, quoted(n.Value), err)
	}
}

// example is what a value looks like.
func (s *Setting) example() string {
	switch {
	case s == seedSetting:
		return "[kafka-0:9092, kafka-1:9092]"
	case s.form != "":
		return "[" + s.form + "]"
	case s.Flag == "sasl.oauth.scope":
		return "[kafka]"
	case s.Flag == "sasl.mechanism":
		return "SCRAM-SHA-512"
	case s.Flag == "kafka.cluster":
		return "main"
	case s.path:
		return "/etc/kafka/" + strings.ReplaceAll(s.Flag[strings.LastIndexByte(s.Flag, '.')+1:], "-file", "")
	case s.Default != "":
		return s.Default
	}
	return "abc"
}
