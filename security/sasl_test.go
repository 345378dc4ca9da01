package security

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/wire"
)

const marker = "s3cr3t-marker"

func mustSASL(t *testing.T, options SASLOptions) *SASL {
	t.Helper()
	s, err := NewSASL(options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// first returns the first message of an authentication.
func first(t *testing.T, s *SASL, host string) (string, error) {
	t.Helper()
	m, err := s.Mechanism(t.Context(), "a.test")
	if err != nil {
		return "", err
	}
	if m.Name() != s.Name() {
		t.Errorf("the mechanism is %s, want %s", m.Name(), s.Name())
	}
	_, message, err := m.Authenticate(t.Context(), host)
	return string(message), err
}

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	var typed *wire.Error
	if !errors.As(err, &typed) || typed.Phase != wire.PhaseSASL || typed.Reason != wire.ReasonTokenUnavailable {
		t.Fatalf("got %v, want a *wire.Error", err)
	}
	if strings.Contains(err.Error(), marker) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the secret or a line break is in %q", err)
	}
}

func TestParseMechanism(t *testing.T) {
	tests := map[string][]string{
		Plain:       {"PLAIN", "plain", "Plain"},
		ScramSHA256: {"SCRAM-SHA-256", "scram-sha-256", "SCRAM_SHA_256", "scramsha256", "sha256", "SHA-256", "scram-256"},
		ScramSHA512: {"SCRAM-SHA-512", "scram_sha512", "sha512"},
		OAuthBearer: {"OAUTHBEARER", "oauthbearer", "OAuth-Bearer", "oauth"},
		GSSAPI:      {"gssapi", "kerberos"},
		AWSMSKIAM:   {"AWS_MSK_IAM", "aws-msk-iam", "msk-iam"},
	}
	for want, names := range tests {
		for _, name := range names {
			if got, err := ParseMechanism(name); got != want || err != nil {
				t.Errorf("%q is %q, %v", name, got, err)
			}
		}
	}
	for _, name := range []string{"", "SCRAM", "SCRAM-SHA-1", "DIGEST-MD5", "PLAIN,SCRAM-SHA-256"} {
		_, err := ParseMechanism(name)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q, use one of %s", name, strings.Join(Mechanisms(), ", "))) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestPasswordIsReadForEachConnection(t *testing.T) {
	file := temp(t, "password", []byte("one\n"))
	s := mustSASL(t, SASLOptions{Mechanism: "plain", Username: "u", Password: SecretFile(file)})
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	before := s.CredentialVersion()
	if got, err := first(t, s, "a.test:9092"); got != "\x00u\x00one" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if s.CredentialVersion() != before {
		t.Error("the version changed without reason")
	}
	write(t, file, []byte("other\r\n"))
	if got, err := first(t, s, "a.test:9092"); got != "\x00u\x00other" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if s.CredentialVersion() == before {
		t.Error("the version did not change")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, err := first(t, s, "a.test:9092")
	wantUnavailable(t, err)
}

func TestCredentialVersionOfSameSizeAndTime(t *testing.T) {
	file := temp(t, "password", []byte("one"))
	stamp := time.Now()
	touch := func(path string) {
		if err := os.Chtimes(path, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	touch(file)
	s := mustSASL(t, SASLOptions{Mechanism: "plain", Username: "u", Password: SecretFile(file)})
	before := s.CredentialVersion()
	other := write(t, file+".new", []byte("two"))
	touch(other)
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	if s.CredentialVersion() == before {
		t.Error("a replaced file is not seen")
	}
}

func TestScram(t *testing.T) {
	for _, name := range []string{ScramSHA256, ScramSHA512} {
		s := mustSASL(t, SASLOptions{Mechanism: name, Username: "a,b", Password: SecretValue("p")})
		if got, err := first(t, s, "a.test:9092"); !strings.HasPrefix(got, "n,,n=a=2Cb,r=") || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if s.CredentialVersion() != "" {
			t.Errorf("a fixed value has the version %q", s.CredentialVersion())
		}
	}
}

func TestBadPasswords(t *testing.T) {
	tests := []struct {
		name   string
		secret Secret
		want   string
	}{
		{"missing", SecretFile("/nowhere/password"), "/nowhere/password: no such file"},
		{"empty", SecretFile(temp(t, "x")), "is empty"},
		{"only a line break", SecretFile(temp(t, "x", []byte("\n"))), "is empty"},
		{"two lines", SecretFile(temp(t, "x", []byte(marker+"\n"+marker))), "more than one line"},
		{"zero byte", SecretFile(temp(t, "x", []byte(marker+"\x00"))), "zero byte"},
		{"folder", SecretFile(t.TempDir()), "not a regular file"},
		{"line break in the environment", SecretValue(marker + "\n" + marker), "environment has more than one line"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustSASL(t, SASLOptions{Mechanism: "plain", Username: "u", Password: tt.secret})
			err := s.Check()
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), marker) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			_, err = first(t, s, "a.test:9092")
			wantUnavailable(t, err)
		})
	}
}

func TestNewSASLRefuses(t *testing.T) {
	url := "https://idp.test/token"
	secret := SecretValue(marker)
	full := KerberosOptions{ServiceName: "kafka", Principal: "p@R", KeytabFile: "k", ConfigFile: "c"}
	without := func(change func(*KerberosOptions)) SASLOptions {
		o := full
		change(&o)
		return SASLOptions{Mechanism: GSSAPI, Kerberos: o}
	}
	tests := map[string]struct {
		options SASLOptions
		want    string
	}{
		"mechanism":      {SASLOptions{Mechanism: "x"}, "unknown SASL mechanism"},
		"user":           {SASLOptions{Mechanism: "plain", Password: secret}, "user name is needed"},
		"password":       {SASLOptions{Mechanism: "sha256", Username: "u"}, "password is needed"},
		"no token":       {SASLOptions{Mechanism: "oauth"}, "either a token file or a token URL"},
		"two tokens":     {SASLOptions{Mechanism: "oauth", OAuth: OAuthOptions{Token: secret, TokenURL: url}}, "not both"},
		"client":         {SASLOptions{Mechanism: "oauth", OAuth: OAuthOptions{TokenURL: url, ClientSecret: secret}}, "needs a client id"},
		"client secret":  {SASLOptions{Mechanism: "oauth", OAuth: OAuthOptions{TokenURL: url, ClientID: "c"}}, "client secret"},
		"scope":          {SASLOptions{Mechanism: "oauth", OAuth: OAuthOptions{Token: secret, Scopes: []string{"x"}}}, "belong to a token URL"},
		"ftp":            {SASLOptions{Mechanism: "oauth", OAuth: OAuthOptions{TokenURL: "ftp://x"}}, "https://host/path"},
		"url password":   {SASLOptions{Mechanism: "oauth", OAuth: OAuthOptions{TokenURL: "https://u:" + marker + "@x"}}, "no credentials"},
		"extension":      {SASLOptions{Mechanism: "oauth", OAuth: OAuthOptions{Token: secret, Extensions: map[string]string{"a b": "c"}}}, `"a b"`},
		"auth extension": {SASLOptions{Mechanism: "oauth", OAuth: OAuthOptions{Token: secret, Extensions: map[string]string{"auth": "c"}}}, `"auth"`},
		"value":          {SASLOptions{Mechanism: "oauth", OAuth: OAuthOptions{Token: secret, Extensions: map[string]string{"a": "\x01"}}}, "extension a"},
		"principal":      {without(func(o *KerberosOptions) { o.Principal = "" }), "principal is needed"},
		"keytab":         {without(func(o *KerberosOptions) { o.KeytabFile = "" }), "keytab file is needed"},
		"krb5.conf":      {without(func(o *KerberosOptions) { o.ConfigFile = "" }), "krb5.conf file is needed"},
		"service":        {without(func(o *KerberosOptions) { o.ServiceName = "" }), "service name"},
		"realm":          {without(func(o *KerberosOptions) { o.Realm = "S" }), "realm R and the realm is given as S"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := NewSASL(tt.options)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), marker) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestCaseC37SecretsArePrintedWithout: a secret has no way into a message.
// Done: options and credentials are printed with every verb of fmt
// Shows: never the secret
func TestCaseC37SecretsArePrintedWithout(t *testing.T) {
	options := SASLOptions{Mechanism: "oauth", Password: SecretValue(marker), OAuth: OAuthOptions{Token: SecretValue(marker)}}
	s := mustSASL(t, options)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, v := range []any{options, &options, options.Password, s, *s} {
			if got := fmt.Sprintf(format, v); strings.Contains(got, marker) {
				t.Errorf("%s of %T tells the secret", format, v)
			}
		}
	}
	if got := SecretFile("/x").String() + SecretValue("x").String() + (Secret{}).String(); got != "file /x(hidden)(not set)" {
		t.Errorf("got %q", got)
	}
}

func TestAWS(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
	t.Setenv("AWS_CONFIG_FILE", "/nowhere")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDTEST")
	t.Setenv("AWS_SECRET_ACCESS_KEY", marker)
	t.Setenv("AWS_SESSION_TOKEN", "session")
	s := mustSASL(t, SASLOptions{Mechanism: "aws_msk_iam"})
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	got, err := first(t, s, "b-1.x.kafka.eu-west-1.amazonaws.com:9098")
	if err != nil || !strings.Contains(got, "AKIDTEST/") || !strings.Contains(got, "eu-west-1") || strings.Contains(got, marker) {
		t.Errorf("got %q, %v", got, err)
	}
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	_, err = first(t, s, "a.test:9098")
	wantUnavailable(t, err)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	_, err = first(t, s, "b-1.x.kafka.eu-west-1.amazonaws.com:9098")
	wantUnavailable(t, err)
}
