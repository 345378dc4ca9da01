package check

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Document is what --output=json writes. docs/check.schema.json describes it.
type Document struct {
	Version  int      `json:"version"` // of the schema
	Status   Status   `json:"status"`  // the worst of the clusters
	Clusters []Report `json:"clusters"`
}

// WriteJSON writes the reports as one document. What is not printable stands in it as its number, also inside of texts.
func WriteJSON(w io.Writer, reports []Report) error {
	text, err := json.MarshalIndent(Document{1, Worst(reports), reports}, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, escape(string(text))+"\n")
	return err
}

// Worst is the status of all together.
func Worst(reports []Report) Status {
	worst := StatusWell
	for _, r := range reports {
		if r.Status == StatusFault || r.Status == StatusUnfinished && worst == StatusWell {
			worst = r.Status
		}
	}
	return worst
}

// escape writes what no terminal should get, such as marks that turn the direction of writing, as JSON's numbers. It can only be
// inside of strings.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
