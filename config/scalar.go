package config

import (
	"encoding/base64"
	"errors"
	"math"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// A leaf is a type written as one YAML scalar.
type leaf struct {
	want   string // completes "want …"; shown to people
	rule   string // what want leaves out, where that is all a text can break
	hidden bool   // the text may hold a secret and is never shown
	number bool   // an unquoted number is fine
	parse  func(text string) (any, error)

	pattern string // of the text, for the schema
}

var errLeaf = errors.New("not of this type")

var leaves = map[reflect.Type]leaf{
	reflect.TypeFor[string](): {want: "text", rule: textRule, parse: parseText},
	reflect.TypeFor[bool](): {want: "true or false", number: true, parse: func(s string) (any, error) {
		if s != "true" && s != "false" {
			return nil, errLeaf
		}
		return s == "true", nil
	}},
	reflect.TypeFor[int](): {want: "a whole number", number: true, pattern: `^[0-9]+$`, parse: func(s string) (any, error) {
		n, err := strconv.ParseInt(s, 10, 32)
		return int(n), err
	}},
	reflect.TypeFor[int64](): {want: "a size such as 1MiB", number: true, pattern: `^[0-9][0-9.]* ?([kKmMgG][iI]?)?[bB]?$`, parse: func(s string) (any, error) {
		return parseSize(s)
	}},
	reflect.TypeFor[time.Duration](): {want: "a duration such as 30s, 1h30m or 400d", number: true, pattern: `^([0-9.]+(ns|us|µs|ms|s|m|h|d))+$|^0$`, parse: func(s string) (any, error) {
		return parseDuration(s)
	}},
	reflect.TypeFor[limit.Rate](): {want: "a rate such as 1000/hour", pattern: `^ *[0-9]+ */ *[A-Za-z0-9]+ *$`, parse: func(s string) (any, error) {
		return limit.ParseRate(s)
	}},
	reflect.TypeFor[money.Amount](): {want: "an amount such as 10 USD, with at most 9 decimals", pattern: `^[0-9.eE+-]+ +[A-Z]{3}$`, parse: func(s string) (any, error) {
		return money.Parse(s)
	}},
	reflect.TypeFor[netip.Prefix](): {want: "a network such as 10.0.0.0/8, or an address", pattern: `^[0-9A-Fa-f.:]+(/[0-9]+)?$`, parse: func(s string) (any, error) {
		return parsePrefix(s)
	}},
	reflect.TypeFor[*url.URL](): {want: "an http:// or https:// URL without user, query and fragment", hidden: true, pattern: `^[Hh][Tt][Tt][Pp][Ss]?://[^?#@]+$`, parse: func(s string) (any, error) {
		return parseURL(s)
	}},
	reflect.TypeFor[Secret](): {want: "text", hidden: true, parse: func(s string) (any, error) { return NewSecret(s), nil }},
	reflect.TypeFor[Store]():  {want: "sqlite or a postgres:// URL with a host", hidden: true, pattern: `^sqlite$|^postgres(ql)?://`, parse: func(s string) (any, error) { return parseStore(s) }},
	reflect.TypeFor[File](): {want: "the path of a file", rule: textRule, parse: func(s string) (any, error) {
		_, err := parseText(s)
		return File{Path: s}, err
	}},
}

// leafOf is how a type is read from a scalar, if it is: enums and other named strings are texts.
func leafOf(t reflect.Type) (leaf, bool) {
	if l, ok := leaves[t]; ok {
		return l, true
	}
	if t.Kind() == reflect.String {
		return leaves[reflect.TypeFor[string]()], true
	}
	return leaf{}, false
}

// maxText bounds a plain text in bytes.
const (
	maxText  = 4096
	textRule = " of at most 4096 bytes without control characters"
)

func parseText(s string) (any, error) {
	if len(s) > maxText || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", errLeaf
	}
	return s, nil
}

// parseSize reads a number of bytes: 1048576, 1MiB, 1.5 GiB, 10kB.
func parseSize(s string) (int64, error) {
	if s == "" || s[0] < '0' || s[0] > '9' || strings.Contains(s, ",") {
		return 0, errLeaf
	}
	n, err := humanize.ParseBytes(s)
	if err != nil || n > math.MaxInt64 {
		return 0, errLeaf
	}
	return int64(n), nil
}

const day = 24 * time.Hour

var days = regexp.MustCompile(`^([0-9]{1,6})d`)

// parseDuration reads what time.ParseDuration reads, with whole days in front: 400d, 1d12h. Negative
// durations are refused.
func parseDuration(s string) (time.Duration, error) {
	var whole time.Duration
	rest := s
	if m := days.FindStringSubmatch(s); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n > math.MaxInt64/int64(day) {
			return 0, errLeaf
		}
		whole, rest = time.Duration(n)*day, s[len(m[0]):]
		if rest == "" {
			return whole, nil
		}
	}
	if rest == "" || rest[0] == '+' || rest[0] == '-' {
		return 0, errLeaf
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > math.MaxInt64-whole {
		return 0, errLeaf
	}
	return whole + d, nil
}

// parsePrefix reads a CIDR or one address. Bits beyond the mask are refused: they are mostly a mistake.
func parsePrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Masked() != p || p.Addr().Is4In6() {
		return netip.Prefix{}, errLeaf
	}
	return p, nil
}

// parseURL reads an absolute http or https URL; scheme and host come back in lower case, without a
// slash at the end.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxText || u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#") || u.Opaque != "" {
		return nil, errLeaf
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errLeaf
	}
	host, err := parseHost(u.Hostname())
	if err != nil {
		return nil, errLeaf
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errLeaf
		}
		host = net.JoinHostPort(host, port)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	clean := &url.URL{Scheme: u.Scheme, Host: host, Path: u.Path, RawPath: u.RawPath}
	clean.Path, clean.RawPath = strings.TrimRight(clean.Path, "/"), strings.TrimRight(clean.RawPath, "/")
	if len(clean.String()) > maxText { // escaping makes it longer
		return nil, errLeaf
	}
	return clean, nil
}

// parseStore reads sqlite or a PostgreSQL connection URL.
func parseStore(s string) (Store, error) {
	if s == string(SQLite) {
		return Store{Engine: SQLite}, nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && u.Query().Get("host") == "" {
		return Store{}, errLeaf
	}
	return Store{Engine: Postgres, URL: NewSecret(s)}, nil
}

var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$`)

// parseHost reads a host name (RFC 1123 2.1, underscores tolerated) or an IP address, in brackets or
// not. It comes back in lower case, without a dot at the end, an address in canonical form.
func parseHost(s string) (string, error) {
	bare := strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	if a, err := netip.ParseAddr(bare); err == nil && a.Zone() == "" {
		return a.Unmap().String(), nil
	}
	host := strings.TrimSuffix(strings.ToLower(s), ".")
	if len(host) > 253 || !hostName.MatchString(host) {
		return "", errLeaf
	}
	return host, nil
}

// loopback reports whether host can only be reached from this machine.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback()
}

// thumbprint reports whether s can be the RFC 7638 thumbprint of a key: base64url of 32 bytes.
func thumbprint(s string) bool {
	sum, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(sum) == 32 && len(s) == 43
}
