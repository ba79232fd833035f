package admin

import "github.com/uimgate/uimgate/store"

// OperationNames returns the method and the path of each operation, such as POST /agents/{id}/block.
func OperationNames(o *Operator) (names []string) {
	for _, one := range operations(o) {
		names = append(names, one.name())
	}
	return names
}

// Charged returns an invoice with the rows and totals of these calls.
func Charged(list []store.ChargedCalls) (i Invoice) {
	i.charge(list)
	return i
}
