package app

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// BenchmarkScrape scrapes the whole program with 1,000 brokers, all healthy and with half of them behind a port that does
// not answer: both must take the same time.
func BenchmarkScrape(b *testing.B) {
	const brokers = 1000
	for _, dead := range []int{0, brokers / 2} {
		b.Run(fmt.Sprintf("blackholed=%d", dead), func(b *testing.B) {
			cluster := wiretest.NewCluster("bench")
			blackhole := ""
			if dead > 0 {
				blackhole = fmt.Sprintf("127.0.0.1:%d", wiretest.BlackholePort(b))
			}
			seed := ""
			for id := range int32(brokers) {
				if int(id) < dead {
					cluster.Set(id, blackhole)
					continue
				}
				broker := wiretest.NewBroker(id, cluster, wiretest.Modern)
				seed = fmt.Sprintf("127.0.0.1:%d", wiretest.Listen(b, broker.Serve))
				cluster.Set(id, seed)
			}
			p := start(b, "--kafka.seed="+seed, "--connect.rate=2000")
			p.wait(fmt.Sprintf(`kafka_connection_broker_reachable{broker_id="%d",kafka_cluster=""} 1`, brokers-1),
				fmt.Sprintf(`kafka_connection_broker_connection_state{broker_id="%d",kafka_cluster="",state="ready"} 1`, dead))
			var slowest time.Duration
			for b.Loop() {
				began := time.Now()
				resp, err := http.Get(p.url + "/metrics")
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if err != nil || n < 1<<20 {
					b.Fatalf("%d bytes, %v", n, err)
				}
				slowest = max(slowest, time.Since(began))
			}
			b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
		})
	}
}
