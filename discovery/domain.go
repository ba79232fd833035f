package discovery

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// ErrDomain means that a string is not a domain name that can be looked up.
var ErrDomain = errors.New("not a valid domain name")

// maxDomain is the maximum length of a domain. It leaves room for the label _uim in a name of 253 characters. See RFC 1035, section 3.1.
const maxDomain = 253 - len(draftLabel)

// ParseDomain normalizes a domain name: lowercase, other scripts in their xn-- form (UTS 46, as in browsers), without the final dot. It
// rejects IP addresses, and names that must not be looked up in DNS (localhost, RFC 6761; onion, RFC 7686). The error wraps ErrDomain.
func ParseDomain(s string) (string, error) {
	const most = 1024 // in any script
	if len(s) > most {
		return "", fmt.Errorf("%w: the name is too long", ErrDomain)
	}
	domain, err := idna.Lookup.ToASCII(strings.TrimSuffix(s, "."))
	if err != nil || domain == "" {
		return "", fmt.Errorf("%w: %q: want letters, digits and hyphens, separated by dots", ErrDomain, s)
	}
	domain = strings.ToLower(domain)
	if again, err := idna.Lookup.ToASCII(domain); err != nil || again != domain {
		return "", fmt.Errorf("%w: %q: its xn-- form is not canonical", ErrDomain, s)
	}
	if len(domain) > maxDomain {
		return "", fmt.Errorf("%w: the name has %d characters; the maximum is %d", ErrDomain, len(domain), maxDomain)
	}
	for part := range strings.SplitSeq(domain, ".") {
		if part == "" || len(part) > 63 {
			return "", fmt.Errorf("%w: %q: each part must have 1 to 63 characters", ErrDomain, s)
		}
	}
	last := domain[strings.LastIndexByte(domain, '.')+1:]
	if _, err := netip.ParseAddr(domain); err == nil || strings.Trim(last, "0123456789") == "" {
		return "", fmt.Errorf("%w: %q is an IP address", ErrDomain, s)
	}
	if last == "localhost" || last == "onion" {
		return "", fmt.Errorf("%w: names under %s are not in DNS", ErrDomain, last)
	}
	return domain, nil
}

// SpeaksFor reports whether a document found at domain may use name: name must be the domain itself or a name below it. A domain below name
// does not speak for name, because such a domain may belong to a customer.
func SpeaksFor(domain, name string) bool {
	return domain != "" && name != "" && (domain == name || strings.HasSuffix(name, "."+domain))
}

// BelongsTo reports whether domain is below name, and name is not a public suffix such as co.uk or github.io. Domains below a public
// suffix have different owners.
func BelongsTo(domain, name string) bool {
	if name == "" || !strings.HasSuffix(domain, "."+name) {
		return false
	}
	suffix, _ := publicsuffix.PublicSuffix(name)
	return suffix != name
}
