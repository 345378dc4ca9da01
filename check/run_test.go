package check

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

const year = 365 * 24 * time.Hour

// scenarios are what can be wrong: how it is made, what the check comes to, and parts of the text that tell it.
var scenarios = []struct {
	name   string
	n      int
	stage  func(w *world)
	status Status
	says   []string
}{
	{"well", 3, func(w *world) {
		ca := wiretest.NewAuthorityUntil(time.Now().Add(10 * year))
		w.secure(ca, func(id int32) tls.Certificate { return ca.Issue(time.Now().Add(year), host(id)) })
	}, StatusWell, []string{"1 of 1 seed and 3 of 3 brokers can be reached", "no fault", "identity verified (KIP-1242)", "TLS 1.3"}},
	{"refused", 3, func(w *world) {
		w.seeds("b1:9092", "b2:9092")
		w.net.Refuse(address(2))
	}, StatusFault, []string{"nothing listens on its address", "Start the broker", "1 of 2 seeds and 2 of 3 brokers can be reached", "2 faults"}},
	{"password", 3, func(w *world) {
		w.seeds("b1:9092", "b2:9092", "b3:9092")
		w.login(wiretest.NewAccounts("right", 300*time.Millisecond, 0), "wrong")
	}, StatusFault, []string{"not tried, the credentials were rejected at seed b", "1 fault", "Check user, password file"}},
	{"expired", 3, func(w *world) {
		ca := wiretest.NewAuthorityUntil(time.Now().Add(10 * year))
		w.secure(ca, func(id int32) tls.Certificate {
			if id == 2 {
				return ca.Issue(time.Now().Add(-76*time.Hour), host(id))
			}
			return ca.Issue(time.Now().Add(10*24*time.Hour), host(id))
		})
	}, StatusFault, []string{"tls/certificate_expired:", "ago", "issued by CN=a test authority", "the certificate ends at"}},
	{"all_expired", 3, func(w *world) {
		ca := wiretest.NewAuthorityUntil(time.Now().Add(10 * year))
		w.seeds("b1:9092", "b2:9092", "b3:9092")
		w.secure(ca, func(id int32) tls.Certificate {
			return ca.Issue(time.Now().Add(-time.Duration(id)*time.Hour), host(id))
		})
	}, StatusFault, []string{"seeds b1:9092, b2:9092, b3:9092 tls/certificate_expired: its certificate, issued by CN=a test authority, has ended", "3 faults"}},
	{"untrusted", 3, func(w *world) {
		other := wiretest.NewAuthorityUntil(time.Now().Add(10 * year))
		w.secure(wiretest.NewAuthorityUntil(time.Now().Add(10*year)), func(id int32) tls.Certificate { return other.Issue(time.Now().Add(year), host(id)) })
	}, StatusFault, []string{"the chain ends at the authority CN=a test authority", "--tls.ca-file", "no seed says which brokers there are"}},
	{"mismatch", 3, func(w *world) {
		ca := wiretest.NewAuthorityUntil(time.Now().Add(10 * year))
		w.secure(ca, func(id int32) tls.Certificate {
			if id == 1 {
				return ca.Issue(time.Now().Add(year), "b1")
			}
			return ca.Issue(time.Now().Add(year), "kafka.internal", "b1")
		})
	}, StatusFault, []string{"brokers 2, 3", "is for kafka.internal, b1, and not for", "--tls.server-name-override"}},
	{"advertised", 4, func(w *world) {
		w.net.Name("b2")
		w.cluster.Set(3, "localhost:9092")
		w.cluster.Set(4, "0.0.0.0:9092")
		w.net.Name("localhost", "127.0.0.1")
	}, StatusFault, []string{"the cluster advertises b2, and this name does not resolve here", "localhost is this host itself", "must not be dialed"}},
	{"misrouted", 3, func(w *world) { w.net.Name("b2", ip(3)) }, StatusFault, []string{"identity/misrouted:", "Give every broker its own host or port"}},
	{"gateway", 3, func(w *world) {
		behind := wiretest.NewCluster(w.cluster.ID())
		for id := range w.brokers {
			behind.Set(id, "inner-"+host(id)+":9092")
		}
		inner := wiretest.NewBroker(1, behind, wiretest.Modern)
		w.brokers[1].On(kmsg.DescribeCluster, inner.Well)
	}, StatusWell, []string{"DescribeCluster names it at inner-b1:9092", "DescribeCluster names other addresses"}},
	{"fenced", 3, func(w *world) {
		w.cluster.SetMember(3, wiretest.Member{Host: "b3", Port: 9092, Rack: "r3", Fenced: true})
	}, StatusWell, []string{"fenced: it is registered", "3 of 3 brokers can be reached"}},
	{"views", 3, func(w *world) {
		other := wiretest.NewCluster(w.cluster.ID())
		other.Set(2, "b2:9092")
		other.Set(7, "b7:9092")
		w.brokers[2].On(kmsg.Metadata, wiretest.NewBroker(2, other, wiretest.Modern).Well)
	}, StatusWell, []string{"not 1, not 3, 7 besides, at b7:9092", "2 of 3 brokers name the same 3 brokers"}},
	{"hanging", 3, func(w *world) {
		w.brokers[2].On(kmsg.Metadata, func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrSilence })
	}, StatusFault, []string{"request/timeout:", "no answer to Metadata"}},
	{"wrong_cluster", 1, func(w *world) {
		w.target.ClusterID = "another"
	}, StatusFault, []string{"identity/wrong_cluster:", `belongs to cluster "5L6g3nShT-eMCtK--X86sw", not to "another"`}},
	{"missing", 2, func(w *world) { w.target.Expected = 3 }, StatusFault, []string{"1 of 3 brokers that are expected are missing"}},
	{"unfinished", 3, func(w *world) {
		w.timeout = 2 * time.Second
		w.net.Blackhole(address(3))
	}, StatusUnfinished, []string{"not finished in time", "2 of 3 brokers"}},
	{"hostile", 2, func(w *world) {
		w.cluster.SetMember(2, wiretest.Member{Host: "b2\x1b[31m\u202e<evil>", Port: 9092, Rack: "r\n\x00\xff\u200b"})
	}, StatusFault, []string{`b2\u001b[31m\u202e<evil>:9092`, `r\u000a\u0000`}},
}

func TestScenarios(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, s.n, wiretest.Modern)
				s.stage(w)
				r := w.run()
				if r.Status != s.status {
					t.Errorf("the status is %s, want %s", r.Status, s.status)
				}
				var b strings.Builder
				if err := WriteText(&b, []Report{r}, Style{Width: 100}); err != nil {
					t.Fatal(err)
				}
				oneLine := strings.Join(strings.Fields(b.String()), " ")
				for _, part := range s.says {
					if !strings.Contains(oneLine, part) {
						t.Errorf("nothing says %q:\n%s", part, b.String())
					}
				}
				if s.name != "password" { // whose turn is first is nobody's decision
					golden(t, s.name, r)
				}
			})
		})
	}
}

// TestOnePassword: one wrong password is one attempt, however many seeds lead to however many brokers, and nobody is failed for it but
// who was asked.
func TestOnePassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, wiretest.Modern)
		accounts := wiretest.NewAccounts("right", 300*time.Millisecond, 0)
		w.login(accounts, "wrong")
		w.seeds("b1:9092", "b2:9092", "b3:9092")
		r := w.run()
		if n := len(accounts.Attempts()); n != 1 || r.Faults != 1 {
			t.Errorf("%d attempts and %d faults, want one", n, r.Faults)
		}
		w.target.Dialer.SASL = nil
		w.login(accounts, "right")
		if r = w.run(); r.Status != StatusWell {
			t.Errorf("with the right one it is %s", r.Status)
		}
	})
}

// TestOneBrokerRejects: a single broker that does not know the user is told apart from a wrong password.
func TestOneBrokerRejects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 5, wiretest.Modern)
		w.login(wiretest.NewAccounts("right", 0, 0), "right")
		lagging := wiretest.NewAccounts("old", 0, 0)
		w.brokers[4].Require(lagging)
		r := w.run()
		if r.Faults != 1 || r.Brokers[3].State != StateFailed || well(r.Brokers) != 4 {
			t.Errorf("%d faults, %d well, broker 4 is %s", r.Faults, well(r.Brokers), r.Brokers[3].State)
		}
	})
}

// TestBlackholes: ten silent brokers of a hundred cost one connect timeout, and the ninety are known at once.
func TestBlackholes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100, wiretest.Modern)
		for id := int32(11); id <= 20; id++ {
			w.net.Blackhole(address(id))
		}
		var ninety time.Duration
		w.target.Progress = func(p Progress) {
			if p.Done >= 90 && ninety == 0 {
				ninety = p.Elapsed
			}
		}
		r := w.run()
		if r.Faults != 10 || well(r.Brokers) != 90 || r.Seconds > 11 || ninety > time.Second {
			t.Errorf("%d faults, %d well, in %.1f s; ninety after %s", r.Faults, well(r.Brokers), r.Seconds, ninety)
		}
		golden(t, "blackholes", Report{Cluster: r.Cluster, Seeds: r.Seeds, Brokers: r.Brokers[8:23], Views: r.Views, Status: r.Status, Faults: r.Faults})
	})
}

// TestInterrupted: Ctrl-C shows what is known, and no fault for what is not.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, wiretest.Modern)
		w.net.Blackhole(address(2))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		r := Run(ctx, w.target)
		if !r.Interrupted || r.Faults != 0 || r.Status != StatusUnfinished || r.Brokers[1].State != StateUnfinished || well(r.Brokers) != 2 || r.Seconds > 1.5 {
			t.Errorf("%+v", r)
		}
	})
}

// TestOldForms: peers that hang up on what they do not know are asked in older forms, as the daemon does.
func TestOldForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2, wiretest.Old)
		for _, b := range w.brokers {
			b.On(kmsg.ApiVersions, func(r wiretest.Request) (kmsg.Response, error) {
				if r.GetVersion() > 2 {
					return nil, wiretest.ErrHang
				}
				return b.Well(r)
			})
		}
		if r := w.run(); r.Status != StatusWell || r.Views.DescribeCluster != DescribeNotOffered {
			t.Errorf("%+v", r)
		}
	})
}

// TestMany: a thousand brokers at the ordinary rate are not finished in time, and that is said without a fault; with another rate
// they are.
func TestMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1000, wiretest.Modern)
		r := w.run()
		if r.Status != StatusUnfinished || r.Faults != 0 || r.Seconds > 11 {
			t.Errorf("%s with %d faults in %.1f s", r.Status, r.Faults, r.Seconds)
		}
		w.target.ConnectRate = 1000
		if r = w.run(); r.Status != StatusWell {
			t.Errorf("%s with %d faults in %.1f s", r.Status, r.Faults, r.Seconds)
		}
	})
}
