package seeds

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Limits of the domain name system.
const (
	maxName  = 253
	maxLabel = 63
)

// parseHost returns the one spelling of a name or address by which duplicates are found.
func parseHost(host string) (string, error) {
	if host == "" {
		return "", errors.New("has no host, write host:port")
	}
	if strings.Contains(host, ":") || endsNumeric(host) {
		return parseAddr(host)
	}
	name := strings.ToLower(host)
	if err := checkName(name); err != nil {
		return "", err
	}
	return name, nil
}

// endsNumeric tells what is meant to be an IPv4 address: no top-level domain is a number.
func endsNumeric(host string) bool {
	label := host[strings.LastIndexByte(host, '.')+1:]
	return label != "" && strings.Trim(label, "0123456789") == ""
}

func parseAddr(host string) (string, error) {
	addr, err := netip.ParseAddr(host)
	switch {
	case err != nil && strings.Contains(host, ":"):
		return "", errors.New("is neither host:port nor an IPv6 address; the latter with a port is written [address]:port")
	case err != nil:
		return "", errors.New("is no IPv4 address, and a host name does not end with a number")
	case addr.IsUnspecified():
		return "", errors.New("is an address to listen on, name one that clients connect to")
	case addr.IsMulticast():
		return "", errors.New("is a multicast address, name one that clients connect to")
	case strings.Trim(addr.Zone(), letters+"-._~") != "":
		return "", fmt.Errorf("has the zone %q, which is no name or number of an interface", addr.Zone())
	}
	return addr.String(), nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func checkName(name string) error {
	relative := strings.TrimSuffix(name, ".")
	if len(relative) > maxName {
		return fmt.Errorf("is longer than the %d characters that a host name may have", maxName)
	}
	for label := range strings.SplitSeq(relative, ".") {
		if label == "" {
			return errors.New("has an empty part between two dots, or nothing but a dot")
		}
		if len(label) > maxLabel {
			return fmt.Errorf("has a part that is longer than the %d characters it may have", maxLabel)
		}
		if strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return errors.New("has a part that starts or ends with a hyphen")
		}
	}
	for _, r := range relative {
		if r >= 0x80 {
			return errors.New("has a letter outside of ASCII, write the name in its xn-- form")
		}
		if !strings.ContainsRune(letters+"-._", r) {
			return fmt.Errorf("has %q in the host, where only letters, digits, dots, hyphens and underscores may stand", r)
		}
	}
	return nil
}
