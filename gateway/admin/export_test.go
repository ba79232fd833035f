package admin

import (
	"context"

	"github.com/uimgate/uimgate/store"
)

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

// Compare takes the turn of an operation that compares policies.
func (o *Operator) Compare(ctx context.Context) (release func(), err error) {
	return o.comparing.take(ctx)
}
