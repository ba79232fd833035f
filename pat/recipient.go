package pat

import (
	"net/url"
	"slices"
	"strings"
)

// A Recipient is whom a fresh agreement is made for, so that nobody else who got it can use it.
type Recipient struct {
	Issuer string   // aud
	URLs   []string // htu: one of these absolute URLs, of which errors name the first; none: any, for evidence of the past
	Target string   // of an envelope, which has no htu: an address; empty: any, for evidence of the past
}

// at reports whether an agreement was sent to one of the URLs: query and fragment do not count. RFC 9449 4.3.
func (r Recipient) at(sent string) bool {
	target, ok := targetOf(sent)
	return len(r.URLs) == 0 || ok && slices.ContainsFunc(r.URLs, func(one string) bool {
		own, ok := targetOf(one)
		return ok && own == target
	})
}

const maxURL = 2048

// targetOf brings a URL without query and fragment into the form in which equal ones are spelt alike. RFC 3986 6.2.2 and
// 6.2.3: scheme and host are in lower case, a default port is left out, an empty path is "/", and each path has one
// escaping.
func targetOf(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.User != nil || u.Host == "" || u.Opaque != "" {
		return "", false
	}
	port := u.Port()
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme != "http" && scheme != "https":
		return "", false
	case scheme == "http" && port == "80", scheme == "https" && port == "443":
		port = ""
	}
	if port != "" {
		port = ":" + port
	}
	path := u.EscapedPath()
	if u.RawPath == "" && path == "" {
		path = "/"
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Hostname()) + port + path, true
}
