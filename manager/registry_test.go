package manager

import (
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

// behindGateway is a world of n brokers whose DescribeCluster names addresses where nobody is, as a gateway leaves it.
func behindGateway(t *testing.T, n int, f func(w *world)) {
	inWorld(t, 0, func(w *world) {
		for id := int32(1); id <= int32(n); id++ {
			b := w.addBroker(id, wiretest.Modern)
			b.On(kmsg.DescribeCluster, func(r wiretest.Request) (kmsg.Response, error) {
				resp, err := b.Well(r)
				list := resp.(*kmsg.DescribeClusterResponse)
				for i := range list.Brokers {
					list.Brokers[i].Host = "inner-" + strconv.Itoa(int(list.Brokers[i].NodeID))
				}
				return resp, err
			})
		}
		f(w)
	})
}

// TestCaseC50Gateway: clients dial what Metadata names, whatever DescribeCluster says.
// Done: Metadata names addresses that serve, DescribeCluster others where nobody is; then the other way round
// Shows: all reachable at Metadata's, `broker_describe_cluster_agrees` 0, one event each; then red
func TestCaseC50Gateway(t *testing.T) {
	behindGateway(t, 3, func(w *world) {
		w.start()
		w.after(2 * time.Minute)
		w.wantReady(1, 2, 3)
		for id := int32(1); id <= 3; id++ {
			b := w.broker(id)
			if b.Host != "b"+strconv.Itoa(int(id)) || b.RegistryAgrees != VerdictBad {
				t.Errorf("broker %d at %s, agrees %v", id, b.Host, b.RegistryAgrees)
			}
			if n := w.events.count(EventRegistryDiffers, "broker "+strconv.Itoa(int(id))); n != 1 {
				t.Errorf("told %d times", n)
			}
		}
		w.net.Name("inner-2", "10.0.0.2") // alive, and not what clients are told
		w.cluster.Set(2, "shut:9092")
		w.net.Name("shut", "10.9.9.9")
		w.after(2 * time.Minute)
		w.wantBrokerFailing(2, "dial refused")
	})
}

// TestFencedBehindGateway: a broker that only DescribeCluster has ever named is shown, and dialed only where its addresses are those
// of Metadata.
func TestFencedBehindGateway(t *testing.T) {
	member := wiretest.Member{Host: "b4", Port: 9092, Fenced: true}
	behindGateway(t, 2, func(w *world) {
		w.cluster.SetMember(4, member)
		w.start()
		w.after(5 * time.Minute)
		b := w.broker(4)
		if b.InMetadata || b.Fenced != VerdictBad || !b.Hidden || b.Reachable != VerdictUnknown || b.Attempts != 0 || b.Host != "" || b.State != StateIdle {
			t.Errorf("behind a gateway: %+v", b)
		}
		w.addBroker(4, wiretest.Modern) // unfenced: Metadata has an address for it
		w.after(time.Minute)
		w.wantReady(4)
		if b := w.broker(4); !b.InMetadata || b.Hidden || b.Fenced == VerdictBad {
			t.Errorf("unfenced: %+v", b)
		}
	})
	inWorld(t, 0, func(w *world) {
		w.addBroker(1, wiretest.Modern)
		w.addBroker(4, wiretest.Modern)
		w.cluster.SetMember(4, member)
		w.start()
		w.after(time.Minute)
		w.wantReady(4)
		if b := w.broker(4); b.InMetadata || b.Fenced != VerdictBad || w.broker(1).RegistryAgrees != VerdictGood {
			t.Errorf("without a gateway: %+v", b)
		}
	})
}

// TestRegistryIsNoVerdict: DescribeCluster that is refused, broken off, garbage or silent costs nothing that Metadata has told.
func TestRegistryIsNoVerdict(t *testing.T) {
	for name, script := range map[string]wiretest.Script{
		"denied": func(r wiretest.Request) (kmsg.Response, error) {
			resp := r.ResponseKind().(*kmsg.DescribeClusterResponse)
			resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
			return resp, nil
		},
		"hangs up": func(wiretest.Request) (kmsg.Response, error) { return nil, wiretest.ErrHang },
		"empty":    func(r wiretest.Request) (kmsg.Response, error) { return r.ResponseKind(), nil },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 0, func(w *world) {
				for id := int32(1); id <= 3; id++ {
					w.addBroker(id, wiretest.Modern).On(kmsg.DescribeCluster, script)
				}
				w.start()
				w.after(time.Second)
				for range 300 {
					w.after(time.Second)
					for _, b := range w.m.Snapshot().Brokers {
						if b.Reachable != VerdictGood || !b.InMetadata || b.RegistryAgrees != VerdictUnknown {
							t.Fatalf("broker %d: %+v", b.ID, b)
						}
					}
				}
				w.after(5 * time.Minute)
				before := w.net.Dials(address(1))
				w.after(10 * time.Minute)
				if n := w.net.Dials(address(1)) - before; n > 11 { // those of the seed's checks
					t.Errorf("%d dials in ten minutes: it is still asked", n)
				}
			})
		})
	}
}
