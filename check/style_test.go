package check

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"kafka_connection_exporter/wire/wiretest"
)

const schemaFile = "../docs/check.schema.json"

// schema compiles the published schema.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("check.schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("check.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// each runs every scenario and shows its report.
func eachScenario(t *testing.T, show func(t *testing.T, r Report)) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			var r Report
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, s.n, wiretest.Modern)
				s.stage(w)
				r = w.run()
			})
			show(t, r)
		})
	}
}

// TestSchema: what --output=json writes follows the published schema, in every scenario.
func TestSchema(t *testing.T) {
	compiled := schema(t)
	eachScenario(t, func(t *testing.T, r Report) {
		var b bytes.Buffer
		if err := WriteJSON(&b, []Report{r}); err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(&b)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(document); err != nil {
			t.Errorf("%v", err)
		}
	})
	if err := compiled.Validate(map[string]any{"version": 1}); err == nil {
		t.Error("the schema accepts a document without clusters")
	}
}

// TestHarmless: nothing that a peer says reaches the terminal as anything but printable text, whatever the form.
func TestHarmless(t *testing.T) {
	eachScenario(t, func(t *testing.T, r Report) {
		for name, write := range map[string]func(*bytes.Buffer) error{
			"text":       func(b *bytes.Buffer) error { return WriteText(b, []Report{r}, Style{}) },
			"json":       func(b *bytes.Buffer) error { return WriteJSON(b, []Report{r}) },
			"prometheus": func(b *bytes.Buffer) error { return WritePrometheus(b, []Report{r}) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			harmless(t, name, b.String())
		}
	})
}

func harmless(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is no UTF-8", what)
	}
	for _, c := range text {
		if c != '\n' && !unicode.IsPrint(c) {
			t.Errorf("%s has %U in it", what, c)
		}
	}
}

// FuzzHarmless: the same for any bytes in every text of a report, and the JSON says what was there.
func FuzzHarmless(f *testing.F) {
	for _, s := range []string{"", "\x1b[31m", "\u202eevil", "\xff\x00\r\n", "\"}\\", "𝕏\U000e0001", "</script>\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id := int32(1)
		failure := &Failure{Phase: "dial", Reason: "refused", Text: s, shared: s, Meaning: s, First: s, Page: "refused.md"}
		cert := []Certificate{{s, s, []string{s}, time.Unix(0, 0), time.Unix(0, 0)}}
		result := Result{BrokerID: &id, Address: s, Rack: s, State: StateFailed, Failure: failure, Like: s,
			Warnings: []Warning{{WarnView, s}}, TLS: &TLS{Cipher: s, Version: s, NotAfter: &time.Time{}, Chain: cert}}
		seed := result
		seed.BrokerID, seed.Seed = nil, s
		r := Report{Cluster: s, ClusterID: s, Vantage: s, Seeds: []Result{seed}, Brokers: []Result{result, result}, Views: Views{From: "x"}}
		var text, ascii, document, metrics bytes.Buffer
		_ = WriteText(&text, []Report{r}, Style{})
		_ = WriteText(&ascii, []Report{r}, Style{ASCII: true})
		_ = WriteJSON(&document, []Report{r})
		_ = WritePrometheus(&metrics, []Report{r})
		for what, b := range map[string]string{"text": text.String(), "ascii": ascii.String(), "json": document.String(), "metrics": metrics.String()} {
			harmless(t, what, b)
		}
		if i := strings.IndexFunc(ascii.String(), func(c rune) bool { return c > unicode.MaxASCII }); i >= 0 {
			t.Errorf("%q is not ASCII", ascii.String()[i:])
		}
		var back Document
		if err := json.Unmarshal(document.Bytes(), &back); err != nil || back.Clusters[0].Cluster != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Errorf("%q is %v, %v", s, back.Clusters, err)
		}
	})
}

// TestStyles: the ASCII form, colours, and lines that fit.
func TestStyles(t *testing.T) {
	var r Report
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, wiretest.Modern)
		w.net.Refuse(address(2))
		r = w.run()
	})
	for name, s := range map[string]Style{"ascii": {ASCII: true}, "narrow": {Width: 50}, "color": {Color: true}} {
		var b bytes.Buffer
		if err := WriteText(&b, []Report{r}, s); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := visible(strings.TrimSuffix(line, "\n")); n > max(s.Width, 80) && !strings.Contains(line, "runbooks/") {
				t.Errorf("%s has a line of %d characters: %s", name, n, line)
			}
		}
		compare(t, "style_"+name+".txt", b.Bytes())
	}
}
