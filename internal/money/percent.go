package money

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// A Percent is a percentage from 0 to 100, in thousandths of a percent.
type Percent int64

// percentUnit is one percent, and wholePercent is 100 percent.
const (
	percentUnit  = 1000
	wholePercent = 100 * percentUnit
)

// ErrPercent means that the input is not a percentage.
var ErrPercent = errors.New("not a percentage from 0 to 100 with at most 3 decimals")

// ParsePercent parses a decimal number such as 19 or 8.875. The error is ErrPercent.
func ParsePercent(text string) (Percent, error) {
	whole, fraction, point := strings.Cut(text, ".")
	if point && fraction == "" || len(whole) > 3 || len(fraction) > 3 || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, ErrPercent
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", 3-len(fraction)), 10, 64)
	if err != nil || whole == "" || n > wholePercent {
		return 0, ErrPercent
	}
	return Percent(n), nil
}

// String returns the shortest text that ParsePercent accepts.
func (p Percent) String() string {
	out := strconv.FormatInt(int64(p/percentUnit), 10)
	if rest := p % percentUnit; rest > 0 {
		out += "." + strings.TrimRight(strconv.FormatInt(int64(percentUnit+rest), 10)[1:], "0")
	}
	return out
}

// Of returns the percentage of an amount, rounded to whole minor units, such as cents; a half is rounded up. The amount must not be
// negative.
func (p Percent) Of(a Amount) Amount { return share(a, int64(p), wholePercent) }

// Within returns the tax that a total includes, if the tax is this percentage of the net amount: for 19 percent, 19 of 119. It is rounded
// as in Of. The total must not be negative.
func (p Percent) Within(total Amount) Amount { return share(total, int64(p), wholePercent+int64(p)) }

// Round returns the amount in whole minor units, such as cents; a half is rounded up. The amount must not be negative. An amount that would
// be out of range is rounded down.
func (a Amount) Round() Amount { return share(a, 1, 1) }

// share returns a × part ÷ whole in whole minor units. part is at most whole.
func share(a Amount, part, whole int64) Amount {
	one := minorUnit(a.Currency)
	n := new(big.Int).Mul(big.NewInt(a.Nano), big.NewInt(2*part))
	d := new(big.Int).Mul(big.NewInt(whole), big.NewInt(one))
	n.Add(n, d).Div(n, d.Lsh(d, 1)) // floor(a × part ÷ (whole × one) + 1/2)
	units := n.Int64()
	if units > 0 && units > (1<<63-1)/one {
		units = (1<<63 - 1) / one
	}
	return Amount{Nano: units * one, Currency: a.Currency}
}
