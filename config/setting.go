package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"kafka_connection_exporter/security"
)

// envPrefix begins the names of all variables, as kingpin makes them from the name of the program.
const envPrefix = "KAFKA_CONNECTION_EXPORTER_"

// Setting is one value of a cluster: a flag, a key of the file, a row of the documentation.
type Setting struct {
	Flag    string   // without the hyphens in front
	Default string   // as it would be written; empty: none
	Help    string   // of the flag and of the key
	Values  []string // that are allowed; nil: what the check lets through

	key      string                          // where it does not follow from the flag
	flagHelp string                          // of the flag, where it differs
	own      bool                            // of each cluster, and never in defaults
	path     bool                            // of a file, relative to the one that names it
	secret   func(*Cluster) *security.Secret // what the variable without _FILE may hold instead of the file
	form     string                          // of every item of a list
	field    func(*Cluster) any
	check    rule
	needs    need
}

// Naming is how a mistake calls a setting: by its flag or by its key.
type Naming func(*Setting) string

// FlagName calls a setting by its flag.
func FlagName(s *Setting) string { return "--" + s.Flag }

// KeyName calls a setting by its key in the file.
func KeyName(s *Setting) string { return s.Key() }

// Key returns the path in the file, with dots: --kafka.X is X, and --group.x-y is x_y below group.
func (s *Setting) Key() string {
	if s.key != "" {
		return s.key
	}
	return strings.ReplaceAll(strings.TrimPrefix(s.Flag, "kafka."), "-", "_")
}

// FlagHelp returns the text of --help.
func (s *Setting) FlagHelp() string {
	help := s.Help
	if s.flagHelp != "" {
		return s.flagHelp
	}
	if _, list := s.field(&Cluster{}).(*[]string); list {
		help += " Repeatable."
	}
	if s.secret != nil {
		help += " Instead of it: the variable " + s.SecretVariable() + "."
	}
	return help
}

// SecretVariable returns the name of the variable that may hold the secret itself, or "" where there is no secret.
func (s *Setting) SecretVariable() string {
	if s.secret == nil {
		return ""
	}
	return variable(strings.TrimSuffix(s.Flag, "-file"))
}

// SetSecret takes value from the environment, unless a file is named, too.
func (s *Setting) SetSecret(c *Cluster, value string) error {
	if s.value(c) != "" {
		return fmt.Errorf("%s and the variable %s are both given, remove one", FlagName(s), s.SecretVariable())
	}
	*s.secret(c) = security.SecretValue(value)
	return nil
}

// Variable returns the name of the variable that stands for the flag.
func (s *Setting) Variable() string { return variable(s.Flag) }

func variable(flag string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(flag))
}

// Field returns a pointer to the value in c: a *string, *[]string, *bool, *int32, *float64 or *time.Duration.
func (s *Setting) Field(c *Cluster) any { return s.field(c) }

// value returns the value in c.
func (s *Setting) value(c *Cluster) any { return reflect.ValueOf(s.field(c)).Elem().Interface() }

func (s *Setting) sameValue(a, b *Cluster) bool {
	one, other := s.value(a), s.value(b)
	if list, ok := one.([]string); ok {
		return slices.Equal(list, other.([]string))
	}
	return one == other
}

// isDefault says whether nothing was said, or what would hold anyway.
func (s *Setting) isDefault(c *Cluster) bool { return s.sameValue(c, &builtIn) }

// reset forgets what was said.
func (s *Setting) reset(c *Cluster) {
	reflect.ValueOf(s.field(c)).Elem().Set(reflect.ValueOf(s.value(&builtIn)))
}

// set parses text, which is one value or one more item of a list. The error says what the text must be.
func (s *Setting) set(c *Cluster, text string) (err error) {
	switch field := s.field(c).(type) {
	case *string:
		*field = text
		if s.Values != nil && !slices.Contains(s.Values, text) {
			err = fmt.Errorf("must be %s", strings.Join(s.Values, " or "))
		}
	case *[]string:
		*field = append(slices.Clip(*field), text)
	case *bool:
		if *field = text == "true"; text != "true" && text != "false" {
			err = fmt.Errorf("must be true or false")
		}
	case *int32:
		var n int64
		if n, err = strconv.ParseInt(text, 10, 32); err != nil {
			err = fmt.Errorf("must be a whole number below 2147483648, such as 3")
		}
		*field = int32(n)
	case *float64:
		if *field, err = strconv.ParseFloat(text, 64); err != nil {
			err = fmt.Errorf("must be a number, such as 50")
		}
	case *time.Duration:
		if *field, err = parseDuration(text); err != nil {
			err = fmt.Errorf("must be a duration with units, such as 250ms, 30s, 1m30s or 1d")
		}
	}
	return err
}

// parseDuration reads what Prometheus writes, with days, weeks and years, and what Go writes, with fractions and signs.
func parseDuration(text string) (time.Duration, error) {
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d), nil
	}
	return time.ParseDuration(text)
}

// builtIn is what holds where nothing is said.
var builtIn = func() (c Cluster) {
	for _, s := range Settings() {
		if s.Default == "" {
			continue
		}
		if err := s.set(&c, s.Default); err != nil {
			panic("the default of --" + s.Flag + " " + err.Error())
		}
	}
	return c
}()
