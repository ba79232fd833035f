package schema

import (
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/regex"
)

// maxRegexText is the maximum length of a value of the format regex, in bytes. It is bounded because the cost of parsing is not
// proportional to the length.
const maxRegexText = 1000

// formats has the supported values of the keyword format: those of JSON Schema (validation 7.3) and of OpenAPI. All of them are asserted.
// They replace the formats of the library, which accept signs in times and addresses, leading hyphens in host names, and spaces in URIs.
var formats = map[string]func(any) bool{
	"date": text(isDate), "time": text(isTime), "date-time": text(isDateTime), "duration": matching(durationForm),
	"email": text(isEmail), "idn-email": text(isEmail), "hostname": text(isHostname),
	"ipv4":          text(func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }),
	"ipv6":          text(func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && !a.Is4() && a.Zone() == "" }),
	"uuid":          matching(uuidForm),
	"uri":           text(func(s string) bool { return isURI(s, true, true) }),
	"iri":           text(func(s string) bool { return isURI(s, true, false) }),
	"uri-reference": text(func(s string) bool { return isURI(s, false, true) }),
	"iri-reference": text(func(s string) bool { return isURI(s, false, false) }),
	"uri-template":  text(isURITemplate), "json-pointer": text(IsPointer),
	"relative-json-pointer": text(func(s string) bool {
		m := relativeForm().FindStringSubmatch(s)
		return m != nil && (m[1] == "#" || IsPointer(m[1]))
	}),
	"regex": text(func(s string) bool {
		if len(s) > maxRegexText {
			return false
		}
		_, err := syntax.Parse(s, syntax.Perl) // syntax.Compile adds no errors
		return err == nil
	}),
	"byte":     text(func(s string) bool { _, err := base64.StdEncoding.DecodeString(s); return err == nil }),
	"int32":    integerOf(32),
	"int64":    integerOf(64),
	"float":    accepted,
	"double":   accepted,
	"password": accepted,
	"binary":   accepted,
}

var (
	uuidForm     = regex.Lazy(`^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`)
	relativeForm = regex.Lazy(`^(?:0|[1-9][0-9]*)(#|(?:/.*)?)$`)
	timeForm     = regex.Lazy(`^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$`)
	// RFC 3339 appendix A.
	durationForm = regex.Lazy(`^P(?:[0-9]+W|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)(?:T` + durationTime +
		`)?|T` + durationTime + `)$`)
	templateForm = regex.Lazy(`^(?:[^{}\x00-\x20"'<>\\^` + "`" +
		`|]|\{[+#./;?&=,!@|]?[A-Za-z0-9_.%]+(?::[1-9][0-9]{0,3}|\*)?(?:,[A-Za-z0-9_.%]+(?::[1-9][0-9]{0,3}|\*)?)*\})*$`)
)

const durationTime = `(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)`

func accepted(any) bool { return true }

// matching returns a format that accepts the strings that form matches.
func matching(form func() *regexp.Regexp) func(any) bool {
	return text(func(s string) bool { return form().MatchString(s) })
}

// text returns a format that accepts the strings for which valid returns true, and all values of other types (validation 7.2.1).
func text(valid func(string) bool) func(any) bool {
	return func(v any) bool {
		s, ok := v.(string)
		return !ok || valid(s)
	}
}

// integerOf returns a format that accepts signed integers of this many bits, and all values that are not numbers.
func integerOf(bits uint) func(any) bool {
	least := new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), bits-1))
	most := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits-1), big.NewInt(1))
	return func(v any) bool {
		n, ok := v.(json.Number)
		if !ok {
			return true
		}
		r, ok := new(big.Rat).SetString(string(n))
		return ok && r.IsInt() && r.Num().Cmp(least) >= 0 && r.Num().Cmp(most) <= 0
	}
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

func isDateTime(s string) bool {
	return len(s) > 11 && (s[10] == 'T' || s[10] == 't') && isDate(s[:10]) && isTime(s[11:])
}

// isTime reports whether s is an RFC 3339 full-time. A leap second is valid only at 23:59:60 UTC.
func isTime(s string) bool {
	m := timeForm().FindStringSubmatch(s)
	if m == nil {
		return false
	}
	var n [7]int
	for _, i := range []int{1, 2, 3, 5, 6} {
		n[i], _ = strconv.Atoi(m[i])
	}
	hour, minute, second, zoneHour, zoneMinute := n[1], n[2], n[3], n[5], n[6]
	if hour > 23 || minute > 59 || second > 60 || zoneHour > 23 || zoneMinute > 59 {
		return false
	}
	if second < 60 {
		return true
	}
	zone := zoneHour*60 + zoneMinute
	if m[4] == "-" {
		zone = -zone
	}
	const day = 24 * 60
	return (hour*60+minute-zone+2*day)%day == day-1
}

func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || len(s) > 254 || at > 64 {
		return false
	}
	domain := s[at+1:]
	if inner, ok := strings.CutPrefix(domain, "["); ok {
		literal, closed := strings.CutSuffix(inner, "]")
		six, isSix := strings.CutPrefix(literal, "IPv6:")
		address, err := netip.ParseAddr(six)
		return closed && err == nil && isSix == !address.Is4() && address.Zone() == "" && isLocalPart(s[:at])
	}
	return isHostname(domain) && isLocalPart(s[:at])
}

// isLocalPart reports whether net/mail accepts local as the local part of an address without display name, comment or space.
func isLocalPart(local string) bool {
	address, err := mail.ParseAddress(local + "@example.com")
	return err == nil && address.Name == "" &&
		(address.Address == local+"@example.com" || strings.HasPrefix(local, `"`) && !strings.Contains(local, "<"))
}

// isHostname reports whether s is a host name according to RFC 1123 section 2.1.
func isHostname(s string) bool {
	if len(s) == 0 || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}

// isURI reports whether s is a URI (RFC 3986) or, if ascii is false, an IRI (RFC 3987). If absolute is false, s may be a relative
// reference.
func isURI(s string, absolute, ascii bool) bool {
	for _, c := range s {
		if c <= ' ' || c == 0x7f || strings.ContainsRune("\"<>\\^`{|}", c) || ascii && c > 0x7f {
			return false
		}
	}
	u, err := url.Parse(s)
	if err != nil || absolute && !u.IsAbs() {
		return false
	}
	if host := u.Hostname(); strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		return err == nil && !a.Is4()
	}
	return true
}

// isURITemplate reports whether s is a URI template (RFC 6570).
func isURITemplate(s string) bool { return templateForm().MatchString(s) }

// IsPointer reports whether s is a JSON pointer (RFC 6901), which may be empty.
func IsPointer(s string) bool {
	if s != "" && s[0] != '/' {
		return false
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return false
		}
	}
	return true
}
