package yamlconf

import (
	"errors"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// A Scalar describes how a Go type is decoded from a YAML scalar.
type Scalar struct {
	Want    string // completes "want …" in messages
	Rule    string // follows Want in the message about a string that Parse rejects
	Pattern string // regular expression of the values, for the JSON Schema; empty if every string is possible
	Hidden  bool   // no message shows the value, because it may contain a secret
	Secret  bool   // the value is a secret, so messages also do not show unknown keys of the same mapping
	Number  bool   // the value may be a YAML number or boolean, without quotes
	// Hint returns advice on a valid replacement for an invalid value, or "" if there is none. It may be nil.
	Hint func(text string) string
	// Parse converts a string to a value of the type. Messages do not contain the text of its error.
	Parse func(text string) (any, error)
}

// Scalars are the types that are decoded from a YAML scalar, in addition to the built-in ones: strings and named string types, bool, int
// (31 bits), int64 (a size in bytes) and time.Duration (not negative).
type Scalars map[reflect.Type]Scalar

// MaxText is the maximum length of a string in bytes, and TextRule describes the limits of a string for people.
const (
	MaxText  = 4096
	TextRule = " of at most 4096 bytes without control characters"
)

var errScalar = errors.New("not of this type")

var (
	textScalar = Scalar{Want: "text", Rule: TextRule, Parse: func(s string) (any, error) { return ParseText(s) }}
	builtin    = Scalars{
		reflect.TypeFor[string](): textScalar,
		reflect.TypeFor[bool](): {Want: "true or false", Number: true, Parse: func(s string) (any, error) {
			if s != "true" && s != "false" {
				return nil, errScalar
			}
			return s == "true", nil
		}},
		reflect.TypeFor[int](): {Want: "a whole number", Number: true, Pattern: `^[0-9]+$`, Parse: func(s string) (any, error) {
			n, err := strconv.ParseInt(s, 10, 32)
			return int(n), err
		}},
		reflect.TypeFor[int64](): {
			Want: "a size such as 1MiB", Number: true, Pattern: `^[0-9][0-9.]* ?([kKmMgG][iI]?)?[bB]?$`,
			Parse: func(s string) (any, error) { return parseSize(s) },
		},
		reflect.TypeFor[time.Duration](): {
			Want: "a duration such as 30s, 1h30m or 400d", Number: true, Pattern: `^([0-9.]+(ns|us|µs|ms|s|m|h|d))+$|^0$`,
			Parse: func(s string) (any, error) { return parseDuration(s) },
		},
	}
)

// lookup returns the Scalar of a type, if the type is decoded from a scalar.
func (s Scalars) lookup(t reflect.Type) (Scalar, bool) {
	if scalar, ok := s[t]; ok {
		return scalar, true
	}
	if scalar, ok := builtin[t]; ok {
		return scalar, true
	}
	return textScalar, t.Kind() == reflect.String
}

// ParseText returns s. It returns an error if s is longer than MaxText or contains control characters.
func ParseText(s string) (string, error) {
	if len(s) > MaxText || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", errScalar
	}
	return s, nil
}

// parseSize parses a number of bytes: 1048576, 1MiB, 1.5 GiB, 10kB.
func parseSize(s string) (int64, error) {
	if s == "" || s[0] < '0' || s[0] > '9' || strings.Contains(s, ",") {
		return 0, errScalar
	}
	n, err := humanize.ParseBytes(s)
	if err != nil || n > math.MaxInt64 {
		return 0, errScalar
	}
	return int64(n), nil
}

const day = 24 * time.Hour

var days = regexp.MustCompile(`^([0-9]{1,6})d`)

// parseDuration parses a duration as time.ParseDuration does, optionally with whole days before it: 400d, 1d12h. It rejects negative
// durations.
func parseDuration(s string) (time.Duration, error) {
	var whole time.Duration
	rest := s
	if m := days.FindStringSubmatch(s); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n > math.MaxInt64/int64(day) {
			return 0, errScalar
		}
		whole, rest = time.Duration(n)*day, s[len(m[0]):]
		if rest == "" {
			return whole, nil
		}
	}
	if rest == "" || rest[0] == '+' || rest[0] == '-' {
		return 0, errScalar
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > math.MaxInt64-whole {
		return 0, errScalar
	}
	return whole + d, nil
}
