package money

import (
	"cmp"
	"math"
)

// hundredths is the number of minor units in one unit of most currencies; other currencies have no minor unit, or thousandths (ISO 4217,
// list one).
const hundredths = 100

var minorUnits = map[string]int64{
	"BIF": 1, "CLP": 1, "DJF": 1, "GNF": 1, "ISK": 1, "JPY": 1, "KMF": 1, "KRW": 1, "PYG": 1, "RWF": 1, "UGX": 1, "UYI": 1, "VND": 1,
	"VUV": 1, "XAF": 1, "XOF": 1, "XPF": 1, "BHD": 1000, "IQD": 1000, "JOD": 1000, "KWD": 1000, "LYD": 1000, "OMR": 1000, "TND": 1000,
}

// minorUnit returns the minor unit of a currency, such as a cent, in billionths of the currency.
func minorUnit(currency string) int64 {
	return Unit / cmp.Or(minorUnits[currency], hundredths)
}

// Minor returns the smallest number of payments of the amount, at least one, that add up to whole minor units, such as cents. times is that
// number, and sum is their total in minor units. For 0.005 USD, sum is 1 and times is 2.
func (a Amount) Minor() (sum, times int64) {
	one := minorUnit(a.Currency)
	common := one // becomes the greatest common divisor
	for rest := a.Nano; rest != 0; {
		common, rest = rest, common%rest
	}
	return a.Nano / common, one / common
}

// RoundDown returns the largest amount in whole minor units, such as cents, that is not above a. a must not be negative.
func (a Amount) RoundDown() Amount {
	a.Nano -= a.Nano % minorUnit(a.Currency)
	return a
}

// OfMinor returns an amount of whole minor units, such as cents, which may be negative. ok is false if the currency is not three capital
// letters, or if the amount is above MaxUnits.
func OfMinor(units int64, code string) (a Amount, ok bool) {
	one := minorUnit(code)
	if most := MaxUnits * (Unit / one); !currency.MatchString(code) || units > most || units < -most {
		return Amount{}, false
	}
	return Amount{units * one, code}, true
}

// InMinor returns the amount in minor units, with a fraction.
func (a Amount) InMinor() float64 { return float64(a.Nano) / float64(minorUnit(a.Currency)) }

// RoundUp returns the smallest amount in whole minor units, such as cents, that is not below a. An amount that would be out of range is
// returned unchanged.
func (a Amount) RoundUp() Amount {
	one := minorUnit(a.Currency)
	if rest := a.Nano % one; rest > 0 && a.Nano <= math.MaxInt64-one {
		a.Nano += one - rest
	}
	return a
}
