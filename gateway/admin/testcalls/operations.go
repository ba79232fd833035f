// Package testcalls has the operations of the playground: calls as the test agent of a service.
package testcalls

import (
	"context"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/store"
)

// A Store is the state that the operations read and change.
type Store interface {
	// RequestsByID returns the newest requests with an id, the oldest of them first, at most store.MostRequests.
	RequestsByID(ctx context.Context, id string) ([]store.IndexedRequest, error)
}

// Operations carries out the operations of the playground. It is safe for concurrent use.
type Operations struct {
	Store      Store
	Services   api.Services
	Calls      *calls.Operations
	Playground Playground // nil: none
}
