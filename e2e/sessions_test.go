//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
)

// TestCaseC35Reauthentication: sessions of 5 s are renewed on the live connections for a minute, by tokens that live for 10 s, too.
// Done: sessions of 5 s for a minute, with PLAIN, SCRAM and tokens of 10 s
// Shows: no close, no failure, no new connection
func TestCaseC35Reauthentication(t *testing.T) {
	s := beside(t, cluster.V44)
	byToken := clientCredentials(t, s, clientSecret, 10*time.Second)
	var all []*exporter.Exporter
	var before []exporter.Metrics
	for _, a := range []access{
		password(t, cluster.Plain, userName, userPassword),
		password(t, cluster.SCRAM256, userName, userPassword),
		password(t, cluster.SCRAM512, userName, userPassword),
		byToken,
	} {
		e := enter(t, s.seeds(reauth), a)
		all, before = append(all, e), append(before, e.WaitFor(settleTimeout, ready(s.IDs()...)))
	}
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(100 * time.Millisecond) {
		for _, e := range all {
			e.Hold(time.Millisecond, ready(s.IDs()...))
		}
	}
	for i, e := range all {
		after := e.Scrape()
		untouched(t, before[i], after, s.IDs()...)
		for _, name := range []string{"connection_failures", "request_failures", "connection_closes", "authentication_failures"} {
			if n := after.Sum("broker_" + name + "_total"); n != 0 {
				t.Errorf("exporter %d: broker_%s_total adds up to %v, want 0", i, name, n)
			}
		}
	}
	if n := byToken.endpoint.Issued(); n < 6 {
		t.Errorf("%d tokens of 10 s were asked for in a minute, want at least 6", n)
	} else {
		t.Logf("%d tokens of 10 s", n)
	}
}

// TestCaseC35TokensRunOut: when the token endpoint fails, sessions end and that is what is said; no broker gets to see anything that it would
// reject, and all is well as soon as there are tokens again.
// Done: the token endpoint fails until all sessions have ended
// Shows: `sasl` `token_unavailable`, no rejection at the brokers; ready when there are tokens again
func TestCaseC35TokensRunOut(t *testing.T) {
	s := beside(t, cluster.V44)
	a := clientCredentials(t, s, clientSecret, 6*time.Second)
	e := enter(t, s.seeds(reauth), a, "--seed.check-interval=0s")
	e.WaitFor(settleTimeout, ready(s.IDs()...))
	a.endpoint.SetFailing(true)
	start := time.Now()
	out := each(s.IDs(), func(id int) condition { return failing(id, []string{"token_unavailable"}, "sasl") })
	e.WaitFor(settleTimeout, out)
	t.Logf("seen %v after the endpoint went down", time.Since(start))
	m := e.Hold(2*time.Second, out)
	if n := m.Sum("broker_authentication_failures_total"); n != 0 {
		t.Errorf("%v rejections were counted", n)
	}
	a.endpoint.SetFailing(false)
	start = time.Now()
	e.WaitFor(settleTimeout, all(ready(s.IDs()...), value(1, "up")))
	t.Logf("all is well %v after it was back", time.Since(start))
}

// TestCaseC25Breaker: a wrong password costs the cluster at most two attempts, however many brokers and seeds there are, until the right one is
// in the file.
// Done: a wrong password for three brokers and three seeds, checked every second
// Shows: `sasl` `credentials_rejected`; the brokers reject one or two attempts; ready after the correction
func TestCaseC25Breaker(t *testing.T) {
	s := beside(t, cluster.V44)
	before := rejections(s, guessing)
	file := secretFile(t, wrongPassword)
	seeds := s.seeds(guessing)
	a := passwordIn(file, cluster.Plain, userName, wrongPassword, userPassword)
	e := enter(t, seeds, a, "--sasl.retry-interval=1m", "--seed.check-interval=1s")
	var conditions []condition
	for _, seed := range seeds {
		conditions = append(conditions, seedFailing(seed, []string{"credentials_rejected"}, "sasl"))
	}
	e.WaitFor(settleTimeout, all(conditions...))
	e.Hold(15*time.Second, all(conditions...))
	if n := rejections(s, guessing) - before; n < 1 || n > 2 {
		t.Errorf("the brokers have rejected %d attempts in 15 s, want 1 or 2", n)
	} else {
		t.Logf("%d attempts in 15 s", n)
	}
	write(t, file, userPassword+"\n")
	start := time.Now()
	e.WaitFor(settleTimeout, all(ready(s.IDs()...), absent("seed_failing"), value(1, "up")))
	t.Logf("ready %v after the right password was written", time.Since(start))
}

// TestPasswordChanged: a password that is changed in the cluster shows with the next fresh connection, or when a session is to be renewed,
// costs at most two attempts, and is over when the new one is in the file.
func TestPasswordChanged(t *testing.T) {
	s := beside(t, cluster.V44)
	rejected := []string{"credentials_rejected"}
	oneRefuses := func(m exporter.Metrics) error {
		return oneOf([]string{"1", "2", "3"}, func(id string) condition { return refusing(int(id[0]-'0'), "sasl", rejected[0]) })(m)
	}
	t.Run("open sessions", func(t *testing.T) {
		changePassword(t, s, login{changing, rotatingUser}, all(oneRefuses, brokerIs(1, "broker_reachable", s.IDs()...)), "--handshake.interval=1s")
	})
	t.Run("sessions that end", func(t *testing.T) {
		m := changePassword(t, s, login{reauth, endingUser}, each(s.IDs(), func(id int) condition { return failing(id, rejected, "sasl") }))
		if n := m.Sum("broker_connection_closes_total", "cause", "reauthentication"); n != 3 {
			t.Errorf("%v connections ended with their sessions, want 3: %v", n, m.Find("broker_connection_closes_total", "cause", "remote"))
		}
	})
}

// login is a listener and the user that logs in there.
type login struct{ listener, user string }

// changePassword returns the metrics after the change and before the exporter gets the new password.
func changePassword(t *testing.T, s *security, at login, noticed condition, more ...string) exporter.Metrics {
	t.Helper()
	const next = "second-staple-3Wd8"
	t.Cleanup(func() { s.SetPassword(t, cluster.User{Name: at.user, Password: rotatingPassword}) })
	before := rejections(s, at.listener)
	file := secretFile(t, rotatingPassword)
	a := passwordIn(file, cluster.SCRAM512, at.user, rotatingPassword, next).with(more...)
	e := enter(t, s.seeds(at.listener), a, "--sasl.retry-interval=1m", "--seed.check-interval=0s")
	well := all(ready(s.IDs()...), accepts(s.IDs()...))
	e.WaitFor(settleTimeout, well)

	s.SetPassword(t, cluster.User{Name: at.user, Password: next})
	start := time.Now()
	e.WaitFor(settleTimeout, noticed)
	t.Logf("seen %v after the change", time.Since(start))
	m := e.Hold(8*time.Second, noticed)
	n := rejections(s, at.listener) - before
	if counted := m.Sum("broker_authentication_failures_total"); n < 1 || n > 2 || counted != float64(n) {
		t.Errorf("the brokers have rejected %d attempts, want 1 or 2; the exporter has counted %v", n, counted)
	}
	write(t, file, next+"\n")
	start = time.Now()
	e.WaitFor(settleTimeout, well)
	t.Logf("%d attempts; all is well %v after the new password was written", n, time.Since(start))
	return m
}

// rejections counts the failed authentications and TLS handshakes that the brokers have logged for a listener.
func rejections(s *security, listener string) (n int) {
	for _, b := range s.Brokers {
		for line := range strings.Lines(b.Log()) {
			failed := strings.Contains(line, "Failed authentication with") || strings.Contains(line, "Failed re-authentication with")
			if failed && strings.Contains(line, fmt.Sprintf("channelId=%s-", b.Addr(listener))) {
				n++
			}
		}
	}
	return n
}

// TestCaseC44FreshHandshakes: a fresh connection every two seconds is never more than one socket beside the shared one, which stays, and is ended so
// that no broker takes it for a failure.
// Done: a fresh handshake every 2 s for 20 s, by SASL and TLS
// Shows: never more than two sockets to a broker, and not one failed authentication in its metrics
func TestCaseC44FreshHandshakes(t *testing.T) {
	s := beside(t, cluster.V44)
	failed := rejections(s, calling)
	a := trusting(s.Cluster).and(password(t, cluster.SCRAM512, userName, userPassword))
	e := enter(t, s.seeds(calling), a, "--handshake.interval=2s", "--seed.check-interval=0s")
	before := e.WaitFor(settleTimeout, all(ready(s.IDs()...), accepts(s.IDs()...)))
	alone, most := watchSockets(t, e, s.Addrs(calling), 20*time.Second)
	after := e.WaitFor(settleTimeout, all(ready(s.IDs()...), accepts(s.IDs()...), brokerIs(1, "broker_open_connections", s.IDs()...)))
	attempts := after.Sum("broker_connection_attempts_total") - before.Sum("broker_connection_attempts_total")
	t.Logf("%v handshakes in 20 s, at most %d sockets to a broker, exactly one in %.0f %% of the samples", attempts, most, 100*alone)
	if attempts < 7*3 || attempts > 14*3 {
		t.Errorf("%v handshakes with 3 brokers in 20 s, want about 30 to 36", attempts)
	}
	if alone < 0.5 {
		t.Errorf("one socket to each broker in %.0f %% of the samples only", 100*alone)
	}
	if n := after.Sum("broker_connection_failures_total") + after.Sum("broker_request_failures_total"); n != 0 {
		t.Errorf("%v failures were counted", n)
	}
	if n := rejections(s, calling) - failed; n != 0 {
		t.Errorf("the brokers have logged %d failed handshakes", n)
	}
}

// watchSockets samples the exporter's sockets, in whatever state, and fails the test when a broker has more than two or none. It
// returns the share of samples with exactly one to each, and the most that one had.
func watchSockets(t *testing.T, e *exporter.Exporter, addrs []string, duration time.Duration) (alone float64, most int) {
	t.Helper()
	var samples, single int
	for start := time.Now(); time.Since(start) < duration; time.Sleep(10 * time.Millisecond) {
		counts := map[string]int{}
		for _, socket := range e.Sockets() {
			counts[socket.Remote.String()]++
		}
		samples++
		ones := 0
		for _, addr := range addrs {
			n := counts[addr]
			if most = max(most, n); n < 1 || n > 2 {
				t.Fatalf("%d sockets to %s, want 1 or 2: %v", n, addr, e.Sockets())
			}
			if n == 1 {
				ones++
			}
		}
		if ones == len(addrs) {
			single++
		}
	}
	return float64(single) / float64(samples), most
}
