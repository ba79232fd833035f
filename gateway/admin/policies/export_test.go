package policies

import "context"

// Compare takes the turn of an operation that compares policies.
func (o *Operations) Compare(ctx context.Context) (release func(), err error) {
	return o.comparing.take(ctx)
}
