package app

import (
	"io"
	"sync"
	"time"
)

const (
	logRoom      = 1 << 20                // bytes that may wait for a slow reader: some 5,000 lines, a few for each of 1,000 brokers
	flushTimeout = 300 * time.Millisecond // for what is waiting at the end
)

// logQueue is a writer of lines that never waits for who reads them: a pipe whose reader sleeps holds up neither a scrape
// nor the manager nor the end. Lines are passed on in their order. What comes while logRoom is full is lost and counted, and
// the count stands in the log where the lines are missing. It is bytes that are bounded, as peers choose how long names are.
type logQueue struct {
	w    io.Writer
	tell func(w io.Writer, lost int) // writes the line that tells of lost ones

	mu      sync.Mutex // never held while something is written to w
	waiting []byte
	lost    int // since waiting was full; as long as it is not 0 nothing is added, so that they are missing at one place

	wake chan struct{} // there is something waiting
	end  chan struct{}
	done chan struct{}
	once sync.Once
}

func newLogQueue(w io.Writer, tell func(io.Writer, int)) *logQueue {
	return &logQueue{w: w, tell: tell, wake: make(chan struct{}, 1), end: make(chan struct{}), done: make(chan struct{})}
}

// Write implements io.Writer: it takes one line, or loses it. It never fails, as nobody could do anything about it.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lost > 0 || len(q.waiting) > 0 && len(q.waiting)+len(line) > logRoom {
		q.lost++
		return len(line), nil
	}
	q.waiting = append(q.waiting, line...)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return len(line), nil
}

// start begins to pass lines on, in a goroutine.
func (q *logQueue) start() { go q.run() }

// stop passes on what is waiting and ends the goroutine. It leaves it behind if it is stuck in w, which nothing can cut.
func (q *logQueue) stop() {
	q.once.Do(func() { close(q.end) })
	select {
	case <-q.done:
	case <-time.After(flushTimeout):
	}
}

func (q *logQueue) run() {
	defer close(q.done)
	for ended := false; !ended; {
		select {
		case <-q.wake:
		case <-q.end:
			ended = true
		}
		q.pass()
	}
}

// pass writes what is waiting. Lines that were lost came after it.
func (q *logQueue) pass() {
	q.mu.Lock()
	batch, lost := q.waiting, q.lost
	q.waiting, q.lost = nil, 0
	q.mu.Unlock()
	if len(batch) > 0 {
		_, _ = q.w.Write(batch)
	}
	if lost > 0 {
		q.tell(q.w, lost)
	}
}
