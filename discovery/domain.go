package discovery

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// ErrDomain means that a text is not a domain name that can be looked up.
var ErrDomain = errors.New("this is not a domain name")

// maxDomain leaves room for the label _uim within the 253 characters of a name. RFC 1035 3.1.
const maxDomain = 253 - len(draftLabel)

// ParseDomain normalizes a domain name: lowercase, other scripts in their xn-- form (UTS 46, as in browsers), without the final dot. It
// rejects addresses, and names that must not be looked up in DNS (localhost, RFC 6761; onion, RFC 7686). The error wraps ErrDomain.
func ParseDomain(s string) (string, error) {
	const most = 1024 // in any script
	if len(s) > most {
		return "", fmt.Errorf("%w: it is too long", ErrDomain)
	}
	domain, err := idna.Lookup.ToASCII(strings.TrimSuffix(s, "."))
	if err != nil || domain == "" {
		return "", fmt.Errorf("%w: %q: want letters, digits and - between dots", ErrDomain, s)
	}
	domain = strings.ToLower(domain)
	if again, err := idna.Lookup.ToASCII(domain); err != nil || again != domain {
		return "", fmt.Errorf("%w: %q: its xn-- form means something else", ErrDomain, s)
	}
	if len(domain) > maxDomain {
		return "", fmt.Errorf("%w: it has %d characters, at most %d can be looked up", ErrDomain, len(domain), maxDomain)
	}
	for part := range strings.SplitSeq(domain, ".") {
		if part == "" || len(part) > 63 {
			return "", fmt.Errorf("%w: %q: each part has 1 to 63 characters", ErrDomain, s)
		}
	}
	last := domain[strings.LastIndexByte(domain, '.')+1:]
	if _, err := netip.ParseAddr(domain); err == nil || strings.Trim(last, "0123456789") == "" {
		return "", fmt.Errorf("%w: %q is an address", ErrDomain, s)
	}
	if last == "localhost" || last == "onion" {
		return "", fmt.Errorf("%w: names under %s are not in DNS", ErrDomain, last)
	}
	return domain, nil
}

// SpeaksFor reports whether a document of a domain may use a name: the domain itself, or a name below it. A domain below the name does
// not speak for it, because it may belong to a customer.
func SpeaksFor(domain, name string) bool {
	return domain != "" && name != "" && (domain == name || strings.HasSuffix(name, "."+domain))
}

// BelongsTo reports whether a domain is below a name that can speak for it. Domains do not belong to a public suffix, such as co.uk or
// github.io.
func BelongsTo(domain, name string) bool {
	if name == "" || !strings.HasSuffix(domain, "."+name) {
		return false
	}
	suffix, _ := publicsuffix.PublicSuffix(name)
	return suffix != name
}
