package config

import (
	"errors"
	"strings"

	"kafka_connection_exporter/security"
	"kafka_connection_exporter/seeds"
)

// finish looks at what only whole clusters, and all of them together, can be wrong in.
func (l *loader) finish() {
	if len(l.drafts) == 0 && l.problems.count == 0 {
		l.problems.add(position{file: l.files[0], line: 1, column: 1}, "there is no cluster in all files together, add one under clusters:, with a name and seeds")
	}
	l.names()
	l.idle()
	for i := range l.drafts {
		d := &l.drafts[i]
		l.seeds(d)
		for _, m := range d.together() {
			l.problems.add(d.where(m.Setting, backoffBase), "%s", m.Say(KeyName))
		}
		l.contradictions(d)
	}
}

// where returns the place of the first of some settings that was said by the cluster itself, or that of the cluster.
func (d *draft) where(settings ...*Setting) position {
	for _, s := range settings {
		if o, ok := d.origin[s]; ok && o.own {
			return o.at
		}
	}
	return d.at
}

// blamed says whether something is wrong already with a setting of d.
func (l *loader) blamed(d *draft, s *Setting) bool {
	o, said := d.origin[s]
	return said && l.problems.at(o.at)
}

func (l *loader) names() {
	first := make(map[string]position)
	for i := range l.drafts {
		d := &l.drafts[i]
		o, given := d.origin[nameSetting]
		at, twice := first[d.Name]
		switch {
		case !given:
			l.problems.add(d.at, "a cluster has no name, add name: it is the label kafka_cluster of its metrics")
		case l.blamed(d, nameSetting):
		case d.Name == "":
			l.problems.add(o.at, "name is empty, it must be the label kafka_cluster of the cluster's metrics")
		case twice:
			l.problems.add(o.at, "the name %s is there twice, the first time at %s: every cluster has another one", quoted(d.Name), at)
		default:
			first[d.Name] = o.at
		}
	}
}

// idle forgets what defaults say and what has no effect in one cluster, and refuses what has none in all that it is for.
func (l *loader) idle() {
	type use struct {
		all, idle int
		say       func(Naming) string
		at        position
	}
	type place struct {
		setting *Setting
		at      position
	}
	uses := make(map[place]*use)
	for i := range l.drafts {
		d := &l.drafts[i]
		for _, s := range table {
			o, said := d.origin[s]
			if !said {
				continue
			}
			key := place{s, o.at}
			u := uses[key]
			if u == nil {
				u = &use{at: o.at}
				uses[key] = u
			}
			u.all++
			if say := d.idleness(s); say != nil && !l.blamed(d, tlsEnabled) && !l.blamed(d, saslMechanism) && !s.isDefault(&d.Cluster) {
				u.idle++
				u.say = say
				s.reset(&d.Cluster)
			}
		}
	}
	for _, u := range uses {
		if u.idle == u.all {
			l.problems.add(u.at, "%s", u.say(KeyName))
		}
	}
}

func (l *loader) seeds(d *draft) {
	o, given := d.origin[seedSetting]
	switch {
	case !given:
		l.problems.add(d.at, "a cluster has no seeds, add seeds: with one broker or more as host:port")
		return
	case l.blamed(d, seedSetting):
		return
	}
	if len(d.Seeds) == 0 && len(o.items) == 0 {
		l.problems.add(o.at, "seeds is empty, name at least one broker as host:port")
	}
	secure := d.Secured()
	secure.Keys = true
	for i, seed := range d.Seeds {
		if _, err := seeds.Parse([]string{seed}, secure); err != nil {
			l.problems.add(o.items[i], "seeds: %s", err)
		}
	}
}

// contradictions are what the security package has against a cluster, in the words of the file.
func (l *loader) contradictions(d *draft) {
	t, s := &d.TLS, &d.SASL
	if t.Enabled && (t.CertFile == "") != (t.KeyFile == "") {
		l.problems.add(d.where(settingOf("tls.cert-file"), settingOf("tls.key-file")), "tls.cert_file and tls.key_file belong together, and only one of them is given: add the other one")
	}
	mechanism, err := security.ParseMechanism(s.Mechanism)
	if err != nil {
		return
	}
	var missing []string
	for _, needed := range missingSettings(s, mechanism) {
		if l.blamed(d, needed) {
			return
		}
		missing = append(missing, needed.Key())
	}
	if len(missing) > 0 {
		l.problems.add(d.where(saslMechanism), "SASL %s needs %s, add what is missing", mechanism, strings.Join(missing, " and "))
		return
	}
	if _, err := security.NewSASL(d.SASLOptions()); err != nil {
		l.problems.add(d.where(saslMechanism), "%s", oneLine(err))
	}
}

// missingSettings returns what a mechanism cannot do without.
func missingSettings(s *SASL, mechanism string) (all []*Setting) {
	need := func(value, flag string) {
		if value == "" {
			all = append(all, settingOf(flag))
		}
	}
	switch mechanism {
	case security.Plain, security.ScramSHA256, security.ScramSHA512:
		need(s.Username, "sasl.username")
		need(s.PasswordFile, "sasl.password-file")
	case security.OAuthBearer:
		if s.OAuth.TokenURL == "" {
			need(s.OAuth.TokenFile, "sasl.oauth.token-file")
			break
		}
		need(s.OAuth.ClientID, "sasl.oauth.client-id")
		need(s.OAuth.ClientSecretFile, "sasl.oauth.client-secret-file")
	case security.GSSAPI:
		need(s.Kerberos.Principal, "sasl.kerberos.principal")
		need(s.Kerberos.KeytabFile, "sasl.kerberos.keytab-file")
	}
	return all
}

// settingOf returns the setting of a flag.
func settingOf(flag string) *Setting {
	for _, s := range table {
		if s.Flag == flag {
			return s
		}
	}
	panic("no setting has the flag --" + flag)
}

// CheckFiles reads every file that is named, and returns what is wrong with any of them.
func (c *Cluster) CheckFiles() error {
	var all []error
	if c.TLS.Enabled {
		material, err := security.NewTLS(c.TLSOptions())
		if err == nil {
			err = material.Check()
		}
		all = append(all, err)
	}
	if c.SASL.Mechanism != "" {
		credentials, err := security.NewSASL(c.SASLOptions())
		if err == nil {
			err = credentials.Check()
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}
