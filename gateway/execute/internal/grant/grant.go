// Package grant defines the permission to make one attempt of an upstream call. Only gateway/execute and the
// packages below it can import this package, so no other package can call an upstream. Executor.begin creates a Grant after it has reserved
// everything that the call needs.
package grant

import (
	"context"
	"errors"
)

// A Grant is the permission to send one attempt, until the Grant ends. The zero Grant permits nothing.
type Grant struct {
	executionID string
	terms       Terms
}

// Terms decide whether a Grant is alive, and provide further Grants.
type Terms interface {
	// Alive returns nil while the attempt may be sent. It is called before the attempt, and again right before its first byte. It must be
	// fast.
	Alive() error
	// Another returns the Grant for a further attempt, after an attempt that wrote a byte. Each attempt counts against every limit of the
	// call, because the upstream also counts attempts. Another returns an error if a limit is exhausted or the attempt is not permitted.
	Another(ctx context.Context) (Grant, error)
	// Unused releases the reservation of an attempt that wrote no byte, unless the end of the call releases it.
	Unused(ctx context.Context)
}

// New returns a Grant for an execution.
func New(executionID string, t Terms) Grant { return Grant{executionID, t} }

var errNone = errors.New("the call has no grant")

// ExecutionID returns the id of the execution to which the Grant belongs. It is empty for the zero Grant.
func (g Grant) ExecutionID() string { return g.executionID }

// Alive returns nil if the attempt may be sent now. For the zero Grant, it returns an error.
func (g Grant) Alive() error {
	if g.terms == nil {
		return errNone
	}
	return g.terms.Alive()
}

// Another returns the Grant for one more attempt. It may block until ctx ends.
func (g Grant) Another(ctx context.Context) (Grant, error) {
	if g.terms == nil {
		return Grant{}, errNone
	}
	return g.terms.Another(ctx)
}

// Unused declares that no byte was written under the Grant, and none will be.
func (g Grant) Unused(ctx context.Context) {
	if g.terms != nil {
		g.terms.Unused(ctx)
	}
}
