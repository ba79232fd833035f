package odrl

import (
	"math/big"
	"slices"
)

// A cost is the cost of a permission to an agent: the price, the currencies of the price unless it is zero, and the number of limits.
type cost struct {
	price      *big.Rat
	currencies []string
	limits     int
}

// rank sorts permissions by lowest price, then fewest limits, then document order. If the prices are in several currencies, they cannot be
// compared: permissions without a price come first, and all others stay in document order.
func rank[T any](list []T, of func(T) cost) {
	if len(list) < 2 {
		return
	}
	type entry struct {
		one T
		cost
	}
	all, currency, several := make([]entry, len(list)), "", false
	for i, one := range list {
		all[i] = entry{one, of(one)}
		for _, c := range all[i].currencies {
			several = several || currency != "" && c != currency
			currency = c
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		by := a.price.Cmp(b.price)
		if several {
			by = a.price.Sign() - b.price.Sign()
			if a.price.Sign() > 0 && b.price.Sign() > 0 {
				return 0
			}
		}
		if by != 0 {
			return by
		}
		return a.limits - b.limits
	})
	for i := range all {
		list[i] = all[i].one
	}
}
