package seeds

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Security is how the connections are protected, for comparison with the schemes of the seeds.
type Security struct {
	TLS  bool
	SASL bool
	Keys bool // said by keys of a file and not by flags, which is what mistakes are told in
}

// words returns what settings are, and how those of TLS, of the mechanism and of SASL are called.
func (s Security) words() (kind, tls, mechanism, sasl string) {
	if s.Keys {
		return "keys", "tls.enabled", "sasl.mechanism", "keys under sasl"
	}
	return "flags", "--tls", "--sasl.mechanism", "--sasl flags"
}

// scheme returns the one scheme that fits.
func (s Security) scheme() string {
	s.Keys = false
	for name, with := range schemes {
		if with == s {
			return name
		}
	}
	return ""
}

var schemes = map[string]Security{
	"PLAINTEXT":      {},
	"SSL":            {TLS: true},
	"SASL_PLAINTEXT": {SASL: true},
	"SASL_SSL":       {TLS: true, SASL: true},
}

// Parse reads entries in every form of Kafka's bootstrap.servers: host, host:port, [address]:port, a bare IPv6 address,
// zones, comma lists, and each of them behind a scheme, which must agree with secure. Duplicates are merged. Every entry
// that cannot be used is named in the one error, which has no line break; the list is empty then. Credentials are refused
// before anything else and without a word of the entries.
func Parse(entries []string, secure Security) (List, error) {
	if i := slices.IndexFunc(entries, hasCredentials); i >= 0 {
		_, _, _, sasl := secure.words()
		return List{}, fmt.Errorf("entry %d has credentials in it, for there is an @, so none is shown; give them with the %s", i+1, sasl)
	}
	var list List
	var bad []string
	known := map[Seed]bool{}
	for _, item := range split(entries) {
		seed, err := parseItem(item, secure)
		switch {
		case err != nil:
			bad = append(bad, fmt.Sprintf("%q %s", item, err))
		case !known[seed]:
			known[seed] = true
			list.seeds = append(list.seeds, seed)
		}
	}
	if len(bad) > 0 {
		return List{}, errors.New(strings.Join(bad, "; "))
	}
	if len(list.seeds) == 0 {
		return List{}, errors.New("no seed is given, name at least one broker as host:port")
	}
	return list, nil
}

// split takes comma lists apart. One comma at the end is a habit; an empty item elsewhere is kept, because it may be a
// variable that was not set.
func split(entries []string) []string {
	var items []string
	for _, entry := range entries {
		parts := strings.Split(entry, ",")
		if last := len(parts) - 1; last > 0 && strings.TrimSpace(parts[last]) == "" {
			parts = parts[:last]
		}
		for _, part := range parts {
			items = append(items, strings.TrimSpace(part))
		}
	}
	return items
}

// hasCredentials tells an entry that may hold a password, before it is cut at commas: a password may have commas in it, and
// every other character, so that none of the pieces can be told to be harmless.
func hasCredentials(entry string) bool { return strings.Contains(entry, "@") }

func parseItem(item string, secure Security) (Seed, error) {
	if item == "" {
		return Seed{}, errors.New("is an empty entry, remove it or name a host:port")
	}
	address, err := cutScheme(item, secure)
	if err != nil {
		return Seed{}, err
	}
	if i := strings.IndexAny(address, " \t\r\n;"); i >= 0 {
		return Seed{}, errors.New("has a space or a semicolon in it, separate seeds with commas")
	}
	host, port, err := splitPort(address)
	if err != nil {
		return Seed{}, err
	}
	if host, err = parseHost(host); err != nil {
		return Seed{}, err
	}
	return Seed{Host: host, Port: port}, nil
}

// cutScheme removes the scheme, if there is one, after comparing it with what is configured.
func cutScheme(item string, secure Security) (string, error) {
	name, address, found := strings.Cut(item, "://")
	if !found {
		return item, nil
	}
	with, known := schemes[strings.ToUpper(name)]
	if !known {
		names := make([]string, 0, len(schemes))
		for n := range schemes {
			names = append(names, n)
		}
		slices.Sort(names)
		return "", fmt.Errorf("has the unknown scheme %q, leave it out or use one of %s", name, strings.Join(names, ", "))
	}
	if with.TLS != secure.TLS || with.SASL != secure.SASL {
		kind, _, _, _ := secure.words()
		return "", fmt.Errorf("contradicts the %s, which stand for %s://: %s", kind, secure.scheme(), wayOut(with, secure))
	}
	return address, nil
}

func wayOut(scheme, flags Security) string {
	_, tls, mechanism, _ := flags.words()
	var advice []string
	if scheme.TLS != flags.TLS {
		advice = append(advice, addOrRemove(scheme.TLS)+" "+tls)
	}
	if scheme.SASL != flags.SASL {
		advice = append(advice, addOrRemove(scheme.SASL)+" "+mechanism)
	}
	return strings.Join(advice, " and ") + ", or change the scheme"
}

func addOrRemove(add bool) string {
	if add {
		return "add"
	}
	return "remove"
}

// splitPort separates the host, without brackets, from the port.
func splitPort(address string) (host string, port int, err error) {
	if rest, bracketed := strings.CutPrefix(address, "["); bracketed {
		host, rest, found := strings.Cut(rest, "]")
		if !found {
			return "", 0, errors.New("has a bracket that is not closed, write [address]:port")
		}
		if !strings.Contains(host, ":") {
			return "", 0, errors.New("has brackets around something that is no IPv6 address, remove them")
		}
		if rest == "" {
			return host, DefaultPort, nil
		}
		if digits, ok := strings.CutPrefix(rest, ":"); ok {
			port, err = parsePort(digits)
			return host, port, err
		}
		return "", 0, errors.New("has something other than :port after the bracket")
	}
	if strings.Count(address, ":") > 1 {
		return address, DefaultPort, checkBare(address)
	}
	host, digits, found := strings.Cut(address, ":")
	if !found {
		return host, DefaultPort, nil
	}
	port, err = parsePort(digits)
	return host, port, err
}

// checkBare refuses addresses such as ::1:9092, which are complete without a port and look as if they had one.
func checkBare(address string) error {
	i := strings.LastIndexByte(address, ':')
	_, err := netip.ParseAddr(address[:i])
	port, notPort := parsePort(address[i+1:])
	if err == nil && notPort == nil && port >= 1024 {
		return fmt.Errorf("may or may not end with a port, write [%s]:%d or [%s]", address[:i], port, address)
	}
	return nil
}

func parsePort(digits string) (int, error) {
	if digits == "" {
		return 0, fmt.Errorf("has no port after the colon, add it or remove the colon for %d", DefaultPort)
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("has the port %q, it must be a number from 1 to 65535", digits)
	}
	return int(port), nil
}
