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
	// Scale is the fixed point of numbers in the normal form: billionths.
	Scale = 1_000_000_000
	// Day is the length of a day in UTC.
	Day = 24 * time.Hour
)

// ParseNumber reads a decimal as billionths. It returns false if the text is not a decimal, is finer, or does not fit.
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

// ParseCount reads a whole number of uses.
func ParseCount(s string) (int64, bool) {
	n, ok := ParseNumber(s)
	return n / Scale, ok && n%Scale == 0
}

// Nanos returns the instant in nanoseconds since the epoch; beyond the years 1678 to 2261 the nearest that fits.
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

// An Interval is a time from its first nanosecond to its end, which is excluded. A dateTime is an instant: from and to are equal.
type Interval struct {
	From, To int64
	Zoneless bool
}

// Beyond reports a time that is not distinguished from others as far away.
func (i Interval) Beyond() bool { return i.From == math.MinInt64 || i.To == math.MaxInt64 }

var (
	farForm      = regex.Lazy(`^(-?)([1-9][0-9]{4,}|[0-9]{4})(-[0-9]{2}-[0-9]{2}(?:T.*|Z|[+-][0-9]{2}:[0-9]{2})?)$`)
	midnightForm = regex.Lazy(`T24:00:00(\.0+)?`)
)

// ParseInstant parses xsd:dateTime as an instant and xsd:date as the UTC day (of its own zone, if it names one). Without a zone UTC is
// assumed. Years before 1678 and after 2261, which may have more than four digits, are the nearest time that fits. There are no leap
// seconds.
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

// fits reports whether the zone of a dateTime is one of XML Schema: up to 14 hours.
func fits(s string) bool {
	zone := s[max(len(s)-6, 0):]
	return zone[0] != '+' && zone[0] != '-' || zone <= zone[:1]+"14:00"
}

var clockForm = regex.Lazy(`^([01][0-9]|2[0-4]):([0-5][0-9])(?::([0-5][0-9])(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?$`)

// ParseClock reads a time of day as nanoseconds after midnight UTC; 24:00 is the end of the day.
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

// IsCode reports whether s is a code whose containment is written in the code itself.
func (o *Operand) IsCode(s string) bool { _, ok := o.code(s); return ok }

// Spelling returns a code in the form for people: DE for an IRI of Germany. Addresses and names of a network stay unchanged.
func (o *Operand) Spelling(s string) string {
	if code, ok := o.code(s); ok && !o.Networked() {
		return code
	}
	return s
}

// A TextForm is the encoding of a text. Texts of different forms may mean the same thing (DE and an IRI of Germany), so facts are
// compared only with values of their own form and are unknown to others.
type TextForm string

// The forms of texts.
const (
	codes     TextForm = "code"
	addresses TextForm = "address"
	hosts     TextForm = "host"
	iris      TextForm = "iri"
	Words     TextForm = "word"
	MixedText TextForm = "text" // values of several forms: facts of every form are compared
)

// Contains reports whether containment shows in texts of the form.
func (f TextForm) Contains() bool { return f == codes || f == addresses || f == hosts }

// TextFormOf returns the form of texts of the left operand with the name.
func TextFormOf(operand, s string) TextForm { return LeftOperand(operand).TextForm(s) }

// TextForm returns the form of texts of the operand.
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

// CanonicalText writes equivalent texts in one way.
func (o *Operand) CanonicalText(s string) string {
	if code, ok := o.code(s); ok {
		return code
	}
	return s
}

// VersionOf returns the version in the UID of an intent: the text after the last colon.
func VersionOf(uid string) string { return uid[strings.LastIndexByte(uid, ':')+1:] }
