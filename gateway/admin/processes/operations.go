// Package processes has the operations on the processes that share a store. They report which processes run, and sums over their calls.
// They also set, end and list stops of calls, and report which processes have applied them.
package processes

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// A Store is the state that the operations read and change.
type Store interface {
	Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error)
	// Stop records a stop, and returns its record: a stop that is already in force is not changed. The error is store.ErrFull if
	// store.MostStops others are in force.
	Stop(ctx context.Context, stop pat.Stop) (pat.Stop, error)
	// Resume ends a stop, or returns store.ErrNotFound.
	Resume(ctx context.Context, stop pat.Stop) (pat.Stop, error)
	// Stops returns the stops in force, the newest first.
	Stops(ctx context.Context) ([]pat.Stop, error)
	// EndedStops returns the stops that ended last, at most limit.
	EndedStops(ctx context.Context, limit int) ([]pat.Stop, error)
	// StopReads returns when processes read changes of stops: see pat.Stop.Change.
	StopReads(ctx context.Context, changes []int64) ([]store.StopRead, error)
	// Processes returns the processes that have reported recently and have not ended, and how many processes have the database open.
	Processes(ctx context.Context) (list []store.Process, open int, err error)
	// CallFigures returns the figures of periods of a length that begin at or after a time, except those of one process.
	CallFigures(ctx context.Context, length time.Duration, from time.Time, except string) ([]store.CallFigures, error)
}

// Operations carries out the operations on processes and stops. It is safe for concurrent use.
type Operations struct {
	Store    Store
	Services api.Services
	Now      func() time.Time
	View     *pat.View
	Doors    []door.Module // the other protocols that agents can use
	Keys     *keys.Keyring
	Audit    *record.Audit   // nil: stops are not recorded
	Figures  *record.Figures // counts calls; nil: CallFigures returns an error
	ID       string          // the store.Process.ID of this process; empty: it does not report to the store
	Log      *zap.Logger
}
