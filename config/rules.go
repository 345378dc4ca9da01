package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"kafka_connection_exporter/security"
)

// Mistake is something that makes no sense about one setting.
type Mistake struct {
	Setting *Setting
	say     func(Naming) string
}

// Say returns a sentence that calls settings by name.
func (m Mistake) Say(name Naming) string { return m.say(name) }

// rule returns what is wrong with the value of a setting, without regard to others, or nil.
type rule func(s *Setting, value any) func(Naming) string

// Check returns every mistake in one error.
func (c *Cluster) Check(name Naming) error {
	var all []error
	for _, m := range c.Mistakes() {
		all = append(all, errors.New(m.Say(name)))
	}
	return errors.Join(all...)
}

// Mistakes returns all values that make no sense, by themselves or together, and settings that have no effect.
func (c *Cluster) Mistakes() (all []Mistake) {
	for _, s := range table {
		if say := s.wrong(c); say != nil {
			all = append(all, Mistake{Setting: s, say: say})
		}
	}
	return slices.Concat(all, c.together(), c.idle())
}

// wrong applies the setting's own rule.
func (s *Setting) wrong(c *Cluster) func(Naming) string {
	if s.check == nil {
		return nil
	}
	return s.check(s, s.value(c))
}

// together returns mistakes of several settings, each of which could be right.
func (c *Cluster) together() (all []Mistake) {
	if c.BackoffMax < c.BackoffBase {
		say := func(name Naming) string {
			return must(backoffMax, c.BackoffMax, fmt.Sprintf("at least %s, which is %s", name(backoffBase), c.BackoffBase))(name)
		}
		all = append(all, Mistake{Setting: backoffMax, say: say})
	}
	return all
}

// need is what a setting has no effect without.
type need int

const (
	needsNothing need = iota
	needsTLS
	needsUser
	needsOAuth
	needsKerberos
)

func (n need) mechanisms() []string {
	switch n {
	case needsUser:
		return []string{security.Plain, security.ScramSHA256, security.ScramSHA512}
	case needsOAuth:
		return []string{security.OAuthBearer}
	case needsKerberos:
		return []string{security.GSSAPI}
	}
	return nil
}

// idle refuses settings of TLS without TLS, and of one mechanism with another: a setting of security that is silently
// ignored is worse than an error.
func (c *Cluster) idle() (all []Mistake) {
	for _, s := range table {
		if say := c.idleness(s); say != nil && !s.isDefault(c) {
			all = append(all, Mistake{Setting: s, say: say})
		}
	}
	return all
}

// idleness says why a setting has no effect, or nil where it has one.
func (c *Cluster) idleness(s *Setting) func(Naming) string {
	if s.needs == needsTLS && !c.TLS.Enabled {
		return func(name Naming) string { return name(s) + " has no effect without " + name(tlsEnabled) }
	}
	mechanism, err := security.ParseMechanism(c.SASL.Mechanism)
	switch {
	case s.needs < needsUser || err != nil && c.SASL.Mechanism != "" || slices.Contains(s.needs.mechanisms(), mechanism):
		return nil
	case mechanism == "":
		return func(name Naming) string { return name(s) + " has no effect without " + name(saslMechanism) }
	}
	return func(name Naming) string {
		return name(s) + " has no effect with " + name(saslMechanism) + "=" + mechanism
	}
}

func must(s *Setting, value any, be string) func(Naming) string {
	return func(name Naming) string { return fmt.Sprintf("%s is %v, it must be %s", name(s), value, be) }
}

// longestName is in bytes. The protocol would allow 32,767, which no broker's log could show.
const longestName = 255

// shortText: what becomes a label, or a string of the protocol, must be text of some reasonable length.
func shortText(s *Setting, value any) func(Naming) string {
	text := value.(string)
	if utf8.ValidString(text) && len(text) <= longestName {
		return nil
	}
	return func(name Naming) string {
		return fmt.Sprintf("%s must be UTF-8 of at most %d bytes, it begins with %.20q", name(s), longestName, text)
	}
}

// The least values of what happens again and again: below, one typing error keeps a processor busy and floods brokers.
const (
	leastInterval  = 10 * time.Millisecond
	leastBackoff   = time.Millisecond
	leastRetention = time.Second // as often, at least, those who left are looked through
)

// atLeast refuses what is below least, and below a nanosecond.
func atLeast(least time.Duration) rule {
	be := "positive"
	if least > 0 {
		be = "at least " + least.String()
	}
	return func(s *Setting, value any) func(Naming) string {
		if value.(time.Duration) >= max(least, 1) {
			return nil
		}
		return must(s, value, be)
	}
}

// atLeastOrNever is the same for what can be turned off.
func atLeastOrNever(least time.Duration) rule {
	be := "positive"
	if least > 0 {
		be = "at least " + least.String()
	}
	return func(s *Setting, value any) func(Naming) string {
		if d := value.(time.Duration); d == 0 || d >= max(least, 1) {
			return nil
		}
		return must(s, value, be+", or 0 for never")
	}
}

func positiveNumber(s *Setting, value any) func(Naming) string {
	if rate := value.(float64); rate > 0 && !math.IsInf(rate, 1) {
		return nil
	}
	return must(s, value, "positive")
}

func countOrUnknown(s *Setting, value any) func(Naming) string {
	if value.(int32) >= 0 {
		return nil
	}
	return must(s, value, "the number of brokers, or 0 for unknown")
}

func knownMechanism(s *Setting, value any) func(Naming) string {
	if _, err := security.ParseMechanism(value.(string)); err != nil && value != "" {
		return func(name Naming) string { return fmt.Sprintf("%s: %s", name(s), err) }
	}
	return nil
}

// badPair is an item of a list of pairs that cannot be used.
type badPair struct {
	item              string
	key, value, other string // where the key is there twice
}

// pairsOf refuses lists with an item that is none, or with two for the same key.
func pairsOf(fold func(string) string) rule {
	return func(s *Setting, value any) func(Naming) string {
		_, bad := pairs(value.([]string), fold)
		switch {
		case bad == nil:
			return nil
		case bad.key == "":
			return func(name Naming) string { return fmt.Sprintf("%s=%q must have the form %s", name(s), bad.item, s.form) }
		}
		return func(name Naming) string {
			return fmt.Sprintf("%s names %q twice, as %q and %q", name(s), bad.key, bad.other, bad.value)
		}
	}
}

// pairs splits at the first equals sign, and not at a colon as kingpin does: hosts may be IPv6 addresses.
func pairs(list []string, fold func(string) string) (map[string]string, *badPair) {
	all := make(map[string]string, len(list))
	for _, text := range list {
		key, value, _ := strings.Cut(text, "=")
		key = fold(strings.TrimSpace(key))
		if key == "" || value == "" {
			return nil, &badPair{item: text}
		}
		if other, twice := all[key]; twice && other != value {
			return nil, &badPair{item: text, key: key, value: value, other: other}
		}
		all[key] = value
	}
	return all, nil
}
