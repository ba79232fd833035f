package admin

import "github.com/uimgate/uimgate/store"

// Charged returns an invoice with the rows and totals of these calls.
func Charged(list []store.ChargedCalls) (i Invoice) {
	i.charge(list)
	return i
}
