package wire

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Certificate is what one certificate of a chain says, shortened so that it can be kept.
type Certificate struct {
	Subject   string
	Issuer    string
	Names     []string // the first mostNames of the names and addresses that it is for
	NotBefore time.Time
	NotAfter  time.Time
}

const (
	mostNames = 10 // of one certificate
	mostCerts = 10 // of one chain
)

// chainOf returns what the certificates of a chain say.
func chainOf(certs []*x509.Certificate) []Certificate {
	all := make([]Certificate, 0, min(len(certs), mostCerts))
	for _, c := range certs[:min(len(certs), mostCerts)] {
		names, _ := namesOf(c)
		all = append(all, Certificate{nameOf(c.Subject), nameOf(c.Issuer), names, c.NotBefore, c.NotAfter})
	}
	return all
}

// namesOf returns the first names that the certificate is for, and how many more there are.
func namesOf(c *x509.Certificate) (names []string, more int) {
	for _, name := range c.DNSNames {
		names = append(names, validText(name))
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	more = max(len(names)-mostNames, 0)
	return slices.Clip(names[:len(names)-more]), more
}

// nameOf is "CN=kafka-2,O=Example"; a certificate may have no name at all.
func nameOf(n pkix.Name) string {
	if text := validText(n.String()); text != "" {
		return text
	}
	return "(no name)"
}

// retold is an error in better words: the cause stays what it is.
type retold struct {
	text string
	error
}

// Error returns the better words.
func (r *retold) Error() string { return r.text }

// Unwrap returns the cause.
func (r *retold) Unwrap() error { return r.error }

// retellCertificate says of a certificate that was not accepted what a person needs to know to do something about it.
func retellCertificate(err error, chain []*x509.Certificate) error {
	var invalid x509.CertificateInvalidError
	var untrusted x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return &retold{outsideItsTime(invalid.Cert, time.Now()), err}
	case errors.As(err, &untrusted) && len(chain) > 0:
		return &retold{whyUntrusted(chain) + hintOf(untrusted), err}
	case errors.As(err, &name) && name.Certificate != nil:
		return &retold{otherNames(name), err}
	}
	return err
}

func outsideItsTime(c *x509.Certificate, now time.Time) string {
	what := "the certificate of " + nameOf(c.Subject) + ", issued by " + nameOf(c.Issuer) + ","
	if now.Before(c.NotBefore) {
		return fmt.Sprintf("%s begins only at %s, in %s", what, moment(c.NotBefore), roughly(c.NotBefore.Sub(now)))
	}
	return fmt.Sprintf("%s ended at %s, %s ago", what, moment(c.NotAfter), roughly(now.Sub(c.NotAfter)))
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// roughly is "3 d 4 h", "2 h 5 min" or "12 s".
func roughly(d time.Duration) string {
	days, hours := d/(24*time.Hour), d%(24*time.Hour)/time.Hour
	minutes, seconds := d%time.Hour/time.Minute, d%time.Minute/time.Second
	switch {
	case days > 0:
		return fmt.Sprintf("%d d %d h", days, hours)
	case hours > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%d min %d s", minutes, seconds)
	}
	return fmt.Sprintf("%d s", seconds)
}

// whyUntrusted follows the chain from the leaf as far as the peer has sent it.
func whyUntrusted(chain []*x509.Certificate) string {
	last := chain[0]
	for range chain {
		next := slices.IndexFunc(chain, func(c *x509.Certificate) bool {
			return c != last && string(c.RawSubject) == string(last.RawIssuer) && !selfIssued(last)
		})
		if next < 0 {
			break
		}
		last = chain[next]
	}
	subject, issuer := nameOf(last.Subject), nameOf(last.Issuer)
	switch {
	case selfIssued(last) && last == chain[0]:
		return fmt.Sprintf("the certificate of %s has signed itself and is not among those that are trusted", subject)
	case selfIssued(last):
		return fmt.Sprintf("the chain ends at the authority %s, which is not among those that are trusted", subject)
	}
	return fmt.Sprintf("the chain ends at %s, whose issuer %s is neither in the chain nor among the authorities that are trusted: "+
		"an intermediate is missing in what the peer sends, or this authority in what we trust", subject, issuer)
}

func selfIssued(c *x509.Certificate) bool { return string(c.RawSubject) == string(c.RawIssuer) }

// hintOf is what crypto/x509 has found out about an authority of the same name that has another key.
func hintOf(err x509.UnknownAuthorityError) string {
	if _, hint, ok := strings.Cut(err.Error(), " (possibly because of "); ok {
		return " (possibly because of " + validText(hint)
	}
	return ""
}

func otherNames(err x509.HostnameError) string {
	names, more := namesOf(err.Certificate)
	list := strings.Join(names, ", ")
	switch {
	case len(names) == 0:
		list = "no name at all (a common name alone does not count)"
	case more > 0:
		list = fmt.Sprintf("%s and %d more", list, more)
	}
	return fmt.Sprintf("the certificate of %s is for %s, and not for %s", nameOf(err.Certificate.Subject), list, err.Host)
}
