package wiretest

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// TestBlackholeThatIsDialed: others may be faster to fill the queue than the fixture is. It must not wait for its own
// connection then, which the kernel gives up after two minutes.
func TestBlackholeThatIsDialed(t *testing.T) {
	addr := fmt.Sprintf("127.0.0.1:%d", ClosedPort(t))
	over := make(chan struct{})
	var work, busy sync.WaitGroup
	for range 16 {
		busy.Add(1)
		begun := sync.OnceFunc(busy.Done)
		work.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if conn, err := net.DialTimeout("tcp", addr, 20*time.Millisecond); err == nil {
					defer conn.Close() // it stays in the queue
				}
				begun()
			}
		})
	}
	busy.Wait()
	began := time.Now()
	_, free := Blackhole(t, addr)
	took := time.Since(began)
	close(over)
	work.Wait()
	if took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if conn, err := net.DialTimeout("tcp", addr, 100*time.Millisecond); err == nil {
		t.Error("a SYN was answered")
		_ = conn.Close()
	}
	free()
}
