package agent

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A RateLimit is how the limit with the least left stands.
type RateLimit struct {
	Limit     int64         `json:"limit,omitempty"` // calls in one period; 0: the service did not say
	Remaining int64         `json:"remaining"`       // calls that will still be admitted, at least
	Reset     time.Duration `json:"-"`               // until more are; 0: the service did not say
}

const maxHeaderText = 8 << 10

// parseRateLimit reads the RateLimit and RateLimit-Policy fields (draft-ietf-httpapi-ratelimit-headers),
// the three separate fields of its early drafts, or those that begin with X-. It is nil where there are none.
func parseRateLimit(h http.Header) *RateLimit {
	if r := structuredLimit(strings.Join(h.Values("Ratelimit"), ","), strings.Join(h.Values("Ratelimit-Policy"), ",")); r != nil {
		return r
	}
	for _, prefix := range []string{"Ratelimit-", "X-Ratelimit-"} {
		left, ok := count(h.Get(prefix + "Remaining"))
		if !ok {
			continue
		}
		r := &RateLimit{Remaining: left}
		r.Limit, _ = count(h.Get(prefix + "Limit"))
		if reset, ok := count(h.Get(prefix + "Reset")); ok {
			r.Reset = resetAfter(reset, h.Get("Date"))
		}
		return r
	}
	return nil
}

// resetAfter reads a reset that is seconds from now or, where it is too large for that, seconds since 1970.
func resetAfter(n int64, date string) time.Duration {
	const epoch = 1_000_000_000
	if n >= epoch {
		at, err := http.ParseTime(date)
		if err != nil {
			return 0
		}
		n = max(0, n-at.Unix())
	}
	return min(time.Duration(min(n, epoch))*time.Second, maxRetryAfter)
}

// count reads a whole number that may be followed by parameters: 100, 100;w=60.
func count(s string) (int64, bool) {
	s, _, _ = strings.Cut(s, ";")
	s, _, _ = strings.Cut(s, ",")
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	return n, err == nil && n >= 0
}

func structuredLimit(field, policy string) *RateLimit {
	items, err := parseItems(field)
	if err != nil {
		return nil
	}
	var r *RateLimit
	name := ""
	for _, item := range items {
		left, ok := item.parameters["r"]
		if !ok || left < 0 || r != nil && left >= r.Remaining {
			continue
		}
		reset := max(0, item.parameters["t"])
		r, name = &RateLimit{Remaining: left, Reset: min(time.Duration(min(reset, int64(maxRetryAfter/time.Second)))*time.Second, maxRetryAfter)}, item.name
	}
	if r == nil {
		return nil
	}
	if policies, err := parseItems(policy); err == nil {
		for _, p := range policies {
			if p.name == name {
				r.Limit = max(0, p.parameters["q"])
			}
		}
	}
	return r
}

// An item of a structured field list, with the parameters that are integers. RFC 9651 3.1.
type item struct {
	name       string
	parameters map[string]int64
}

var errField = errors.New("not a list of items")

const maxItems = 64

// parseItems reads a list of strings or tokens with parameters. RFC 9651 4.2.1. Inner lists and other
// types of items are none that these fields have; parameters of other types are read over.
func parseItems(s string) ([]item, error) {
	if len(s) > maxHeaderText {
		return nil, errField
	}
	f := &field{s: s}
	f.space()
	var out []item
	for !f.end() {
		if len(out) == maxItems {
			return nil, errField
		}
		name, _, ok := f.bare()
		if !ok {
			return nil, errField
		}
		one := item{name: name, parameters: map[string]int64{}}
		for f.take(';') {
			f.space()
			key := f.while(func(c byte) bool {
				return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("_-.*", c) >= 0
			})
			if key == "" {
				return nil, errField
			}
			delete(one.parameters, key)
			if !f.take('=') {
				continue
			}
			text, number, ok := f.bare()
			if !ok {
				return nil, errField
			}
			if n, err := strconv.ParseInt(text, 10, 64); number && err == nil {
				one.parameters[key] = n
			}
		}
		out = append(out, one)
		f.space()
		if f.end() {
			break
		}
		if !f.take(',') {
			return nil, errField
		}
		f.space()
		if f.end() {
			return nil, errField
		}
	}
	return out, nil
}

// A field is what is left to read.
type field struct{ s string }

func (f *field) end() bool { return f.s == "" }

func (f *field) space() { f.s = strings.TrimLeft(f.s, " \t") }

func (f *field) take(c byte) bool {
	if f.s == "" || f.s[0] != c {
		return false
	}
	f.s = f.s[1:]
	return true
}

func (f *field) while(ok func(byte) bool) string {
	i := 0
	for i < len(f.s) && ok(f.s[i]) {
		i++
	}
	text := f.s[:i]
	f.s = f.s[i:]
	return text
}

// bare reads a string, or anything unquoted: token, number, boolean, byte sequence or date.
func (f *field) bare() (text string, number, ok bool) {
	if f.take('"') {
		text, ok = f.quoted()
		return text, false, ok
	}
	text = f.while(func(c byte) bool { return c > ' ' && c < 0x7f && strings.IndexByte(`;,="()\`, c) < 0 })
	if text == "" {
		return "", false, false
	}
	if text[0] == ':' { // a byte sequence may end in =
		text += f.while(func(c byte) bool { return c == '=' || c == ':' })
	}
	return text, text[0] == '-' || text[0] >= '0' && text[0] <= '9', true
}

func (f *field) quoted() (string, bool) {
	var b strings.Builder
	for i := 0; i < len(f.s); i++ {
		switch c := f.s[i]; {
		case c == '"':
			f.s = f.s[i+1:]
			return b.String(), true
		case c == '\\':
			i++
			if i == len(f.s) || f.s[i] != '"' && f.s[i] != '\\' {
				return "", false
			}
			b.WriteByte(f.s[i])
		case c < ' ' || c > '~':
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}
