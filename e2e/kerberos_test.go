//go:build e2e

package e2e

import (
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/kerberos"
	"kafka_connection_exporter/e2e/need"
)

// TestKDCDown: without a KDC, or with one that is silent, there is no ticket, and nothing is said against the brokers; as soon as there is
// one the exporter gets in.
func TestKDCDown(t *testing.T) {
	need.Tool(t, kerberos.Tools...)
	s := beside(t, cluster.V44)
	s.spoilKDC(t)
	a := ticket(t, s, s.kdc.Keytab, userName)
	for _, tc := range []struct {
		name      string
		end, mend func() error
	}{
		{"gone", s.kdc.Close, s.kdc.Start},
		{"silent", s.kdc.Pause, s.kdc.Resume},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.end(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tc.mend() })
			e := enter(t, s.seeds(saslPlain), a, impatient...)
			conditions := []condition{value(0, "up")}
			for _, seed := range s.seeds(saslPlain) {
				conditions = append(conditions, seedFailing(seed, []string{"token_unavailable"}, "sasl"))
			}
			e.WaitFor(settleTimeout, all(conditions...))
			e.Hold(time.Second, all(conditions...))
			t.Log(explanation(e))
			if err := tc.mend(); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			e.WaitFor(settleTimeout, all(ready(s.IDs()...), identity("verified", s.IDs()...)))
			t.Logf("ready %v after the KDC was back", time.Since(start))
		})
	}
}

// TestStaleTicket: a broker whose keytab is older than its key in the KDC takes no ticket.
func TestStaleTicket(t *testing.T) {
	need.Tool(t, kerberos.Tools...)
	s := beside(t, cluster.V44)
	s.spoilKDC(t)
	a := ticket(t, s, s.kdc.Keytab, userName)
	const principal = "kafka/localhost"
	file, err := s.kdc.Keytab(principal)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.kdc.Rekey(principal, file+".unknown"); err != nil {
		t.Fatal(err)
	}
	e := enter(t, s.seeds(saslPlain), a, "--sasl.retry-interval=2s")
	e.WaitFor(settleTimeout, seedFailing(s.seeds(saslPlain)[0], []string{"credentials_rejected"}, "sasl"))
	t.Log(explanation(e))
	if err := s.kdc.Rekey(principal, file); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	e.WaitFor(settleTimeout, all(ready(s.IDs()...), identity("verified", s.IDs()...)))
	t.Logf("ready %v after the broker had its key", time.Since(start))
}
