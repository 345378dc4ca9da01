package main

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// readyLimit is far more than the default connect.rate needs for 10,000 brokers, 200 s.
const readyLimit = 6 * time.Minute

const failures = "kafka_connection_broker_request_failures_total"

func idle(s *stage, p plan, out io.Writer) {
	section(out, "Idle cost", fmt.Sprintf(`The built exporter with its default flags, as a process of its own, and a fake cluster in another one. When every broker is
connected it rests for %s, and is then measured for %s without a scrape. CPU is user and system time of the exporter alone, in
per cent of one core. Connections are all that were begun in the time, handshakes for the most part.`, p.settle, p.window))
	t := newTable(out, "brokers", "ready after", "CPU", "RSS", "sockets", "goroutines", "heap in use", "connections a second", "checks a second", "failed checks")
	for _, n := range p.sizesOr(1000, 10000) {
		idleOne(s, p, t, n)
	}
}

func idleOne(s *stage, p plan, t table, n int) {
	s = s.nested()
	defer s.close()
	e := startExporter(s, "--kafka.seed="+startFakes(s, n, 0))
	began := time.Now()
	connected := e.awaitReady(n, 0, readyLimit)
	ready := time.Since(began).Round(100 * time.Millisecond).String()
	if connected < n {
		ready = fmt.Sprintf("%d are not after %s", n-connected, readyLimit)
	}
	<-time.After(p.settle)
	first, _ := e.get("")
	before := e.usage()
	<-time.After(p.window)
	after := e.usage()
	last, _ := e.get("")
	window := after.at.Sub(before.at)
	perSecond := func(metric string) string {
		return fmt.Sprintf("%.1f", (sum(last, metric, "")-sum(first, metric, ""))/window.Seconds())
	}
	t.row(strconv.Itoa(n), ready,
		fmt.Sprintf("%.1f %%", 100*(after.cpu-before.cpu).Seconds()/window.Seconds()),
		fmt.Sprintf("%d MB", after.rss/1e6), strconv.Itoa(after.sockets),
		many(sum(last, "go_goroutines", "")), fmt.Sprintf("%.0f MB", sum(last, "go_memstats_heap_inuse_bytes", "")/1e6),
		perSecond("kafka_connection_broker_connection_attempts_total"), perSecond("kafka_connection_broker_request_duration_seconds_count"),
		many(sum(last, failures, "")-sum(first, failures, "")))
}

func (e *exporter) usage() usage {
	u, err := usageOf(e.pid)
	if err != nil {
		e.s.Fatal(err)
	}
	return u
}
