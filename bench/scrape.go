package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

// quiet are flags under which the exporter does nothing of itself for the time of the measurement, so that what is allocated
// is the scrapes'. The last two only shorten the start.
var quiet = []string{
	"--check.interval=1h", "--handshake.interval=0s", "--seed.check-interval=0s", "--metadata.refresh-interval=1h",
	"--connect.rate=2000", "--connect.timeout=2s",
}

func scrape(s *stage, p plan, out io.Writer) {
	section(out, "Scrape", fmt.Sprintf(`The built exporter as a process of its own with a connection to every broker of a fake cluster in another process, over HTTP.
"dead" brokers do not answer a SYN. %d scrapes in a row of each kind (a fifth of that from 10,000 brokers on), checks are
paused meanwhile. "gzip" is what Prometheus asks for. Allocations are those of the whole process, per compressed scrape.`, p.scrapes))
	t := newTable(out, "brokers", "dead", "series", "gzip: median", "p95", "bytes", "plain: median", "p95", "bytes", "allocations", "allocated bytes")
	for _, n := range p.sizesOr(10, 100, 1000, 10000) {
		for _, dead := range []int{0, n / 2} {
			scrapeOne(s, p, t, n, dead)
		}
	}
}

func scrapeOne(s *stage, p plan, t table, n, dead int) {
	s = s.nested()
	defer s.close()
	seed := startFakes(s, n, dead)
	e := startExporter(s, append([]string{"--kafka.seed=" + seed}, quiet...)...)
	if ready := e.awaitReady(n, dead, 5*time.Minute); ready < n-dead {
		s.Fatal(fmt.Sprintf("%d of %d brokers are connected", ready, n-dead))
	}
	page, _ := e.get("")
	count := p.scrapes
	if n >= 10000 {
		count = max(5, count/5)
	}
	before := page
	zipped, small := e.scrapes(count, "gzip")
	after, _ := e.get("")
	plain, large := e.scrapes(count, "")
	// One more scrape than count lies between the two pages, the one that brought the second.
	perScrape := func(metric string) float64 {
		return (sum(after, metric, "") - sum(before, metric, "")) / float64(count+1)
	}
	t.row(strconv.Itoa(n), strconv.Itoa(dead), many(float64(series(page))),
		short(zipped.median()), short(zipped.at(0.95)), many(float64(small)),
		short(plain.median()), short(plain.at(0.95)), many(float64(large)),
		many(perScrape("go_memstats_mallocs_total")), many(perScrape("go_memstats_alloc_bytes_total")))
}

func (e *exporter) scrapes(count int, encoding string) (took figures, size int) {
	for range count {
		body, d := e.get(encoding)
		took, size = append(took, d), len(body)
	}
	return took, size
}

// series counts the lines that are no comments.
func series(page []byte) int {
	return bytes.Count(page, []byte("\n")) - bytes.Count(page, []byte("\n#")) - 1
}
