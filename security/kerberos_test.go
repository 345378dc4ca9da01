package security

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
)

func keytabFile(t *testing.T, principal, domain string) string {
	t.Helper()
	keys := keytab.New()
	if err := keys.AddEntry(principal, domain, marker, time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
		t.Fatal(err)
	}
	raw, err := keys.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return temp(t, "keytab", raw)
}

func krb5Conf(t *testing.T, kdc string) string {
	t.Helper()
	return temp(t, "krb5.conf", fmt.Appendf(nil, `includedir /nowhere
[libdefaults]
 default_realm = TEST
 udp_preference_limit = 1
 dns_lookup_kdc = false
[realms]
 TEST = {
  kdc = %s
 }
`, kdc))
}

func TestKerberosCheck(t *testing.T) {
	conf, keys := krb5Conf(t, "127.0.0.1:1"), keytabFile(t, "exporter/host.test", "TEST")
	tests := []struct {
		name    string
		options KerberosOptions
		want    string
	}{
		{"default realm", KerberosOptions{Principal: "exporter/host.test", KeytabFile: keys, ConfigFile: conf}, ""},
		{"realm in principal", KerberosOptions{Principal: "exporter/host.test@TEST", KeytabFile: keys, ConfigFile: conf}, ""},
		{"realm given", KerberosOptions{Principal: "exporter/host.test", Realm: "TEST", KeytabFile: keys, ConfigFile: conf}, ""},
		{"other realm", KerberosOptions{Principal: "exporter/host.test@OTHER", KeytabFile: keys, ConfigFile: conf}, "has no key of exporter/host.test@OTHER"},
		{"other principal", KerberosOptions{Principal: "x", KeytabFile: keys, ConfigFile: conf}, "has no key of x@TEST"},
		{"no keytab", KerberosOptions{Principal: "x", KeytabFile: "/nowhere", ConfigFile: conf}, "/nowhere: no such file"},
		{"damaged keytab", KerberosOptions{Principal: "x", KeytabFile: temp(t, "x", []byte("\x05\x02\x00\x00\x00\xff1")), ConfigFile: conf}, "is"},
		{"no configuration", KerberosOptions{Principal: "x", KeytabFile: keys, ConfigFile: "/nowhere"}, "/nowhere: no such file"},
		{"damaged configuration", KerberosOptions{Principal: "x", KeytabFile: keys, ConfigFile: temp(t, "x", []byte("[realms]\n}\n"))}, "/x: "},
		{"no realm", KerberosOptions{Principal: "x", KeytabFile: keys, ConfigFile: temp(t, "x", []byte("[libdefaults]\n"))}, "names a realm"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.ServiceName = "kafka"
			err := mustSASL(t, SASLOptions{Mechanism: "gssapi", Kerberos: tt.options}).Check()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestKerberosDeadline asks a KDC that accepts connections and says nothing.
func TestKerberosDeadline(t *testing.T) {
	kdc, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer kdc.Close()
	s := mustSASL(t, SASLOptions{Mechanism: "gssapi", Kerberos: KerberosOptions{ServiceName: "kafka", Principal: "exporter",
		KeytabFile: keytabFile(t, "exporter", "TEST"), ConfigFile: krb5Conf(t, kdc.Addr().String())}})
	if s.CredentialVersion() == "" {
		t.Error("the keytab is not watched")
	}
	for range maxLogins + 1 {
		m, err := s.Mechanism(t.Context(), "a.test")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, _, err = m.Authenticate(ctx, "a.test:9092")
		cancel()
		wantUnavailable(t, err)
	}
}

func TestKerberosRefused(t *testing.T) {
	s := mustSASL(t, SASLOptions{Mechanism: "gssapi", Kerberos: KerberosOptions{ServiceName: "kafka", Principal: "exporter",
		KeytabFile: keytabFile(t, "exporter", "TEST"), ConfigFile: krb5Conf(t, "127.0.0.1:1")}})
	_, err := first(t, s, "a.test:9092")
	wantUnavailable(t, err)
}

type panicking struct{}

func (panicking) Name() string { return "GSSAPI" }
func (panicking) Authenticate(context.Context, string) (sasl.Session, []byte, error) {
	panic("malformed")
}
func (panicking) Challenge([]byte) (bool, []byte, error) { panic("malformed") }

func TestPanicsBecomeErrors(t *testing.T) {
	m := ticket{Mechanism: panicking{}, slots: make(chan struct{}, 1), destroy: func() {}}
	if _, _, err := m.Authenticate(t.Context(), "a.test:9092"); err == nil || !strings.Contains(err.Error(), "malformed") {
		t.Errorf("got %v", err)
	}
	if _, _, err := (guarded{panicking{}}).Challenge(nil); err == nil || !strings.Contains(err.Error(), "malformed") {
		t.Errorf("got %v", err)
	}
}
