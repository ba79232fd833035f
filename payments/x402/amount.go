package x402

import (
	"math/big"

	"github.com/uimgate/uimgate/internal/money"
)

// places is how many decimal places of a currency a money.Amount has.
const places = 9

func power(exponent int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)
}

// atomic returns an amount in atomic units of the token, rounded up.
func (a *Asset) atomic(amount money.Amount) *big.Int {
	n := big.NewInt(amount.Nano)
	if a.Decimals >= places {
		return n.Mul(n, power(a.Decimals-places))
	}
	divisor := power(places - a.Decimals)
	n.Add(n, new(big.Int).Sub(divisor, big.NewInt(1)))
	return n.Div(n, divisor)
}

// amount returns the amount of a number of atomic units, rounded down to billionths. ok is false if it is above money.MaxUnits.
func (a *Asset) amount(atomic *big.Int) (m money.Amount, ok bool) {
	n := new(big.Int).Set(atomic)
	if a.Decimals >= places {
		n.Div(n, power(a.Decimals-places))
	} else {
		n.Mul(n, power(places-a.Decimals))
	}
	if n.Cmp(big.NewInt(money.MaxUnits*money.Unit)) > 0 {
		return money.Amount{}, false
	}
	return money.Amount{Nano: n.Int64(), Currency: a.Currency}, true
}
