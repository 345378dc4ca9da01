package config

import (
	"maps"
	"strings"
	"testing"
)

// FuzzPairs: a list of pairs is refused, or each key is there once with its value, also when it is read again.
func FuzzPairs(f *testing.F) {
	for _, s := range []string{"", "=", "a=b", "A=b,a=b", "a=b,a=c", " a =b", "a==", "[::1]=x", "a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := strings.Split(text, ",")
		all, bad := pairs(list, strings.ToLower)
		if bad != nil {
			said := pairsOf(strings.ToLower)(&Setting{Flag: "flag", form: "KEY=VALUE"}, list)(FlagName)
			if len(all) > 0 || !strings.HasPrefix(said, "--flag") || strings.ContainsAny(said, "\r\n") {
				t.Errorf("%v and %v", all, said)
			}
			return
		}
		var again []string
		for key, value := range all {
			if key == "" || value == "" || strings.TrimSpace(key) != key {
				t.Errorf("%q=%q", key, value)
			}
			again = append(again, key+"="+value)
		}
		if second, bad := pairs(again, strings.ToLower); bad != nil || !maps.Equal(all, second) {
			t.Errorf("%v is read as %v, %v", all, second, bad)
		}
	})
}
