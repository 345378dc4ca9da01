package app

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"kafka_connection_exporter/check"
)

// style is how text is written to w: as wide as the terminal, in its characters and, on a terminal, with colours.
func (f *checkFlags) style(w io.Writer, env func(string) string) check.Style {
	width, terminal := terminalWidth(w)
	s := check.Style{Width: width, ASCII: !isUTF8(env), Color: f.color == "always"}
	if f.color == "auto" {
		s.Color = terminal && env("NO_COLOR") == "" && env("TERM") != "dumb"
	}
	return s
}

// isUTF8 looks at the locale as setlocale(3) does.
func isUTF8(env func(string) string) bool {
	locale := strings.ToLower(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// terminalWidth is 0 where w is no terminal, or one that does not tell.
func terminalWidth(w io.Writer) (width int, terminal bool) {
	if file, ok := w.(*os.File); ok {
		return windowWidth(file)
	}
	return 0, false
}

// progress is one line on a terminal that says how far the check is, and nothing elsewhere.
type progress struct {
	w        io.Writer // nil: nothing is shown
	clusters int

	mu    sync.Mutex
	known map[string]check.Progress
	shown time.Time
}

func newProgress(stderr io.Writer) *progress {
	p := &progress{known: make(map[string]check.Progress)}
	if _, terminal := terminalWidth(stderr); terminal {
		p.w = stderr
	}
	return p
}

// progressPause is the least time between two lines: more would be flicker.
const progressPause = 100 * time.Millisecond

// note has the form of check.Target.Progress.
func (p *progress) note(one check.Progress) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[one.Cluster] = one
	if time.Since(p.shown) < progressPause {
		return
	}
	p.shown = time.Now()
	if p.clusters > 1 {
		sum := check.Progress{}
		for _, k := range p.known {
			sum.Done, sum.Known, sum.Seeds, sum.Tried = sum.Done+k.Done, sum.Known+k.Known, sum.Seeds+k.Seeds, sum.Tried+k.Tried
			sum.Elapsed = max(sum.Elapsed, k.Elapsed)
		}
		one = sum
	}
	p.put(one.String())
}

// say shows something else.
func (p *progress) say(text string) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(text)
}

// clear removes the line.
func (p *progress) clear() { p.say("") }

// put writes over the line.
func (p *progress) put(text string) { fmt.Fprint(p.w, "\r\x1b[K"+text) }
