package admin

import "github.com/uimgate/uimgate/store"

// Charged is an invoice with the rows of these calls.
func Charged(list []store.ChargedCalls) (i Invoice) {
	i.charge(list)
	return i
}
