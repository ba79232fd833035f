// Package admin holds the operator's operations on a running gateway, as methods of an Operator and over HTTP. Both sides share the
// request and response types; package client calls the operations from another process.
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

// A Config configures an Operator.
type Config struct {
	Directory *service.Directory
	Store     Store
	Keys      *keys.Keyring
	View      *pat.View
	Log       *zap.Logger
	Now       func() time.Time
	// Reload applies the present configuration and returns its findings; nil: not available.
	Reload func(context.Context) config.Problems
	// NeedsRestart returns the changed settings, such as server.listen, that take effect only after a restart. nil: there are none.
	NeedsRestart func() []string
	// RefusedReload returns the last reload if it was refused, and otherwise nil. It may be nil: none was.
	RefusedReload func() *RefusedReload
	// Certificate returns what is wrong with the certificates of the listeners, without names; empty: nothing. nil: nothing is.
	Certificate func() string
	// Audit is the audit stream, as far as health depends on it; nil: it does not.
	Audit *record.Audit
	// Doors returns the other protocols that agents use.
	Doors []door.Module
}

// An Operator carries out operators' requests to a running gateway. Its methods are safe for concurrent use; their errors are
// *reason.Refusal or errors of packages pat, store and money.
type Operator struct {
	directory   *service.Directory
	store       Store
	keys        *keys.Keyring
	view        *pat.View
	log         *zap.Logger
	now         func() time.Time
	reload      func(context.Context) config.Problems
	waiting     func() []string
	refused     func() *RefusedReload
	certificate func() string
	audit       *record.Audit
	doors       []door.Module
	readiness   readiness
	draining    atomic.Bool // the process is ending: see Drain
}

// New returns the Operator of a gateway.
func New(c Config) *Operator {
	if c.NeedsRestart == nil {
		c.NeedsRestart = func() []string { return nil }
	}
	if c.RefusedReload == nil {
		c.RefusedReload = func() *RefusedReload { return nil }
	}
	if c.Certificate == nil {
		c.Certificate = func() string { return "" }
	}
	return &Operator{
		directory: c.Directory, store: c.Store, keys: c.Keys, view: c.View, log: c.Log, now: c.Now, reload: c.Reload, audit: c.Audit,
		certificate: c.Certificate, waiting: c.NeedsRestart, refused: c.RefusedReload, doors: c.Doors,
	}
}

// Drain makes Health report from now on that this process is ending, so that it gets no new calls. It still answers calls.
func (o *Operator) Drain() { o.draining.Store(true) }
