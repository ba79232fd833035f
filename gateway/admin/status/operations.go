// Package status has the operations that report the health of a process and the state of its services.
package status

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// A Store is the state that the operations read and change.
type Store interface {
	Holders
	// Ready returns an error if the state cannot be written to within a bounded time.
	Ready(ctx context.Context) error
	// SetBack reports when the store last detected that the database lacks acknowledged commits, and how many it lacks.
	SetBack() store.SetBack
	// ServerChanged reports whether the database is on another server or timeline than before.
	ServerChanged() bool
	// HeldLimits reports which limits are held back because of a restore or a step of the clock.
	HeldLimits() store.HeldLimits
	Backlog(ctx context.Context, service string) (store.Backlog, error)
	Pool(ctx context.Context, service string, credit money.Amount, users int) (store.Pool, error)
}

// Operations carries out the operations on the state of the gateway. It is safe for concurrent use.
type Operations struct {
	Store         Store
	Services      api.Services
	Now           func() time.Time
	Keys          *keys.Keyring
	View          *pat.View
	Doors         []door.Module   // the other protocols that agents can use
	Audit         *record.Audit   // nil: Health does not depend on it
	Version       string          // release of the program
	NeedsRestart  func() []string // see admin.Config, also for the functions below
	RefusedReload func() *reloads.RefusedReload
	Certificate   func() string
	Certificates  func() *CertificateStatus
	LogState      func(ctx context.Context) (*LogStatus, error)
	LogTrouble    func() string
	LedgerTrouble func() string
	Log           *zap.Logger

	readiness readiness
	draining  atomic.Bool // the process is shutting down: see Drain
}
