package money

import "math/big"

var unit = big.NewInt(Unit)

// SumOf parses a decimal number, as Decimal formats it, and returns it in units of 10⁻⁹. It returns 0 if text is not a number.
func SumOf(text string) *big.Int {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Int)
	}
	r.Mul(r, new(big.Rat).SetInt(unit))
	return new(big.Int).Set(r.Num())
}

// SumDecimal formats a sum in units of 10⁻⁹ as Decimal does. A sum that is too large for an Amount has 9 decimals.
func SumDecimal(nano *big.Int) string {
	if nano.IsInt64() {
		return Amount{Nano: nano.Int64()}.Decimal()
	}
	return new(big.Rat).SetFrac(nano, unit).FloatString(9)
}
