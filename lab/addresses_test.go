package lab

import (
	"fmt"
	"testing"
	"time"

	"kafka_connection_exporter/wire/wiretest"
)

// TestCaseC03AdvertisedAddress: the bootstrap works, and then everything fails.
// Done: brokers advertise a name that does not exist, `localhost` with a closed port, and an address that swallows every SYN
// Shows: `seed_reachable` 1 beside three brokers with `resolve` `dns_not_found`, `dial` `refused`, `dial` `timeout`, and their addresses
func TestCaseC03AdvertisedAddress(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	server := newNameServer(t)
	blackhole := nobody()
	wiretest.Blackhole(t, blackhole)
	closed := fmt.Sprintf("localhost:%d", port(t))
	for id, addr := range map[int32]string{2: "kafka-0.test:9092", 3: closed, 4: blackhole} {
		c.Set(id, addr)
	}
	p := startEnv(t, server.env(), c.seeds(1), "--connect.timeout=5s")
	p.wait(ready(1), seedWell(c.stands[0].addr), failing(2, "resolve", "dns_not_found"), failing(3, "dial", "refused"), failing(4, "dial", "timeout"),
		is(1, ofBroker(2, "info", "address", "kafka-0.test:9092", "rack", "r2")), is(1, ofBroker(3, "info", "address", closed, "rack", "r3")),
		is(1, ofBroker(4, "info", "address", blackhole, "rack", "r4")))
	p.guard(1)
	second := newStand(t, "", wiretest.NewBroker(2, c.Cluster, wiretest.Common).Serve)
	server.set("kafka-0.test", hostOf(second.addr))
	for id := int32(3); id <= 4; id++ {
		c.Set(id, newStand(t, "", wiretest.NewBroker(id, c.Cluster, wiretest.Common).Serve).addr)
	}
	p.wait(ready(1, 2, 3, 4))
}

// TestCaseC19FirstAddressDead: a name has several addresses and the first one is dead.
// Done: a name with an address that swallows every SYN and a good one, as seed and as advertised host; later one that refuses
// Shows: both reachable at the price of the attempt delay; `broker_address_info` names the dead one
func TestCaseC19FirstAddressDead(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	server := newNameServer(t)
	blackhole := nobody()
	wiretest.Blackhole(t, blackhole)
	good := hostOf(c.stands[0].addr)
	server.set("kafka.test", hostOf(blackhole), good)
	c.Set(1, "kafka.test:9092")
	p := startEnv(t, server.env(), "--kafka.seed=kafka.test:9092", "--connect.timeout=8s")
	m := p.wait(ready(1), seedWell("kafka.test:9092"), is(2, ofSeed("kafka.test:9092", "resolved_addresses")),
		is(1, ofBroker(1, "address_info", "address", c.stands[0].addr, "verdict", "connected")),
		sums(1, "broker_address_info", "broker_id", "1", "address", blackhole))
	if took := m[ofBroker(1, "connect_duration_seconds_sum")]; took > 3 {
		t.Errorf("the connection took %v s", took)
	}
	refused := hostOf(nobody())
	server.set("kafka.test", refused, hostOf(blackhole), good)
	c.stands[0].cut(false)
	p.wait(ready(1), is(3, ofSeed("kafka.test:9092", "resolved_addresses")),
		is(1, ofBroker(1, "address_info", "address", c.stands[0].addr, "verdict", "connected")))
}

// TestCaseC19AddressThatServesNobody: TCP connects at the first address of a name, and that is all.
// Done: a name whose first address hangs up and whose second one is good, as seed and as advertised host
// Shows: both reachable after a failed attempt at most; `broker_address_info` has `failed` (or `abandoned`) for the first address and `connected` for the second
func TestCaseC19AddressThatServesNobody(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	server := newNameServer(t)
	zombie := newStand(t, "", wiretest.Hangup)
	server.set("kafka.test", hostOf(zombie.addr), hostOf(c.stands[0].addr))
	c.Set(1, "kafka.test:9092")
	p := startEnv(t, server.env(), "--kafka.seed=kafka.test:9092")
	p.wait(ready(1), seedWell("kafka.test:9092"),
		is(1, ofBroker(1, "address_info", "address", c.stands[0].addr, "verdict", "connected")),
		sums(1, "broker_address_info", "broker_id", "1", "address", zombie.addr),
		absent("broker_address_info", "broker_id", "1", "address", zombie.addr, "verdict", "connected"))
}

// TestCaseC20TwoFamilies: a name has an address of either family, and only one of the two works.
// Done: IPv6 refuses and IPv4 is good; the reverse; IPv6 swallows every SYN
// Shows: the broker and the seed reachable in all three, and the bad address as `failed` or `abandoned` in `broker_address_info`
func TestCaseC20TwoFamilies(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, v4, v6 *stand){
		"IPv6 refuses":        func(_ *testing.T, _, v6 *stand) { v6.kill(false) },
		"IPv4 refuses":        func(_ *testing.T, v4, _ *stand) { v4.kill(false) },
		"IPv6 is a blackhole": func(t *testing.T, _, v6 *stand) { v6.kill(false); wiretest.Blackhole(t, v6.addr) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cluster{Cluster: wiretest.NewCluster("cluster-a")}
			port, host := port(t), hostOf(nobody())
			v6 := c.add(t, 1, fmt.Sprintf("[::1]:%d", port), wiretest.Common)
			v4 := newStand(t, fmt.Sprintf("%s:%d", host, port), c.brokers[0].Serve)
			server := newNameServer(t)
			server.set("both.test", "::1", host)
			addr := fmt.Sprintf("both.test:%d", port)
			c.Set(1, addr)
			spoil(t, v4, v6)
			bad, good := v6.addr, v4.addr
			if name == "IPv4 refuses" {
				bad, good = good, bad
			}
			p := startEnv(t, server.env(), "--kafka.seed="+addr, "--connect.timeout=8s")
			p.wait(ready(1), seedWell(addr), is(1, ofBroker(1, "address_info", "address", good, "verdict", "connected")),
				sums(1, "broker_address_info", "broker_id", "1", "address", bad))
			p.guard(1)
			p.hold(500*time.Millisecond, ready(1), is(1, "up"))
		})
	}
}

// TestCaseC41AddressNotToDial: a bind address is no address, and dialing it reaches ourselves.
// Done: brokers advertise 0.0.0.0, ::, an empty host and port -1, while somebody listens on loopback at that port
// Shows: `resolve` `invalid_address` and not one attempt; the listener on loopback gets no connection
func TestCaseC41AddressNotToDial(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, wiretest.Common)
	port := port(t)
	trap := newStand(t, fmt.Sprintf("127.0.0.1:%d", port), wiretest.Tarpit)
	trap6 := newStand(t, fmt.Sprintf("[::1]:%d", port), wiretest.Tarpit)
	ids := map[int]wiretest.Member{2: {Host: "0.0.0.0", Port: port}, 3: {Host: "::", Port: port}, 4: {Host: "", Port: port}, 5: {Host: "127.0.0.1", Port: -1}}
	var invalid []condition
	for id, member := range ids {
		c.SetMember(int32(id), member)
		invalid = append(invalid, failing(id, "resolve", "invalid_address"), is(0, ofBroker(id, "connection_attempts_total")))
	}
	p := start(t, c.seeds(1))
	p.wait(ready(1), all(invalid...))
	p.guard(1)
	p.hold(time.Second, invalid...)
	if trap.dials()+trap6.dials() > 0 {
		t.Errorf("%d connections by IPv4 and %d by IPv6 to our own loopback", trap.dials(), trap6.dials())
	}
	for id := range ids {
		c.Set(int32(id), newStand(t, "", wiretest.NewBroker(int32(id), c.Cluster, wiretest.Common).Serve).addr)
	}
	p.wait(ready(1, 2, 3, 4, 5))
}
