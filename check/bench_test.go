package check

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// BenchmarkWell checks brokers that are all well, over loopback. The promise is half a second for a hundred, and 60 MB for a
// thousand, of which the scripted brokers are the larger part.
func BenchmarkWell(b *testing.B) {
	for _, n := range []int32{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b, 0, wiretest.Modern)
			for id := int32(1); id <= n; id++ {
				broker := wiretest.NewBroker(id, w.cluster, wiretest.Modern)
				w.cluster.Set(id, fmt.Sprintf("127.0.0.1:%d", wiretest.Listen(b, broker.Serve)))
			}
			port := wiretest.Listen(b, wiretest.NewBroker(1, w.cluster, wiretest.Modern).Serve)
			w.seeds(fmt.Sprintf("127.0.0.1:%d", port))
			w.target.Dialer.DialAddress = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", addr.String())
			}
			if n > 100 {
				w.target.ConnectRate = float64(n)
			}
			for b.Loop() {
				start := time.Now()
				if r := w.run(); r.Status != StatusWell {
					b.Fatalf("%+v", r)
				}
				if took := time.Since(start); n == 100 && took > 500*time.Millisecond {
					b.Errorf("it took %s", took)
				}
			}
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(memory.Sys)/1e6, "MB-of-process")
		})
	}
}
