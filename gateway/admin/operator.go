// Package admin holds the operator's operations on a running gateway, as methods of an Operator and over HTTP. Requests and
// answers are the same types on both sides; package client calls them from another process.
//
//	operator := admin.New(admin.Config{Directory: directory, Store: state, …})
//	agents, err := operator.Agents(ctx, admin.AgentQuery{Status: pat.AgentBlocked})
//	http.Serve(ln, admin.Handler(operator, admin.Listener{Token: token, Metrics: registry}))
package admin

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Config is what an Operator works on.
type Config struct {
	Directory *service.Directory
	Store     Store
	Keys      *keys.Keyring
	View      *pat.View
	Log       *zap.Logger
	Now       func() time.Time
	// Reload takes over the configuration as it is now and returns what it found; nil: not offered.
	Reload func(context.Context) config.Problems
	// NeedsRestart returns the settings, such as server.listen, that were changed and take effect only after a restart. nil: there are
	// none.
	NeedsRestart func() []string
	// RefusedReload returns the last reload where it was refused, and nil otherwise. It may be nil: none was.
	RefusedReload func() *RefusedReload
	// Audit is the audit stream, as far as health depends on it; nil: it does not.
	Audit *record.Audit
	// Doors returns the other protocols that agents use.
	Doors []door.Module
}

// An Operator does what operators ask a running gateway for. Its methods are safe for concurrent use; their errors are
// *reason.Refusal or errors of packages pat, store and money.
type Operator struct {
	directory *service.Directory
	store     Store
	keys      *keys.Keyring
	view      *pat.View
	log       *zap.Logger
	now       func() time.Time
	reload    func(context.Context) config.Problems
	waiting   func() []string
	refused   func() *RefusedReload
	audit     *record.Audit
	doors     []door.Module
	readiness readiness
	draining  atomic.Bool // the process is about to end: see Drain
}

// New returns the Operator of a gateway.
func New(c Config) *Operator {
	if c.NeedsRestart == nil {
		c.NeedsRestart = func() []string { return nil }
	}
	if c.RefusedReload == nil {
		c.RefusedReload = func() *RefusedReload { return nil }
	}
	return &Operator{
		directory: c.Directory, store: c.Store, keys: c.Keys, view: c.View, log: c.Log, now: c.Now, reload: c.Reload, audit: c.Audit,
		waiting: c.NeedsRestart, refused: c.RefusedReload, doors: c.Doors,
	}
}

// Drain makes Health report from now on that this process is about to end, so that no new calls are sent to it. Calls go
// on being answered.
func (o *Operator) Drain() { o.draining.Store(true) }
