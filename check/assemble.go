package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"kafka_connection_exporter/manager"
	"kafka_connection_exporter/wire"
)

// soon is how long before its end a certificate is worth a warning.
const soon = 14 * 24 * time.Hour

// report puts together what was found out. cause is why ctx ended, if it did.
func (c *run) report(cause error) Report {
	t := &c.target
	r := Report{Cluster: t.Name, ClusterID: t.ClusterID, Vantage: t.Vantage, Started: c.started.UTC(), Seconds: time.Since(c.started).Seconds(),
		Expected: t.Expected, Interrupted: errors.Is(cause, context.Canceled), Seeds: []Result{}, Brokers: []Result{}}
	if c.plan != nil && r.ClusterID == "" {
		r.ClusterID = c.plan.view.ClusterID
	}
	for _, o := range c.seeds {
		if id := r.ClusterID; o.err == nil && id != "" && o.clusterID != "" && o.clusterID != id {
			o.err = otherCluster(o.clusterID, id)
		}
	}
	slices.SortFunc(c.brokers, func(a, b *outcome) int { return cmp.Compare(a.peer.NodeID, b.peer.NodeID) })
	r.Views = c.views()
	for _, o := range c.seeds {
		r.Seeds = append(r.Seeds, c.result(o))
	}
	for _, o := range c.brokers {
		r.Brokers = append(r.Brokers, c.result(o))
	}
	r.judge()
	return r
}

// judge counts, and draws the conclusion.
func (r *Report) judge() {
	unfinished := r.Interrupted
	for _, result := range slices.Concat(r.Seeds, r.Brokers) {
		switch result.State {
		case StateFailed:
			r.Faults++
		case StateUnfinished:
			unfinished = true
		}
		r.Warnings += len(result.Warnings)
	}
	if r.Views.From != "" {
		r.Missing = max(r.Expected-r.Views.Named, 0)
	}
	if r.Missing > 0 {
		r.Faults++
	}
	switch {
	case r.Faults > 0:
		r.Status = StatusFault
	case unfinished:
		r.Status = StatusUnfinished
	default:
		r.Status = StatusWell
	}
}

func (c *run) result(o *outcome) Result {
	r := Result{Address: o.peer.String(), Rack: o.rack, InMetadata: o.inMetadata, Fenced: o.fenced, State: StateWell, APIVersion: o.apiVersions, Like: o.like,
		Addresses: []Address{}, Phases: []Phase{}, Warnings: []Warning{}, TLS: tlsOf(o)}
	if o.peer.NodeID < 0 {
		r.Seed = o.name
	} else {
		r.BrokerID = &o.peer.NodeID
		r.Identity = [...]string{"", "verified", "unverified", "wrong"}[o.identity]
	}
	for _, a := range o.trace.Addresses {
		seen := Address{Address: a.Addr.String(), Tried: a.Tried, Connected: a.Connected}
		if a.Err != nil {
			seen.Reason = a.Err.Reason.String()
		}
		r.Addresses = append(r.Addresses, seen)
	}
	for _, s := range o.trace.Steps {
		r.Phases = append(r.Phases, Phase{s.Phase.String(), s.Duration.Seconds(), s.Err == nil})
	}
	switch {
	case o.shownOnly:
		r.State = StateNotTried
	case o.unfinished:
		r.State = StateUnfinished
	case o.err != nil && manager.HeldBack(o.err):
		r.State = StateNotTried
		r.Failure = c.failure(o)
	case o.err != nil:
		r.State = StateFailed
		r.Failure = c.failure(o)
		if o.err.Reason == wire.ReasonMisrouted || o.err.Reason == wire.ReasonWrongCluster {
			r.Identity = "wrong"
		}
	}
	c.compare(o, &r)
	r.Warnings = append(r.Warnings, c.warnings(o, &r)...)
	return r
}

func tlsOf(o *outcome) *TLS {
	if o.trace.NotAfter.IsZero() {
		return nil
	}
	end := o.trace.NotAfter.UTC()
	t := &TLS{NotAfter: &end, Chain: []Certificate{}}
	if o.tls != nil {
		t.Version, t.Cipher = o.tls.Version, o.tls.Cipher
	}
	for _, cert := range o.trace.Chain {
		names := cert.Names
		if names == nil {
			names = []string{}
		}
		t.Chain = append(t.Chain, Certificate{cert.Subject, cert.Issuer, names, cert.NotBefore.UTC(), cert.NotAfter.UTC()})
	}
	return t
}

func (c *run) warnings(o *outcome, r *Result) (all []Warning) {
	warn := func(kind, format string, args ...any) { all = append(all, Warning{kind, fmt.Sprintf(format, args...)}) }
	if left := time.Until(o.trace.NotAfter); !o.trace.NotAfter.IsZero() && left > 0 && left < soon {
		warn(WarnCertificate, "the certificate ends at %s, in %s", o.trace.NotAfter.UTC().Format(time.RFC3339), days(left))
	}
	switch {
	case o.shownOnly:
		warn(WarnFenced, "fenced; not tried, because DescribeCluster names other addresses than those that clients dial")
	case o.fenced:
		warn(WarnFenced, "fenced: it is registered, and Metadata hides it from clients")
	}
	if r.Identity == "unverified" && o.err == nil {
		warn(WarnIdentity, "it could not be verified that this is the broker: it offers no way to ask, or does not permit it")
	}
	if o.peer.NodeID >= 0 && isLoopback(o.peer.Host) && !c.seedsAreLocal() {
		warn(WarnLoopback, "%s is this host itself, for every client; advertised.listeners of the broker is to be set to a name that leads to it", o.peer.Host)
	}
	return all
}

// days is how long something lasts, or that it is over.
func days(d time.Duration) string {
	switch {
	case d <= 0:
		return "over"
	case d >= 24*time.Hour:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

// seedsAreLocal says whether the brokers were named by a seed on this host, where loopback addresses are what is wanted.
func (c *run) seedsAreLocal() bool {
	return c.plan != nil && (c.plan.from.trace.Reached().IsLoopback() || isLoopback(c.plan.from.peer.Host))
}

func isLoopback(host string) bool {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
