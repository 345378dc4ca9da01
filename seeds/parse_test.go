package seeds

import (
	"slices"
	"strings"
	"testing"
)

func names(l List) []string {
	var all []string
	for s := range l.All() {
		all = append(all, s.String())
	}
	return all
}

func TestParse(t *testing.T) {
	tests := []struct {
		name    string
		entries []string
		secure  Security
		want    []string
	}{
		{name: "host", entries: []string{"kafka"}, want: []string{"kafka:9092"}},
		{name: "host and port", entries: []string{"kafka:9093"}, want: []string{"kafka:9093"}},
		{name: "underscore and digits", entries: []string{"kafka_1.b-2.test:1"}, want: []string{"kafka_1.b-2.test:1"}},
		{name: "absolute name", entries: []string{"kafka.test.:65535"}, want: []string{"kafka.test.:65535"}},
		{name: "ipv4", entries: []string{"10.0.0.1:9093"}, want: []string{"10.0.0.1:9093"}},
		{name: "ipv4 without port", entries: []string{"10.0.0.1"}, want: []string{"10.0.0.1:9092"}},
		{name: "ipv6", entries: []string{"[::1]:9093"}, want: []string{"[::1]:9093"}},
		{name: "ipv6 in brackets without port", entries: []string{"[::1]"}, want: []string{"[::1]:9092"}},
		{name: "bare ipv6", entries: []string{"::1"}, want: []string{"[::1]:9092"}},
		{name: "bare ipv6 in full", entries: []string{"2001:db8:0:0:0:0:1:9092"}, want: []string{"[2001:db8::1:9092]:9092"}},
		{name: "bare ipv6 that ends with digits", entries: []string{"2001:db8::5"}, want: []string{"[2001:db8::5]:9092"}},
		{name: "bare ipv6 with zone", entries: []string{"fe80::1%eth0"}, want: []string{"[fe80::1%eth0]:9092"}},
		{name: "ipv6 with zone", entries: []string{"[fe80::1%eth0.7]:9093"}, want: []string{"[fe80::1%eth0.7]:9093"}},
		{name: "ipv4 in ipv6", entries: []string{"::ffff:10.0.0.1"}, want: []string{"[::ffff:10.0.0.1]:9092"}},
		{name: "comma list", entries: []string{" a , b:1,\n\tc:2 , "}, want: []string{"a:9092", "b:1", "c:2"}},
		{name: "trailing comma", entries: []string{"a,b,"}, want: []string{"a:9092", "b:9092"}},
		{name: "several entries", entries: []string{"c", "b,a"}, want: []string{"c:9092", "b:9092", "a:9092"}},
		{name: "duplicates", entries: []string{"A:9092,a", "a:9092", "[::1]:9092,0:0:0:0:0:0:0:1", "a:1"},
			want: []string{"a:9092", "[::1]:9092", "a:1"}},
		{name: "zones are different", entries: []string{"fe80::1%eth0,fe80::1%ETH0"},
			want: []string{"[fe80::1%eth0]:9092", "[fe80::1%ETH0]:9092"}},
		{name: "plaintext", entries: []string{"PLAINTEXT://a:1"}, want: []string{"a:1"}},
		{name: "ssl", entries: []string{"SSL://a:1"}, secure: Security{TLS: true}, want: []string{"a:1"}},
		{name: "sasl plaintext", entries: []string{"SASL_PLAINTEXT://[::1]"}, secure: Security{SASL: true}, want: []string{"[::1]:9092"}},
		{name: "sasl ssl", entries: []string{"sasl_ssl://a,b"}, secure: Security{TLS: true, SASL: true}, want: []string{"a:9092", "b:9092"}},
		{name: "no scheme agrees with all", entries: []string{"a"}, secure: Security{TLS: true, SASL: true}, want: []string{"a:9092"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := Parse(tt.entries, tt.secure)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(list); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if list.Len() != len(tt.want) || list.At(0).String() != tt.want[0] {
				t.Errorf("Len %d and At(0) %v do not fit %q", list.Len(), list.At(0), tt.want)
			}
		})
	}
}

// parseErrors are entries that are refused, and what the error must say.
var parseErrors = []struct {
	name   string
	entry  string
	secure Security
	want   string
}{
	{"empty", "", Security{}, `"" is an empty entry`},
	{"blank", "  ", Security{}, `"" is an empty entry`},
	{"variable not set", "a,,b", Security{}, `"" is an empty entry`},
	{"nothing but a comma", ",", Security{}, `"" is an empty entry`},
	{"no host", ":9092", Security{}, `":9092" has no host`},
	{"no host after scheme", "PLAINTEXT://", Security{}, `"PLAINTEXT://" has no host`},
	{"empty port", "a:", Security{}, `"a:" has no port after the colon`},
	{"port zero", "a:0", Security{}, `"a:0" has the port "0"`},
	{"port too large", "a:65536", Security{}, `number from 1 to 65535`},
	{"negative port", "a:-1", Security{}, `has the port "-1"`},
	{"service name", "a:kafka", Security{}, `has the port "kafka"`},
	{"path", "a:9092/x", Security{}, `has the port "9092/x"`},
	{"path without port", "a/x", Security{}, `has '/' in the host`},
	{"two ports", "a:1:2", Security{}, `neither host:port nor an IPv6 address`},
	{"ambiguous", "::1:9092", Security{}, `write [::1]:9092 or [::1:9092]`},
	{"open bracket", "[::1:9092", Security{}, `bracket that is not closed`},
	{"bracketed name", "[a]:1", Security{}, `no IPv6 address, remove them`},
	{"after bracket", "[::1]9092", Security{}, `after the bracket`},
	{"bad zone", "fe80::1%a/b", Security{}, `has the zone "a/b"`},
	{"short ipv4", "10.0.1:9092", Security{}, `is no IPv4 address`},
	{"only a port", "9092", Security{}, `is no IPv4 address`},
	{"any address", "0.0.0.0:9092", Security{}, `an address to listen on`},
	{"any ipv6 address", "[::]:9092", Security{}, `an address to listen on`},
	{"multicast", "224.0.0.1", Security{}, `multicast`},
	{"semicolon", "a;b", Security{}, `separate seeds with commas`},
	{"space", "a b", Security{}, `separate seeds with commas`},
	{"only a dot", ".", Security{}, `empty part`},
	{"two dots", "a..b", Security{}, `empty part`},
	{"hyphen", "-a:1", Security{}, `hyphen`},
	{"idn", "bücher.test", Security{}, `xn-- form`},
	{"control", "a\x00b", Security{}, `"a\x00b" has '\x00' in the host`},
	{"long label", strings.Repeat("a", 64), Security{}, `longer than the 63`},
	{"long name", strings.Repeat("a.", 127) + "bc", Security{}, `longer than the 253`},
	{"http", "http://a:1", Security{}, `unknown scheme "http", leave it out or use one of PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL`},
	{"ssl without tls", "SSL://a", Security{}, `"SSL://a" contradicts the flags, which stand for PLAINTEXT://: add --tls, or change the scheme`},
	{"plaintext with tls", "PLAINTEXT://a", Security{TLS: true}, `stand for SSL://: remove --tls,`},
	{"ssl with sasl", "SSL://a", Security{SASL: true}, `stand for SASL_PLAINTEXT://: add --tls and remove --sasl.mechanism,`},
	{"sasl missing", "SASL_SSL://a", Security{TLS: true}, `stand for SSL://: add --sasl.mechanism,`},
}

func TestParseErrors(t *testing.T) {
	for _, tt := range parseErrors {
		t.Run(tt.name, func(t *testing.T) {
			list, err := Parse([]string{tt.entry}, tt.secure)
			if err == nil {
				t.Fatalf("%q was read as %q", tt.entry, names(list))
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q does not say %q", err, tt.want)
			}
			if list.Len() != 0 || strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("a list of %d and the error %q", list.Len(), err)
			}
		})
	}
}

func TestParseNamesAllBadEntries(t *testing.T) {
	_, err := Parse([]string{"a:0,good:1", "b:x"}, Security{})
	if err == nil || !strings.Contains(err.Error(), `"a:0"`) || !strings.Contains(err.Error(), `"b:x"`) {
		t.Errorf("not every bad entry is named in %v", err)
	}
	if strings.Contains(err.Error(), "good") {
		t.Errorf("a good entry is named in %v", err)
	}
}

func TestParseNothing(t *testing.T) {
	if _, err := Parse(nil, Security{}); err == nil {
		t.Error("no seeds are no error")
	}
}

// TestParseHidesPasswords, also those with a comma, at which a list is cut, or with an @, and what stands beside them.
func TestParseHidesPasswords(t *testing.T) {
	for _, entries := range [][]string{
		{"SASL_SSL://user:marker@a:9092"}, {"marker@a"}, {"@marker"}, {"user:p@marker"},
		{"SASL_SSL://user:marker,rest@a:9092"}, {"SASL_SSL://user:p,marker,@a:9092"}, {"a:9092,SASL_SSL://user:marker,rest@b:9092,c"},
		{"SASL_SSL://user:p@marker,rest@a:9092"}, {"SASL_SSL://user:p", "marker:x,rest@a:9092"}, {"SASL_SSL://user:p@a", "b:marker"},
	} {
		list, err := Parse(entries, Security{TLS: true, SASL: true})
		if err == nil || list.Len() != 0 || strings.Contains(err.Error(), "marker") || !strings.Contains(err.Error(), "--sasl") {
			t.Errorf("%q: got %v, %v", entries, names(list), err)
		}
	}
	_, err := Parse([]string{"a", "b,c@d"}, Security{})
	if err == nil || !strings.HasPrefix(err.Error(), "entry 2 has credentials") {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a", "a:1,b", "[::1]:9092", "fe80::1%eth0", "::1:9092", "SASL_SSL://a:1", "10.0.0.1", "::ffff:1.2.3.4%z", "a,,", "x@y",
		"SASL_SSL://user:hunter2,rest@a:9092", "a:1,u:p@b,c"} {
		f.Add(s, true, false)
	}
	f.Fuzz(func(t *testing.T, entry string, tls, sasl bool) {
		list, err := Parse([]string{entry}, Security{TLS: tls, SASL: sasl})
		if (err == nil) != (list.Len() > 0) {
			t.Fatalf("%q: %d seeds and the error %v", entry, list.Len(), err)
		}
		if err != nil && (err.Error() == "" || strings.ContainsAny(err.Error(), "\r\n")) {
			t.Errorf("%q: the error %q is not one line", entry, err)
		}
		// What stands before an @ may be a password with any letter in it, also a comma. So no such entry shows in the words.
		if _, other := Parse([]string{"@"}, Security{}); strings.Contains(entry, "@") && (err == nil || err.Error() != other.Error()) {
			t.Errorf("%q: what may be a password is in %v", entry, err)
		}
		for s := range list.All() {
			again, err := Parse([]string{s.String()}, Security{})
			if err != nil || again.Len() != 1 || again.At(0) != s {
				t.Fatalf("%q: %q is read as %v, %v", entry, s, names(again), err)
			}
		}
	})
}
