package model

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/regex"
)

const (
	// Scale is the number of units in 1: fixed-point numbers in the normal form count billionths.
	Scale = 1_000_000_000
	// Day is the length of a day in UTC.
	Day = 24 * time.Hour
)

// ParseNumber parses a decimal and returns it in billionths. It returns false if the string is not a decimal, has more than nine decimal
// places, or does not fit in an int64.
func ParseNumber(s string) (int64, bool) {
	const most = 60
	if len(s) > most || strings.ContainsAny(s, "_/xXpPbBoO") || strings.Contains(strings.ToLower(s), "inf") {
		return 0, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > 30 || e < -30 {
			return 0, false
		}
	}
	x, ok := new(big.Rat).SetString(strings.TrimSpace(s))
	if !ok {
		return 0, false
	}
	x.Mul(x, new(big.Rat).SetInt64(Scale))
	if !x.IsInt() || !x.Num().IsInt64() {
		return 0, false
	}
	return x.Num().Int64(), true
}

// ParseCount parses a whole number, such as a number of uses.
func ParseCount(s string) (int64, bool) {
	n, ok := ParseNumber(s)
	return n / Scale, ok && n%Scale == 0
}

// Nanos returns the instant in nanoseconds since the Unix epoch. It returns math.MinInt64 for years before 1678, and math.MaxInt64 for
// years after 2261.
func Nanos(t time.Time) int64 {
	switch y := t.UTC().Year(); {
	case y < 1678:
		return math.MinInt64
	case y > 2261:
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}

// An Interval is a span of time from From to To, which is excluded, in nanoseconds since the Unix epoch. A dateTime is an instant: From
// and To are equal. Zoneless is set for a dateTime without a time zone.
type Interval struct {
	From, To int64
	Zoneless bool
}

// Beyond reports whether a time is too far away to be represented, and therefore cannot be distinguished from other such times.
func (i Interval) Beyond() bool { return i.From == math.MinInt64 || i.To == math.MaxInt64 }

var (
	farForm      = regex.Lazy(`^(-?)([1-9][0-9]{4,}|[0-9]{4})(-[0-9]{2}-[0-9]{2}(?:T.*|Z|[+-][0-9]{2}:[0-9]{2})?)$`)
	midnightForm = regex.Lazy(`T24:00:00(\.0+)?`)
)

// ParseInstant parses an xsd:dateTime as an instant, and an xsd:date as a whole day. It assumes UTC if the text has no time zone. Years
// may have more than four digits; see Nanos for those before 1678 and after 2261. Leap seconds are not supported.
func ParseInstant(s string) (Interval, bool) {
	const most = 64
	if len(s) > most || strings.Contains(s, ",") { // time.Parse accepts a comma for a fraction; xsd does not
		return Interval{}, false
	}
	if m := farForm().FindStringSubmatch(s); m != nil && (m[1] != "" || len(m[2]) > 4) {
		at, ok := ParseInstant("2000" + m[3])
		at.From, at.To = math.MaxInt64, math.MaxInt64
		if m[1] != "" {
			at.From, at.To = math.MinInt64, math.MinInt64
		}
		return at, ok
	}
	later := time.Duration(0)
	if midnightForm().MatchString(s) {
		s, later = midnightForm().ReplaceAllString(s, "T00:00:00"), Day
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil && fits(s) {
		t = t.Add(later)
		return Interval{Nanos(t), Nanos(t), false}, true
	}
	if t, err := time.Parse("2006-01-02T15:04:05.999999999", s); err == nil {
		t = t.Add(later)
		return Interval{Nanos(t), Nanos(t), true}, true
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return Interval{Nanos(t), Nanos(t.AddDate(0, 0, 1)), false}, true
		}
	}
	return Interval{}, false
}

// fits reports whether the time zone of a dateTime is at most 14 hours from UTC, the limit of XML Schema.
func fits(s string) bool {
	zone := s[max(len(s)-6, 0):]
	return zone[0] != '+' && zone[0] != '-' || zone <= zone[:1]+"14:00"
}

var clockForm = regex.Lazy(`^([01][0-9]|2[0-4]):([0-5][0-9])(?::([0-5][0-9])(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?$`)

// ParseClock parses a time of day and returns it in nanoseconds after midnight UTC; 24:00 is the end of the day. zoneless is set if the
// text has no time zone.
func ParseClock(s string) (at int64, zoneless, ok bool) {
	m := clockForm().FindStringSubmatch(s)
	if m == nil {
		return 0, false, false
	}
	part := func(t string) int64 { n, _ := strconv.ParseInt("0"+t, 10, 64); return n }
	at = (part(m[1])*60+part(m[2]))*60 + part(m[3])
	if at > 24*3600 {
		return 0, false, false
	}
	at *= int64(time.Second)
	if m[4] != "" {
		fraction := (m[4][1:] + "000000000")[:9]
		at += part(fraction)
	}
	if at > int64(Day) {
		return 0, false, false
	}
	if zone := m[5]; len(zone) > 1 {
		offset := (part(zone[1:3])*60 + part(zone[4:6])) * int64(time.Minute)
		if offset > 14*int64(time.Hour) || part(zone[4:6]) > 59 {
			return 0, false, false
		}
		if zone[0] == '+' {
			offset = -offset
		}
		whole := at == int64(Day)
		at = ((at+offset)%int64(Day) + int64(Day)) % int64(Day)
		if whole && at == 0 {
			at = int64(Day)
		}
	}
	return at, m[5] == "", true
}

var versionForm = regex.Lazy(`^v?([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?$`)

// ParseVersion parses v2, v2.1 or 1.2.3; missing parts are 0.
func ParseVersion(s string) ([3]int64, bool) {
	var v [3]int64
	m := versionForm().FindStringSubmatch(s)
	if m == nil {
		return v, false
	}
	for i := range v {
		v[i], _ = strconv.ParseInt("0"+m[i+1], 10, 64)
	}
	return v, true
}

// IsCode reports whether s is a code of the operand. A code itself shows which other codes contain it.
func (o *Operand) IsCode(s string) bool { _, ok := o.code(s); return ok }

// Spelling returns a code in the form for people, such as DE for an IRI of Germany. It returns other strings unchanged, including network
// addresses and domain names.
func (o *Operand) Spelling(s string) string {
	if code, ok := o.code(s); ok && !o.Networked() {
		return code
	}
	return s
}

// A TextForm is the way in which a string is written. Strings of different forms may mean the same thing, such as the code and an unknown
// IRI of a country. A fact is therefore compared only with values of the same form, and the result is unknown for values of other forms.
type TextForm string

// The forms of strings.
const (
	codes     TextForm = "code"
	addresses TextForm = "address"
	hosts     TextForm = "host"
	iris      TextForm = "iri"
	Words     TextForm = "word"
	MixedText TextForm = "text" // values of several forms, which are compared with facts of every form
)

// Contains reports whether strings of the form show which other strings contain them.
func (f TextForm) Contains() bool { return f == codes || f == addresses || f == hosts }

// TextForm returns the form of s, a value of the operand.
func (o *Operand) TextForm(s string) TextForm {
	switch code, ok := o.code(s); {
	case ok && o.Networked() && strings.HasPrefix(code, domainCode):
		return hosts
	case ok && o.Networked():
		return addresses
	case ok:
		return codes
	case Absolute(s):
		return iris
	default:
		return Words
	}
}

// CanonicalText returns the code that s denotes, or s itself if it is not a code. Equivalent codes have the same result.
func (o *Operand) CanonicalText(s string) string {
	if code, ok := o.code(s); ok {
		return code
	}
	return s
}

// VersionOf returns the version in the UID of an intent: the text after the last colon, or the whole UID if it has none.
func VersionOf(uid string) string { return uid[strings.LastIndexByte(uid, ':')+1:] }
