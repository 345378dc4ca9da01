package check

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text harmless for a terminal and for one line: what is not printable, such as control characters, escape sequences
// and marks that turn the direction of writing, is shown as its number. With ascii, so is everything else outside of ASCII.
func clean(s string, ascii bool) string {
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unicode.IsPrint(r) || ascii && r > unicode.MaxASCII:
			b.WriteString(number(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func number(r rune) string {
	if r > 0xFFFF {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
