// Package money represents exact amounts, as an integer number of billionths of a currency unit.
package money

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

const (
	// Unit is one unit of a currency, in nano-units.
	Unit = 1_000_000_000
	// MaxUnits is the largest amount, in whole units.
	MaxUnits = 1_000_000
	places   = 9
	maxText  = 40
)

// An Amount is Nano billionths of one unit of Currency (ISO 4217 letters). The zero Amount means free of charge.
type Amount struct {
	Nano     int64
	Currency string
}

// ErrAmount means that a string is not a valid amount.
var ErrAmount = errors.New("want an amount such as 0.01 USD")

var (
	currency = regexp.MustCompile(`^[A-Z]{3}$`)
	number   = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$`)
)

// New parses a decimal number and a currency code. It returns an error that wraps ErrAmount if the number is negative, finer than 10⁻⁹ or
// above MaxUnits, or if the code is not three capital letters.
func New(text, code string) (Amount, error) {
	if !currency.MatchString(code) {
		return Amount{}, fmt.Errorf("%q is not a currency code: %w", code, ErrAmount)
	}
	if len(text) > maxText || !number.MatchString(text) {
		return Amount{}, fmt.Errorf("%.40q is not a decimal number: %w", text, ErrAmount)
	}
	d, err := decimal.NewFromString(text)
	if err != nil {
		return Amount{}, fmt.Errorf("%q is not a decimal number: %w", text, ErrAmount)
	}
	if d.GreaterThan(decimal.NewFromInt(MaxUnits)) {
		return Amount{}, fmt.Errorf("%s is above %d: %w", text, MaxUnits, ErrAmount)
	}
	nano := d.Shift(places)
	if !nano.IsInteger() {
		return Amount{}, fmt.Errorf("%s has more than nine decimal places: %w", text, ErrAmount)
	}
	return Amount{nano.IntPart(), code}, nil
}

// NewSum is like New, but accepts the sum of many amounts: it may exceed MaxUnits, up to the range of Nano.
func NewSum(text, code string) (Amount, error) {
	if !currency.MatchString(code) || len(text) > maxText || !number.MatchString(text) {
		return Amount{}, fmt.Errorf("%.40q is not a decimal number with a currency code: %w", text, ErrAmount)
	}
	d, err := decimal.NewFromString(text)
	if err != nil {
		return Amount{}, fmt.Errorf("%q is not a decimal number: %w", text, ErrAmount)
	}
	nano := d.Shift(places)
	if !nano.IsInteger() || nano.GreaterThan(decimal.NewFromInt(math.MaxInt64)) {
		return Amount{}, fmt.Errorf("%s is too large, or has more than nine decimal places: %w", text, ErrAmount)
	}
	return Amount{nano.IntPart(), code}, nil
}

// Parse parses an amount such as "0.01 USD". The errors are those of New.
func Parse(s string) (Amount, error) {
	text, code, ok := strings.Cut(strings.TrimSpace(s), " ")
	if !ok {
		return Amount{}, fmt.Errorf("%.40q: %w", s, ErrAmount)
	}
	return New(text, strings.TrimSpace(code))
}

// IsZero reports whether the amount is zero.
func (a Amount) IsZero() bool { return a.Nano == 0 }

// Decimal returns the number without the currency, with at least two decimal places: 0.01.
func (a Amount) Decimal() string {
	n, out := uint64(a.Nano), make([]byte, 0, 32)
	if a.Nano < 0 {
		n, out = -n, append(out, '-')
	}
	out = strconv.AppendUint(out, n/Unit, 10)
	point := len(out)
	out = strconv.AppendUint(out, Unit+n%Unit, 10) // adding Unit keeps leading zeros; the point replaces its 1
	out[point] = '.'
	return string(append(out[:point+3], bytes.TrimRight(out[point+3:], "0")...))
}

// String returns the amount in the form that Parse accepts: 0.01 USD. The zero Amount is "0".
func (a Amount) String() string {
	if a.Currency == "" {
		return "0"
	}
	return a.Decimal() + " " + a.Currency
}

// MarshalText returns the result of String.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText parses the result of MarshalText.
func (a *Amount) UnmarshalText(text []byte) error {
	if string(text) == "0" {
		*a = Amount{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}
