package security

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"
)

// KerberosOptions is who we are to the Kerberos realm, and who the brokers are.
type KerberosOptions struct {
	ServiceName string // of the brokers, whose principals are ServiceName/host
	Principal   string // ours, with or without @REALM
	Realm       string // empty: that of the principal, else the default one of the configuration
	KeytabFile  string
	ConfigFile  string // krb5.conf
}

// maxLogins is how many connections may talk to the KDC at the same time.
const maxLogins = 4

// realm is a source of tickets. Every connection logs in for itself and forgets the ticket: a kept one would be refused
// for hours after the keys of a broker have changed.
type realm struct {
	options KerberosOptions
	slots   chan struct{}
}

func newKerberos(options KerberosOptions) (source, error) {
	switch {
	case options.Principal == "":
		return nil, errors.New("a principal is needed")
	case options.KeytabFile == "":
		return nil, errors.New("a keytab file is needed")
	case options.ConfigFile == "":
		return nil, errors.New("a krb5.conf file is needed")
	case options.ServiceName == "":
		return nil, errors.New("the service name of the brokers is needed")
	}
	name, own, found := cutLast(options.Principal, "@")
	if found {
		if options.Realm != "" && options.Realm != own {
			return nil, fmt.Errorf("the principal is of the realm %s and the realm is given as %s", own, options.Realm)
		}
		options.Principal, options.Realm = name, own
	}
	return &realm{options: options, slots: make(chan struct{}, maxLogins)}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (r *realm) files() []string { return []string{r.options.KeytabFile} }

func (r *realm) check() error {
	c, err := r.client()
	if err != nil {
		return err
	}
	_, err = c.IsConfigured()
	return err
}

func (r *realm) mechanism(context.Context) (sasl.Mechanism, error) {
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	auth := kerberos.Auth{Client: c, Service: r.options.ServiceName, PersistAfterAuth: true}
	inner := kerberos.Kerberos(func(context.Context) (kerberos.Auth, error) { return auth, nil })
	return ticket{Mechanism: inner, slots: r.slots, destroy: c.Destroy}, nil
}

// client reads the files. It talks to nobody and starts nothing.
func (r *realm) client() (c *client.Client, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, fmt.Errorf("%s is damaged: %v", r.options.KeytabFile, p)
		}
	}()
	conf, err := readKrb5Conf(r.options.ConfigFile)
	if err != nil {
		return nil, err
	}
	raw, err := readFile(r.options.KeytabFile)
	if err != nil {
		return nil, err
	}
	keys := keytab.New()
	if err := keys.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("%s is no keytab: %s", r.options.KeytabFile, oneLineOf(err.Error()))
	}
	domain := r.options.Realm
	if domain == "" {
		domain = conf.LibDefaults.DefaultRealm
	}
	if domain == "" {
		return nil, fmt.Errorf("neither the principal nor %s names a realm", r.options.ConfigFile)
	}
	if !hasPrincipal(keys, r.options.Principal, domain) {
		return nil, fmt.Errorf("%s has no key of %s@%s", r.options.KeytabFile, r.options.Principal, domain)
	}
	return client.NewWithKeytab(r.options.Principal, domain, keys, conf, client.DisablePAFXFAST(true)), nil
}

func readKrb5Conf(path string) (*config.Config, error) {
	raw, err := readFile(path)
	if err != nil {
		return nil, err
	}
	conf, err := config.NewFromString(string(raw))
	var unsupported config.UnsupportedDirective
	if err != nil && !errors.As(err, &unsupported) {
		return nil, fmt.Errorf("%s: %s", path, oneLineOf(err.Error()))
	}
	return conf, nil
}

func hasPrincipal(keys *keytab.Keytab, name, domain string) bool {
	for _, e := range keys.Entries {
		if e.Principal.Realm == domain && slices.Equal(e.Principal.Components, strings.Split(name, "/")) {
			return true
		}
	}
	return false
}
