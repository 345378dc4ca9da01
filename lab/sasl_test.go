package lab

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// require makes all brokers ask for a password, and returns the flags that present this one, and its file.
func (c *cluster) require(t testing.TB, accounts *wiretest.Accounts, password string) (flags []string, path string) {
	t.Helper()
	for _, b := range c.brokers {
		b.Require(accounts)
	}
	path = file(t, "password", []byte(password))
	return []string{"--sasl.mechanism=PLAIN", "--sasl.username=exporter", "--sasl.password-file=" + path}, path
}

// TestCaseC25WrongPassword: one wrong password and many brokers must not lock the account.
// Done: the password is wrong for ten brokers and three seeds; then its file is corrected
// Shows: `sasl` `credentials_rejected` for all; the brokers see at most two attempts in all; after the correction all are well
func TestCaseC25WrongPassword(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 10, wiretest.Common)
	accounts := wiretest.NewAccounts("right", 0, 0)
	flags, path := c.require(t, accounts, "wrong")
	p := start(t, append(flags, c.seeds(1, 2, 3))...)
	var rejected []condition
	for i := range 3 {
		rejected = append(rejected, seedFailing(c.stands[i].addr, "sasl", "credentials_rejected"))
	}
	p.wait(rejected...)
	p.hold(2*time.Second, append(rejected, is(0, "up"))...)
	if n := len(accounts.Attempts()); n > 2 {
		t.Errorf("%d attempts with the wrong password", n)
	}
	if err := os.WriteFile(path, []byte("right"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.wait(is(1, "up"), ready(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
}

// TestCaseC35SessionEnds: brokers end sessions, and tokens run out.
// Done: sessions of four seconds, renewed for a while, also when the password's file is gone for a moment; then it is gone until they end
// Shows: renewals without a close or a failed check; `sasl` `token_unavailable` while there is none; ready again
func TestCaseC35SessionEnds(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, wiretest.Common)
	accounts := wiretest.NewAccounts("right", 0, 8*time.Second)
	flags, path := c.require(t, accounts, "right")
	p := start(t, append(flags, c.seeds(1), "--seed.check-interval=0s")...)
	p.wait(ready(1, 2))
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	poll(500*time.Millisecond, func() bool { return false }) // shorter than what is left of the session
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	before := len(accounts.Attempts())
	untouched := all(ready(1, 2), is(1, ofBroker(1, "connection_attempts_total")), is(1, ofBroker(2, "connection_attempts_total")),
		sums(0, "broker_request_failures_total"), sums(0, "broker_connection_closes_total"), sums(0, "broker_connection_failures_total"))
	p.hold(18*time.Second, untouched)
	if n := len(accounts.Attempts()) - before; n < 4 {
		t.Errorf("%d renewals", n)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	p.wait(failing(1, "sasl", "token_unavailable"), failing(2, "sasl", "token_unavailable"), sums(0, "broker_authentication_failures_total"),
		sums(2, "broker_connection_closes_total", "cause", "reauthentication"))
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	p.wait(ready(1, 2))
}

// TestCaseC37SecretsStayInside: a password is in no place where somebody looks.
// Done: a marked password meets a broker that accepts it, one that rejects it, and peers that are no Kafka, logged at debug level
// Shows: the marker in no page, no log line and not on the command line
func TestCaseC37SecretsStayInside(t *testing.T) {
	t.Parallel()
	const marker = "hunter2-marker"
	for name, right := range map[string]string{"accepted": marker, "rejected": "another"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 2, wiretest.Common)
			flags, _ := c.require(t, wiretest.NewAccounts(right, 0, 0), marker)
			seeds := c.seeds(1) + ",missing.test:9092," + nobody()
			echo := func(conn net.Conn) {
				buf := make([]byte, 4096)
				n, _ := conn.Read(buf)
				_, _ = conn.Write(buf[:n])
			}
			for _, handler := range []func(net.Conn){wiretest.Tarpit, wiretest.Reset, wiretest.ReadAndClose, wiretest.Says([]byte("HTTP/1.1 400 \r\n")), echo} {
				seeds += "," + newStand(t, "", handler).addr
			}
			p := startEnv(t, newNameServer(t).env(), append(flags, seeds, "--log.level=debug", "--backoff.max=100ms", "--connect.timeout=1s")...)
			wanted := seedWell(c.stands[0].addr)
			if right != marker {
				wanted = seedFailing(c.stands[0].addr, "sasl", "credentials_rejected")
			}
			p.wait(wanted, func(m metrics) error {
				if n := len(m.find("seed_reachable")); n != 8 {
					return fmt.Errorf("%d seeds have a verdict", n)
				}
				return nil
			})
			text := p.logged()
			for _, path := range []string{"/", "/metrics", "/-/healthy", "/-/ready", "/config", "/status", "/debug/pprof/cmdline"} {
				page, _, err := p.fetch(path)
				if err != nil {
					t.Fatal(err)
				}
				text += page
			}
			cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid))
			if text += string(cmdline); err != nil || strings.Contains(text, marker) {
				t.Errorf("the password is in (%v):\n%s", err, text)
			}
		})
	}
}
