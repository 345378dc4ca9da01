package app

import (
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	calmTime  = time.Minute // the same text is written at most this often
	calmTexts = 32          // different ones in this time
)

// calmLog is the writer below the log of an http.Server, which has a line for every attempt to accept a connection while
// descriptors are missing, and for every bad handshake. The same text but for its numbers, such as ports, is written once in
// calmTime; the next line of it tells how many were left out.
type calmLog struct {
	logger *slog.Logger
	mu     sync.Mutex
	texts  map[string]*calmText
}

type calmText struct {
	written time.Time
	left    int
}

// Write implements io.Writer.
func (c *calmLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if write, left := c.count(text); write && left > 0 {
		c.logger.Warn(text, "suppressed", left)
	} else if write {
		c.logger.Warn(text)
	}
	return len(line), nil
}

// count says whether text is to be written, and how many like it were not.
func (c *calmLog) count(text string) (write bool, left int) {
	key := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.texts[key]
	switch {
	case known != nil && time.Since(known.written) < calmTime:
		known.left++
		return false, 0
	case known != nil:
		left = known.left
	case len(c.texts) >= calmTexts && !c.forget():
		return false, 0
	case c.texts == nil:
		c.texts = make(map[string]*calmText)
	}
	c.texts[key] = &calmText{written: time.Now()}
	return true, left
}

// forget makes room, if there is a text that was not written for long.
func (c *calmLog) forget() bool {
	for key, t := range c.texts {
		if time.Since(t.written) >= calmTime {
			delete(c.texts, key)
		}
	}
	return len(c.texts) < calmTexts
}
