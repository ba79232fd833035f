// Package policies has the operations on policies and curations: what they decide, what an edit would change, and the edit.
package policies

import (
	"context"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/record"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A Store is the state that the operations read and change.
type Store interface {
	Agreement(ctx context.Context, service string, id pat.AgreementID) (pat.Agreement, error)
	Agreements(ctx context.Context, f store.AgreementFilter) ([]pat.Agreement, error)
	Policy(ctx context.Context, service, digest string) (pat.PolicyDocument, error)
	RecentPolicies(ctx context.Context, service string, limit int) ([]pat.PolicyDocument, error)
}

// A Config configures Operations.
type Config struct {
	Store     Store
	Services  api.Services
	Now       func() time.Time
	AuditPath string        // path of the audit stream, which Impact reads; empty: none
	Audit     *record.Audit // flushed before Impact reads its file; nil: none
	Calls     *calls.Operations
	Processes *processes.Operations
	Reloads   *reloads.Operations
}

// Operations carries out the operations on policies and curations. It is safe for concurrent use.
type Operations struct {
	c         Config
	saving    sync.Mutex // held while SavePolicy replaces a file
	comparing turn
}

// New returns the operations.
func New(c Config) *Operations { return &Operations{c: c, comparing: make(turn, 1)} }
