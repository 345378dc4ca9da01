package sockets_test

import (
	"net"
	"os"
	"slices"
	"testing"

	"kafka_connection_exporter/e2e/sockets"
)

// TestOf: an own connection is found by its address, and no longer after it was closed.
func TestOf(t *testing.T) {
	for _, host := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", host)
		if err != nil {
			t.Logf("not tried: %v", err)
			continue
		}
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if n := established(t, l.Addr().String()); n != 1 {
			t.Errorf("%d connections to %s, want 1", n, l.Addr())
		}
		_ = conn.Close()
		if n := established(t, l.Addr().String()); n != 0 {
			t.Errorf("%d connections to %s after Close, want 0", n, l.Addr())
		}
		_ = l.Close()
	}
}

func established(t *testing.T, addr string) int {
	t.Helper()
	all, err := sockets.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(all, func(s sockets.Socket) bool {
		return s.Remote.String() != addr || s.State != sockets.Established
	}))
}
