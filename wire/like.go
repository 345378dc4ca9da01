package wire

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kversion"
)

// Like says by the requests that the broker offers which version of Apache Kafka it is like: "3.9", "at least 4.4", or "" where it
// is like none, as proxies and the implementations of others are.
func (c *Conn) Like() string {
	offered := new(kversion.Versions)
	for key, v := range c.versions {
		offered.SetMaxKeyVersion(key, v.max)
	}
	guess := offered.VersionGuess()
	if strings.Contains(guess, "unknown") || strings.Contains(guess, "not even") || strings.Contains(guess, "between") {
		return ""
	}
	return strings.ReplaceAll(guess, "v", "")
}
