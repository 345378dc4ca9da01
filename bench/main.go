// Bench does the same work with this exporter and with the Kafka clients sarama, franz-go and kafka-go, side by side in one
// run, and prints the figures as Markdown. It is a module of its own, so that its dependencies stay out of the product.
//
//	cd bench
//	go run . -write ../BENCHMARKS.md   # everything, about 25 minutes
//	go run . -quick                    # fewer and smaller runs, about 5 minutes
//	go run . -only idle -sizes 1000    # one scenario: bootstrap, scrape, idle, refresh, notice or fleet
//	go run . -fake 1000                # only the fake cluster, for profiling: prints its seed and lives until its input ends
//
// Run it in this folder: it builds the exporter from the one above. All traffic stays on loopback.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// plan is how much is measured.
type plan struct {
	runs  int           // of one client with one set of seeds
	limit time.Duration // after which a bootstrap is given up
	seeds []int         // numbers of bad seeds

	sizes   []int         // numbers of brokers; nil: those of the scenario
	most    int           // and of those none that is larger
	scrapes int           // of one kind
	settle  time.Duration // rest before the idle cost is measured
	window  time.Duration // that it is measured for

	rounds int           // metadata refreshes
	idle   time.Duration // how long a client may take to notice a fault
	faults int           // how often each fault is tried
}

var (
	full = plan{
		runs: 21, limit: time.Minute, seeds: []int{0, 1, 2, 4, 16},
		most: 10000, scrapes: 100, settle: time.Minute, window: time.Minute,
		rounds: 50, idle: 25 * time.Second, faults: 5,
	}
	quick = plan{
		runs: 3, limit: 20 * time.Second, seeds: []int{0, 1, 16},
		most: 1000, scrapes: 20, settle: 40 * time.Second, window: 20 * time.Second,
		rounds: 10, idle: 20 * time.Second, faults: 2,
	}
)

// scenario is one section of the report.
type scenario struct {
	name string
	run  func(s *stage, p plan, out io.Writer)
}

var scenarios = []scenario{
	{"bootstrap", bootstrap}, {"scrape", scrape}, {"idle", idle}, {"refresh", refresh}, {"notice", notice}, {"fleet", several},
}

func main() {
	only := flag.String("only", "", "one scenario: bootstrap, scrape, idle, refresh, notice or fleet")
	write := flag.String("write", "", "file to write the report to, beside standard output")
	small := flag.Bool("quick", false, "fewer and smaller runs")
	sizes := flag.String("sizes", "", "numbers of brokers for scrape, idle and refresh, separated by commas")
	fakes := flag.Int("fake", 0, "only run a fake cluster of this many brokers until standard input ends")
	dead := flag.Int("dead", 0, "how many brokers of the fake cluster do not answer")
	clusters := flag.Int("clusters", 1, "how many fake clusters")
	flag.Parse()
	if *fakes > 0 {
		serveFakes(*fakes, *dead, *clusters)
		return
	}
	p := full
	if *small {
		p = quick
	}
	p.sizes = parseSizes(*sizes)
	var report bytes.Buffer
	out := io.MultiWriter(os.Stdout, &report)
	header(out)
	s := newStage()
	defer s.close()
	s.closeOnSignal()
	for _, sc := range scenarios {
		if *only == "" || *only == sc.name {
			sc.run(s, p, out)
		}
	}
	if *write != "" {
		if err := os.WriteFile(*write, report.Bytes(), 0o644); err != nil {
			s.Fatal(err)
		}
	}
}

func parseSizes(list string) (sizes []int) {
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			fmt.Fprintf(os.Stderr, "-sizes: %q is no number of brokers\n", text)
			os.Exit(2)
		}
		sizes = append(sizes, n)
	}
	return sizes
}

// sizesOr returns the numbers of brokers that were asked for, or else those of the scenario.
func (p plan) sizesOr(usual ...int) []int {
	if len(p.sizes) > 0 {
		return slices.Clone(p.sizes)
	}
	return slices.DeleteFunc(usual, func(n int) bool { return n > p.most })
}
