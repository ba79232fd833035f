// Package calls has the operations on calls: the index of requests, executions and their charges.
package calls

import (
	"context"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/store"
)

// A Store is the state that the operations read and change.
type Store interface {
	// RequestsByID returns the newest requests with an id, the oldest of them first, at most store.MostRequests.
	RequestsByID(ctx context.Context, id string) ([]store.IndexedRequest, error)
	// Requests returns requests of the index, the newest first, and the position at which the listing continues, which is zero at the end.
	Requests(ctx context.Context, f store.RequestFilter) ([]store.IndexedRequest, store.RequestCursor, error)
	Execution(ctx context.Context, service, id string) (store.Execution, error)
	Executions(ctx context.Context, f store.Filter) ([]store.Execution, error)
	Ledger(ctx context.Context, f store.Filter) ([]store.Entry, error)
	Resolve(ctx context.Context, service, id string, to store.State) (store.Execution, error)
}

// Operations carries out the operations on calls. It is safe for concurrent use.
type Operations struct {
	Store    Store
	Services api.Services
	Index    *record.Index // holds records that may not be written to the store yet; nil: none
	Log      *zap.Logger
}
