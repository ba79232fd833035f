package toolname

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Domain returns the domain of a service: the host of its issuer if the issuer is a URL, and otherwise the issuer itself.
func Domain(issuer string) string {
	if u, err := url.Parse(issuer); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return issuer
}

// Reverse returns the domain of an issuer with its labels in reverse order, such as example.shop. The names of MCP servers and of members
// of _meta begin with it. Reverse omits labels that are not allowed in such names, and returns "uim" if no label remains. MCP 2026-07-28,
// basic, _meta; MCP registry, server.json.
func Reverse(issuer string) string {
	labels := strings.FieldsFunc(Domain(issuer), func(r rune) bool {
		return r > unicode.MaxASCII || r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	labels = slices.DeleteFunc(labels, func(label string) bool {
		return strings.Trim(label, "-") != label || !unicode.IsLetter(rune(label[0]))
	})
	slices.Reverse(labels)
	if len(labels) == 0 {
		return "uim"
	}
	return strings.Join(labels, ".")
}

// Member returns the name of the member of _meta that holds the intent's UID in the tools of an issuer. See MCP 2026-07-28, basic, _meta.
func Member(issuer string) string { return Reverse(issuer) + "/intent" }
