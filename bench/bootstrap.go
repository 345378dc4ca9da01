package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// badKinds are the ways in which a seed is of no use, the fast one first.
var badKinds = []struct {
	name, text string
	make       func(s *stage) int // returns the port
}{
	{"refused", "closed port", func(s *stage) int { return wiretest.ClosedPort(s) }},
	{"blackhole", "no answer to SYN", func(s *stage) int { return wiretest.BlackholePort(s) }},
	{"tarpit", "accepts and never answers", func(s *stage) int { return wiretest.Listen(s, wiretest.Tarpit) }},
}

// cell is one kind and number of bad seeds, measured with one client.
type cell struct{ took figures }

// waiters is how many bootstraps run at the same time where they do nothing but wait.
const waiters = 80

func bootstrap(s *stage, p plan, out io.Writer) {
	s = s.nested()
	defer s.close()
	section(out, "Cold bootstrap", fmt.Sprintf(`Time from a new client until it knows the brokers, with one good seed at the end of a list of bad ones. Default settings
everywhere; a call that returns an error is made again at once, and a run ends after %s. Order of seeds: %s.
Each cell is the median / the maximum of %d runs, and in parentheses how many times this exporter's they are. As the order is
random, medians with one or two bad seeds are a matter of luck; the maximum tells what a client does with a bad one.`, p.limit, orders(), p.runs))
	good := oneBroker(s)
	most := slices.Max(p.seeds)
	columns := []string{"bad seeds"}
	for _, c := range clients {
		columns = append(columns, c.name)
	}
	for i, kind := range badKinds {
		var bad []string
		for range most {
			bad = append(bad, address(kind.make(s)))
		}
		fmt.Fprintf(out, "\n%s (%s):\n", kind.name, kind.text)
		t := newTable(out, columns...)
		counts := p.seeds
		if i > 0 {
			counts = slices.DeleteFunc(slices.Clone(counts), func(k int) bool { return k == 0 })
		}
		for n, cells := range measureAll(p, counts, bad, good, i > 0) {
			printCells(t, counts[n], cells, p.limit)
		}
	}
}

func orders() (text string) {
	for i, c := range clients {
		if i > 0 {
			text += "; "
		}
		text += c.name + " " + c.order
	}
	return text
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// oneBroker serves a cluster of one broker in this process and returns its address.
func oneBroker(s *stage) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = l.Close() })
	f := newFake()
	f.be(l)
	go f.accept(l)
	return l.Addr().String()
}

// be makes f a cluster of one broker, which listens at l.
func (f *fake) be(l net.Listener) {
	at := netip.MustParseAddrPort(l.Addr().String())
	f.members = []member{{1, at.Addr().String(), int32(at.Port())}}
}

// measureAll returns by number of bad seeds the cells of all clients. Runs that wait most of the time run at once, the others
// one after the other.
func measureAll(p plan, counts []int, bad []string, good string, slow bool) [][]cell {
	result := make([][]cell, len(counts))
	for i := range result {
		result[i] = make([]cell, len(clients))
	}
	var mu sync.Mutex
	var work sync.WaitGroup
	slots := map[bool]chan struct{}{true: make(chan struct{}, waiters), false: make(chan struct{}, 1)}
	for i, k := range slices.Backward(counts) { // the long ones first
		for range p.runs {
			for j, c := range clients {
				slot := slots[slow || c.waits]
				slot <- struct{}{}
				work.Go(func() {
					defer func() { <-slot }()
					took := measure(c, append(slices.Clone(bad[:k]), good), p.limit)
					mu.Lock()
					defer mu.Unlock()
					result[i][j].took = append(result[i][j].took, took)
				})
			}
		}
	}
	work.Wait()
	return result
}

// measure returns limit for a run that did not succeed within it.
func measure(c client, addrs []string, limit time.Duration) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	began := time.Now()
	stop, err := c.bootstrap(ctx, addrs)
	took := time.Since(began)
	if stop != nil {
		stop()
	}
	if err != nil {
		return limit
	}
	return min(took, limit)
}

func printCells(t table, k int, cells []cell, limit time.Duration) {
	row := []string{strconv.Itoa(k)}
	own := cells[0].took
	for i, c := range cells {
		median, longest := c.took.median(), c.took.at(1)
		text := fmt.Sprintf("%s / %s", bounded(short, median, limit), bounded(short, longest, limit))
		if i > 0 {
			text += fmt.Sprintf(" (%s / %s)",
				bounded(func(d time.Duration) string { return ratio(d, own.median()) }, median, limit),
				bounded(func(d time.Duration) string { return ratio(d, own.at(1)) }, longest, limit))
		}
		row = append(row, text)
	}
	t.row(row...)
}

// bounded writes a time, or something made of it, that is only known to be longer if it has reached the limit.
func bounded(write func(time.Duration) string, d, limit time.Duration) string {
	if d >= limit {
		return "> " + write(limit)
	}
	return write(d)
}
