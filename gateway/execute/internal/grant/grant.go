// Package grant holds the permission to make one attempt at an upstream call. Only packages below gateway/execute can import it, so that
// no other package reaches an upstream; begin makes a Grant after it has taken everything that the call needs.
package grant

import (
	"context"
	"errors"
)

// A Grant is permission to write the bytes of one attempt, until it ends. The zero Grant permits nothing.
type Grant struct {
	executionID string
	terms       Terms
}

// Terms are the basis of a Grant.
type Terms interface {
	// Alive returns nil while the attempt may be sent. It is called before the attempt and again right before its first byte; it must be
	// fast.
	Alive() error
	// Another makes the Grant of a further attempt, after one that wrote a byte. An upstream counts attempts, so each takes a separate
	// place in every limit of the call. It returns an error if there is no place, or the attempt is not permitted.
	Another(ctx context.Context) (Grant, error)
	// Unused releases the place of an attempt that wrote no byte, if the end of the call does not.
	Unused(ctx context.Context)
}

// New makes the Grant of an execution.
func New(executionID string, t Terms) Grant { return Grant{executionID, t} }

var errNone = errors.New("there is no grant")

// ExecutionID returns the id of the execution that the call belongs to.
func (g Grant) ExecutionID() string { return g.executionID }

// Alive returns nil if the attempt may be sent now.
func (g Grant) Alive() error {
	if g.terms == nil {
		return errNone
	}
	return g.terms.Alive()
}

// Another returns the Grant of one more attempt. It may take as long as ctx allows.
func (g Grant) Another(ctx context.Context) (Grant, error) {
	if g.terms == nil {
		return Grant{}, errNone
	}
	return g.terms.Another(ctx)
}

// Unused reports that no byte was written under the Grant, and none will be.
func (g Grant) Unused(ctx context.Context) {
	if g.terms != nil {
		g.terms.Unused(ctx)
	}
}
