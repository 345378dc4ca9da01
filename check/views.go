package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kafka_connection_exporter/wire"
)

// mostDifferences is how many differences one text lists.
const mostDifferences = 5

// views compares what the brokers say of the cluster with what was tried.
func (c *run) views() Views {
	v := Views{DescribeCluster: DescribeNotAsked}
	if c.plan == nil {
		return v
	}
	v.From, v.Named = c.plan.from.name, len(c.plan.view.Brokers)
	for _, o := range c.brokers {
		if !o.answered {
			continue
		}
		v.Asked++
		if o.differs == "" {
			v.Agree++
		}
	}
	from := c.plan.from
	switch {
	case !from.done:
	case !from.offers:
		v.DescribeCluster = DescribeNotOffered
	case from.registryErr != nil:
		v.DescribeCluster = DescribeFailed
	case from.registry == nil:
	case from.registry.Denied:
		v.DescribeCluster = DescribeDenied
	case len(c.registryDifferences(from)) > 0:
		v.DescribeCluster = DescribeDiffers
	default:
		v.DescribeCluster = DescribeSame
	}
	return v
}

// compare notes in r what the broker says that others do not, and what DescribeCluster says of it.
func (c *run) compare(o *outcome, r *Result) {
	if o.peer.NodeID < 0 || c.plan == nil {
		return
	}
	if o.answered {
		agrees := o.differs == ""
		if r.ViewAgrees = &agrees; !agrees {
			r.Warnings = append(r.Warnings, Warning{WarnView, fmt.Sprintf("it names other brokers than the seed %s: %s", c.plan.from.name, o.differs)})
		}
	}
	registry := c.plan.from.registry
	if registry == nil || !o.inMetadata {
		return
	}
	i := slices.IndexFunc(registry.Brokers, func(b wire.RegisteredBroker) bool { return b.ID == o.peer.NodeID })
	if i < 0 {
		return
	}
	other := registry.Brokers[i]
	same := other.Host == o.peer.Host && other.Port == o.peer.Port
	if r.DescribeOK = &same; !same {
		r.Warnings = append(r.Warnings, Warning{WarnDescribe, fmt.Sprintf("DescribeCluster names it at %s: a gateway in between rewrites Metadata only",
			wire.Peer{Host: other.Host, Port: other.Port})})
	}
}

// registryDifferences lists the brokers that DescribeCluster names at other addresses than Metadata.
func (c *run) registryDifferences(o *outcome) (all []int32) {
	if o.registry == nil || c.plan == nil {
		return nil
	}
	named := byID(c.plan.view.Brokers)
	for _, b := range o.registry.Brokers {
		if m, ok := named[b.ID]; ok && (m.Host != b.Host || m.Port != b.Port) {
			all = append(all, b.ID)
		}
	}
	return all
}

// differences says what has lists other than want does.
func differences(want, has []wire.BrokerInfo) (all []string) {
	if len(want) > 0 && len(has) == len(want) && &want[0] == &has[0] {
		return nil // the usual case: equal lists are one
	}
	expected, found := byID(want), byID(has)
	for _, b := range sorted(want) {
		other, ok := found[b.ID]
		switch {
		case !ok:
			all = append(all, fmt.Sprintf("not %d", b.ID))
		case other.Host != b.Host || other.Port != b.Port:
			all = append(all, fmt.Sprintf("%d at %s", b.ID, wire.Peer{Host: other.Host, Port: other.Port}))
		}
	}
	for _, b := range sorted(has) {
		if _, ok := expected[b.ID]; !ok {
			all = append(all, fmt.Sprintf("%d besides, at %s", b.ID, wire.Peer{Host: b.Host, Port: b.Port}))
		}
	}
	return all
}

func byID(all []wire.BrokerInfo) map[int32]wire.BrokerInfo {
	m := make(map[int32]wire.BrokerInfo, len(all))
	for _, b := range all {
		m[b.ID] = b
	}
	return m
}

func sorted(all []wire.BrokerInfo) []wire.BrokerInfo {
	return slices.SortedFunc(slices.Values(all), func(a, b wire.BrokerInfo) int { return cmp.Compare(a.ID, b.ID) })
}

// list joins the first of them.
func list(all []string) string {
	if more := len(all) - mostDifferences; more > 0 {
		return strings.Join(all[:mostDifferences], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(all, ", ")
}
