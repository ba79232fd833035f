// Package money holds exact amounts: an integer of billionths of the unit, and its currency.
package money

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

const (
	// Unit is one whole unit of a currency in nano-units.
	Unit = 1_000_000_000
	// MaxUnits bounds one amount, in whole units.
	MaxUnits = 1_000_000
	places   = 9
	maxText  = 40
)

// An Amount is Nano billionths of one unit of Currency (ISO 4217 letters). The zero Amount is free of charge.
type Amount struct {
	Nano     int64
	Currency string
}

// ErrAmount means that a text is not an acceptable amount.
var ErrAmount = errors.New("want an amount such as 0.01 USD")

var (
	currency = regexp.MustCompile(`^[A-Z]{3}$`)
	number   = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$`)
)

// New reads a decimal text and a currency. An amount finer than 10⁻⁹, above MaxUnits or negative is an error, and so is
// a currency that is not three capital letters.
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
		return Amount{}, fmt.Errorf("%s is finer than a billionth: %w", text, ErrAmount)
	}
	return Amount{nano.IntPart(), code}, nil
}

// Parse reads an amount such as "0.01 USD".
func Parse(s string) (Amount, error) {
	text, code, ok := strings.Cut(strings.TrimSpace(s), " ")
	if !ok {
		return Amount{}, fmt.Errorf("%.40q: %w", s, ErrAmount)
	}
	return New(text, strings.TrimSpace(code))
}

// IsZero reports whether the amount is zero.
func (a Amount) IsZero() bool { return a.Nano == 0 }

// Decimal returns the number alone, with at least two decimal places: 0.01.
func (a Amount) Decimal() string {
	n, out := uint64(a.Nano), make([]byte, 0, 32)
	if a.Nano < 0 {
		n, out = -n, append(out, '-')
	}
	out = strconv.AppendUint(out, n/Unit, 10)
	point := len(out)
	out = strconv.AppendUint(out, Unit+n%Unit, 10) // with a digit before the nine
	out[point] = '.'
	return string(append(out[:point+3], bytes.TrimRight(out[point+3:], "0")...))
}

// String returns the form that Parse reads: 0.01 USD. The zero Amount is "0".
func (a Amount) String() string {
	if a.Currency == "" {
		return "0"
	}
	return a.Decimal() + " " + a.Currency
}

// MarshalText writes String.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText wrote.
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
