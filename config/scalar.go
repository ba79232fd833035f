package config

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

var errScalar = errors.New("not of this type")

// scalars are the types of the configuration that are written as one YAML scalar.
var scalars = yamlconf.Scalars{
	reflect.TypeFor[limit.Rate](): {
		Want: "a rate such as 1000/hour", Pattern: `^ *[0-9]+ */ *[A-Za-z0-9]+ *$`,
		Parse: func(s string) (any, error) { return limit.ParseRate(s) }, Hint: rateHint,
	},
	reflect.TypeFor[money.Amount](): {
		Want: "an amount such as 10 USD, with at most 9 decimals", Pattern: `^[0-9.eE+-]+ +[A-Z]{3}$`,
		Parse: func(s string) (any, error) { return money.Parse(s) }, Hint: amountHint,
	},
	reflect.TypeFor[money.Percent](): {
		Want: "a percentage such as 19 or 8.875", Number: true, Pattern: `^[0-9]{1,3}([.][0-9]{1,3})?$`, Parse: parsePercent,
	},
	reflect.TypeFor[limit.Allowance](): {
		Want: "an amount and a period, such as 20 EUR/month or 5 EUR/day", Pattern: `^[0-9.eE+-]+ +[A-Z]{3} */ *(day|month)$`,
		Parse: func(s string) (any, error) { return limit.ParseAllowance(s) },
	},
	reflect.TypeFor[netip.Prefix](): {
		Want: "a network such as 10.0.0.0/8, or an address", Pattern: `^[0-9A-Fa-f.:]+(/[0-9]+)?$`,
		Parse: func(s string) (any, error) { return parsePrefix(s) },
	},
	reflect.TypeFor[*url.URL](): {
		Want: "an http:// or https:// URL without user, query and fragment", Hidden: true, Pattern: `^[Hh][Tt][Tt][Pp][Ss]?://[^?#@]+$`,
		Parse: func(s string) (any, error) { return ParseURL(s) },
	},
	reflect.TypeFor[Sign](): {
		Want: `statuses such as 200 or "200, 201", or a JSON pointer such as /done or /state=paid`, Number: true, Pattern: signPattern,
		Parse: func(s string) (any, error) {
			if !sign().MatchString(s) || len(s) > yamlconf.MaxText {
				return nil, errScalar
			}
			return Sign(s), nil
		},
	},
	reflect.TypeFor[Event](): {
		Want: "an event: " + joinEvents(", "), Pattern: "^(" + strings.ReplaceAll(joinEvents("|"), ".", `\.`) + ")$", Parse: parseEvent,
	},
	reflect.TypeFor[WitnessKey](): {
		Want: "a verifier key for cosignatures: name+id+key", Pattern: witnessKeyPattern,
		Parse: func(s string) (any, error) { return parseWitnessKey(s) },
	},
	reflect.TypeFor[Secret](): {
		Want: "text", Hidden: true, Secret: true,
		Parse: func(s string) (any, error) { return NewSecret(s), nil },
	},
	reflect.TypeFor[Store](): {
		Want: "sqlite or a postgres:// URL with a host", Hidden: true, Pattern: `^sqlite$|^postgres(ql)?://`,
		Parse: func(s string) (any, error) { return parseStore(s) },
	},
	reflect.TypeFor[time.Time](): {
		Want: "a time with its offset such as 2026-12-01T00:00Z", Pattern: `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$`,
		Parse: func(s string) (any, error) { return parseTime(s) },
	},
	reflect.TypeFor[File](): {
		Want: "the path of a file", Rule: yamlconf.TextRule,
		Parse: func(s string) (any, error) {
			path, err := yamlconf.ParseText(s)
			return File{Path: path}, err
		},
	},
}

// rateHint suggests a period for a rate without one, and the full name of an abbreviated period, as in 100/s. It returns "" if it has no
// suggestion.
func rateHint(text string) string {
	number, unit, found := strings.Cut(text, "/")
	number, unit = strings.TrimSpace(number), strings.ToLower(strings.TrimSpace(unit))
	if _, err := strconv.ParseUint(number, 10, 31); err != nil {
		return ""
	}
	if !found {
		return "add the period: " + number + "/hour"
	}
	for _, period := range []string{"second", "minute", "hour", "day", "week"} {
		if short := period[:1]; unit == short || unit == period[:min(3, len(period))] || unit == short+"r" || unit == short+"k" {
			return "write " + number + "/" + period
		}
	}
	return ""
}

// amountHint suggests adding a currency to a bare number. It returns "" for any other text.
func amountHint(text string) string {
	if _, err := money.Parse(text + " USD"); err == nil {
		return `add the currency: "` + text + ` USD"`
	}
	return ""
}

const signPattern = `^[2-5][0-9][0-9]( *, *[2-5][0-9][0-9])*$|^/[^\x00-\x1f\x7f]*$`

var sign = regex.Lazy(signPattern)

// parseTime parses a time with or without seconds. See RFC 3339, section 5.6.
func parseTime(s string) (time.Time, error) {
	at, err := time.Parse("2006-01-02T15:04Z07:00", s)
	if err != nil {
		at, err = time.Parse(time.RFC3339, s)
	}
	if err != nil || at.Year() < 2000 {
		return time.Time{}, errScalar
	}
	return at.UTC(), nil
}

// parsePrefix parses a CIDR prefix or a single address. It rejects bits beyond the mask, because they usually are a mistake.
func parsePrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Masked() != p || p.Addr().Is4In6() {
		return netip.Prefix{}, errScalar
	}
	return p, nil
}

// ParseURL parses an absolute http or https URL without user, query and fragment. It returns the URL with scheme and host in lowercase, and
// without slashes at the end.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || len(s) > yamlconf.MaxText || u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#") ||
		u.Opaque != "" {
		return nil, errScalar
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errScalar
	}
	host, err := parseHost(u.Hostname())
	if err != nil {
		return nil, errScalar
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errScalar
		}
		host = net.JoinHostPort(host, port)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	clean := &url.URL{Scheme: u.Scheme, Host: host, Path: u.Path, RawPath: u.RawPath}
	clean.Path, clean.RawPath = strings.TrimRight(clean.Path, "/"), strings.TrimRight(clean.RawPath, "/")
	if len(clean.String()) > yamlconf.MaxText { // escaping makes the URL longer
		return nil, errScalar
	}
	return clean, nil
}

// parseStore parses sqlite or a PostgreSQL connection URL.
func parseStore(s string) (Store, error) {
	if s == string(SQLite) {
		return Store{Engine: SQLite}, nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && u.Query().Get("host") == "" {
		return Store{}, errScalar
	}
	return Store{Engine: Postgres, URL: NewSecret(s)}, nil
}

var hostName = regex.Lazy(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$`)

// parseHost parses a host name (RFC 1123 2.1, underscores tolerated) or an IP address, with or without brackets. It returns a name in
// lowercase without a dot at the end, and an address in canonical form.
func parseHost(s string) (string, error) {
	address := strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	if a, err := netip.ParseAddr(address); err == nil && a.Zone() == "" {
		return a.Unmap().String(), nil
	}
	host := strings.TrimSuffix(strings.ToLower(s), ".")
	if len(host) > 253 || !hostName().MatchString(host) {
		return "", errScalar
	}
	return host, nil
}

// loopback reports whether host is localhost or a loopback address, so that only this machine can reach it.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback()
}
