package main

import (
	"fmt"
	"net"
	"os/exec"
	"sync"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// victim is a scripted broker on a real socket that can be killed, and come back at its address.
type victim struct {
	broker  *wiretest.Broker
	address string
	mu      sync.Mutex
	l       net.Listener
	conns   []net.Conn
}

func (v *victim) start(t *testing.T) {
	t.Helper()
	if v.address == "" {
		v.address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", v.address)
	if err != nil {
		t.Fatal(err)
	}
	v.l, v.address = l, l.Addr().String()
	wiretest.ServeListener(t, l, func(conn net.Conn) {
		v.mu.Lock()
		v.conns = append(v.conns, conn)
		v.mu.Unlock()
		v.broker.Serve(conn)
	})
}

// kill closes everything, by a reset or in good order.
func (v *victim) kill(reset bool) {
	_ = v.l.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, conn := range v.conns {
		if reset {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
	}
	v.conns = nil
}

// TestCaseC04KilledBroker: by FIN or by RST, the lost connection is dialed again at once and that attempt decides; afterwards the
// broker comes back by itself.
// Done: a broker is killed, by FIN or by RST, and comes back at its address
// Shows: `dial` `refused` at once; reachable again by itself; the other broker is not dialed
func TestCaseC04KilledBroker(t *testing.T) {
	for _, reset := range []bool{false, true} {
		t.Run(fmt.Sprintf("reset=%t", reset), func(t *testing.T) {
			cluster := wiretest.NewCluster("cluster-a")
			seed := fmt.Sprintf("127.0.0.1:%d", wiretest.Listen(t, wiretest.NewBroker(1, cluster, wiretest.Modern).Serve))
			v := &victim{broker: wiretest.NewBroker(2, cluster, wiretest.Modern)}
			v.start(t)
			cluster.Set(1, seed)
			cluster.Set(2, v.address)
			c := launch(t, exec.Command(binary, "--web.listen-address=127.0.0.1:0", "--kafka.seed="+seed))
			c.await(`broker_reachable\{broker_id="2",kafka_cluster=""\} 1`)
			began := time.Now()
			v.kill(reset)
			c.await(`broker_failing\{broker_id="2",kafka_cluster="",phase="dial",reason="refused"\} 1`)
			t.Logf("the verdict came %s after the kill", time.Since(began))
			v.start(t)
			began = time.Now()
			c.await(`broker_reachable\{broker_id="2",kafka_cluster=""\} 1`)
			t.Logf("the broker was reachable %s after its restart", time.Since(began))
			c.await(`broker_connection_attempts_total\{broker_id="1",kafka_cluster=""\} 1`)
		})
	}
}
