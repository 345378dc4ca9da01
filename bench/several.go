package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// several is about many clusters in one process.
func several(s *stage, p plan, out io.Writer) {
	section(out, "Many clusters", fmt.Sprintf(`One exporter with --config.file and default settings; all fake clusters are in another process. Tarpits accept and never
answer: one more cluster, of which all thirty seeds are such. Ready is the time until every broker of the others is connected, reload the time until a file
that changes one cluster is answered. Rest %s, then %s without a scrape for CPU and RSS, then %d scrapes as Prometheus asks.`, p.settle, p.window, p.scrapes))
	t := newTable(out, "clusters", "brokers each", "tarpits", "ready after", "CPU", "RSS", "scrape: median", "p95", "reload", "failed checks")
	for _, c := range []struct {
		clusters, brokers int
		tarpits           bool
	}{{100, 30, false}, {100, 30, true}, {1000, 3, false}} {
		if len(p.sizes) > 0 { // a trial
			c.clusters, c.brokers = 2, p.sizes[0]
		}
		severalOne(s, p, t, c.clusters, c.brokers, c.tarpits)
	}
}

func severalOne(s *stage, p plan, t table, clusters, brokers int, tarpits bool) {
	s = s.nested()
	defer s.close()
	file := newFleetFile(s, startClusters(s, brokers, 0, clusters), tarpits)
	file.write("")
	s.built() // which takes a while
	began := time.Now()
	e := startExporter(s, "--config.file="+file.path, "--web.enable-lifecycle")
	all := clusters * brokers
	connected := e.awaitReady(all, 0, readyLimit)
	ready := time.Since(began).Round(100 * time.Millisecond).String()
	if connected < all {
		ready = fmt.Sprintf("%d are not after %s", all-connected, readyLimit)
	}
	<-time.After(p.settle)
	before := e.usage()
	<-time.After(p.window)
	after := e.usage()
	took, _ := e.scrapes(p.scrapes, "gzip")
	file.write(", check: {interval: 9s}")
	began = time.Now()
	resp, err := http.Post(strings.TrimSuffix(e.url, "/metrics")+"/-/reload", "", nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.Fatal(fmt.Sprint("reload: ", resp, err))
	}
	reload := time.Since(began)
	_ = resp.Body.Close()
	last, _ := e.get("")
	t.row(strconv.Itoa(clusters), strconv.Itoa(brokers), map[bool]string{true: "30 seeds", false: "none"}[tarpits], ready,
		fmt.Sprintf("%.1f %%", 100*(after.cpu-before.cpu).Seconds()/after.at.Sub(before.at).Seconds()), fmt.Sprintf("%d MB", after.rss/1e6),
		short(took.median()), short(took.at(0.95)), short(reload), many(sum(last, failures, "")))
}

// fleetFile is the exporter's configuration.
type fleetFile struct {
	s       *stage
	path    string
	seeds   []string
	tarpits []string
}

func newFleetFile(s *stage, seeds []string, tarpits bool) *fleetFile {
	dir, err := os.MkdirTemp("", "fleet-bench-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	f := &fleetFile{s: s, path: filepath.Join(dir, "clusters.yml"), seeds: seeds}
	for range 30 {
		if tarpits {
			f.tarpits = append(f.tarpits, fmt.Sprintf("127.0.0.1:%d", wiretest.Listen(s, wiretest.Tarpit)))
		}
	}
	return f
}

// write writes the file; more is said about the first cluster.
func (f *fleetFile) write(more string) {
	var text strings.Builder
	text.WriteString("clusters:\n")
	for i, seed := range f.seeds {
		fmt.Fprintf(&text, "  - {name: c%d, seeds: [%q]%s}\n", i, seed, more)
		more = ""
	}
	if len(f.tarpits) > 0 {
		fmt.Fprintf(&text, "  - {name: tarpits, seeds: [%q]}\n", strings.Join(f.tarpits, ","))
	}
	if err := os.WriteFile(f.path, []byte(text.String()), 0o600); err != nil {
		f.s.Fatal(err)
	}
}
