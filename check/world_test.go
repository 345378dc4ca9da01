package check

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"kafka_connection_exporter/seeds"
	"kafka_connection_exporter/wire"
	"kafka_connection_exporter/wire/wiretest"
)

var update = flag.Bool("update", false, "write the golden files")

// world is a network and a cluster of scripted brokers, with ids 1 to n at b1:9092 (10.0.0.1) and so on. b1 is the only seed.
type world struct {
	testing.TB
	net     *wiretest.Network
	cluster *wiretest.Cluster
	brokers map[int32]*wiretest.Broker
	target  Target
	timeout time.Duration
}

func newWorld(t testing.TB, n int, versions wiretest.Versions) *world {
	w := &world{TB: t, net: wiretest.NewNetwork(), cluster: wiretest.NewCluster("5L6g3nShT-eMCtK--X86sw"), brokers: make(map[int32]*wiretest.Broker), timeout: 11 * time.Second}
	for id := int32(1); id <= int32(n); id++ {
		b := wiretest.NewBroker(id, w.cluster, versions)
		w.brokers[id] = b
		w.net.Name(host(id), ip(id))
		w.cluster.Set(id, host(id)+":9092")
		w.net.Listen(address(id), b.Serve)
	}
	w.target = Target{Name: "main", Vantage: "web-1", ConnectRate: 50, RequestTimeout: 5 * time.Second, RetryInterval: 5 * time.Minute,
		Dialer: &wire.Dialer{Timeout: 10 * time.Second, AttemptDelay: 250 * time.Millisecond, ClientID: "test", SoftwareVersion: "1",
			Lookup: w.net.Lookup, DialAddress: w.net.DialAddress}}
	w.seeds("b1:9092")
	return w
}

func host(id int32) string    { return fmt.Sprintf("b%d", id) }
func ip(id int32) string      { return fmt.Sprintf("10.0.%d.%d", id/250, id%250) }
func address(id int32) string { return ip(id) + ":9092" }

func (w *world) seeds(entries ...string) {
	list, err := seeds.Parse(entries, seeds.Security{})
	if err != nil {
		w.Fatal(err)
	}
	w.target.Seeds = list
}

// secure lets every broker present the certificate that issue returns, and trusts ca.
func (w *world) secure(ca *wiretest.Authority, issue func(id int32) tls.Certificate) {
	for id, b := range w.brokers {
		config := &tls.Config{Certificates: []tls.Certificate{issue(id)}}
		w.net.Listen(address(id), func(conn net.Conn) {
			secured := tls.Server(conn, config)
			b.Serve(secured)
			_ = secured.Close()
		})
	}
	w.target.Dialer.TLS = func(host string) (*tls.Config, error) {
		return &tls.Config{RootCAs: ca.Pool(), ServerName: host}, nil
	}
}

// login gives everybody accounts, and us a password.
func (w *world) login(a *wiretest.Accounts, password string) {
	for _, b := range w.brokers {
		b.Require(a)
	}
	w.target.Dialer.SASL = func(context.Context, string) (sasl.Mechanism, error) {
		return plain.Auth{User: "me", Pass: password}.AsMechanism(), nil
	}
}

func (w *world) run() Report {
	ctx, cancel := context.WithTimeout(w.Context(), w.timeout)
	defer cancel()
	r := Run(ctx, w.target)
	for id := range w.brokers {
		if n := w.net.Open(address(id)); n > 0 {
			synctest.Wait()
			if n = w.net.Open(address(id)); n > 0 {
				w.Errorf("%d connections to broker %d are left", n, id)
			}
		}
	}
	return r
}

// golden compares what the three forms of a report are with the files of that name.
func golden(t *testing.T, name string, r Report) {
	t.Helper()
	reports := []Report{r}
	for ext, write := range map[string]func(*bytes.Buffer) error{
		"txt":  func(b *bytes.Buffer) error { return WriteText(b, reports, Style{Width: 100}) },
		"json": func(b *bytes.Buffer) error { return WriteJSON(b, reports) },
		"prom": func(b *bytes.Buffer) error { return WritePrometheus(b, reports) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		compare(t, name+"."+ext, b.Bytes())
	}
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is\n%s\nwant\n%s\ngo test ./check -update writes it", path, got, want)
	}
}
