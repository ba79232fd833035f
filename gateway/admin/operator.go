// Package admin combines the operator's operations on a running gateway into an Operator and an HTTP handler. The
// packages below it have the operations. The Operator and the handler use the same request and response types. Package
// client calls the operations from another process.
//
//	operator := admin.New(admin.Config{Directory: directory, Store: state, …})
//	agents, err := admin.Call(ctx, operator, operation.Agents, agreements.AgentQuery{Status: pat.AgentBlocked})
//	http.Serve(ln, admin.Handler(operator, admin.Listener{Tokens: tokens, Metrics: registry}))
package admin

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/catalogue"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/gateway/admin/testcalls"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/receipt"
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
	Receipts  *receipt.Signer // nil: Evidence returns an error
	Logs      billing.Logs    // nil: Evidence has no proofs of the log
	View      *pat.View
	Log       *zap.Logger
	Now       func() time.Time
	// Reload reads and applies the current configuration, and returns its problems. With force, it also applies one that ends the calls of
	// agents. nil: reloads are not available.
	Reload func(ctx context.Context, force bool) config.Problems
	// NeedsRestart returns the changed settings, such as server.listen, that take effect only after a restart. nil: none.
	NeedsRestart func() []string
	// RefusedReload returns the last reload if it was refused, and otherwise nil. nil: no reload was refused.
	RefusedReload func() *reloads.RefusedReload
	// Certificate describes what is wrong with the certificates of the listeners, without host names. It returns an empty string if they are
	// valid. nil: the certificates are not checked.
	Certificate func() string
	// Certificates describes the certificates of the listeners. It returns nil if they serve http. A nil function means the same.
	Certificates func() *status.CertificateStatus
	// LogState returns the state of the logs of the ledger, or nil if there are none. nil: none.
	LogState func(ctx context.Context) (*status.LogStatus, error)
	// LogTrouble describes the problems of the checkpoints of the logs, or returns an empty string. nil: they are not checked.
	LogTrouble func() string
	// LedgerTrouble describes what is wrong with the ledger, without the names of agents, or returns an empty string. nil: the ledger is not
	// checked.
	LedgerTrouble func() string
	// Audit is the audit stream that Health checks. nil: Health does not depend on it.
	Audit *record.Audit
	// Figures counts calls. nil: CallFigures returns an error.
	Figures *record.Figures
	// ProcessID is the store.Process.ID of this process. Empty: it does not report to the store.
	ProcessID string
	// Intents counts the calls to each intent. nil: they are not counted.
	Intents *record.IntentFigures
	// AuditPath is the path of the audit stream, which Impact reads. Empty: none.
	AuditPath string
	// Index holds records that Why reads, and that may not be written to the store yet. nil: none.
	Index *record.Index
	// Version is the release of the program, which Status reports.
	Version string
	// Doors are the other protocols that agents can use.
	Doors []door.Module
	// ConsoleURL returns the URL of the console, with a trailing slash, for browsers on this machine. nil: the process has no console.
	ConsoleURL func() string
	// Playground makes test calls. nil: none.
	Playground testcalls.Playground
}

// An Operator carries out operations on a running gateway. Their errors wrap a *reason.Refusal or an error of package pat, keys, store or
// money, or come from the Store. It is safe for concurrent use.
type Operator struct {
	Agreements *agreements.Operations
	Billing    *billing.Operations
	Calls      *calls.Operations
	Catalogue  *catalogue.Operations
	Policies   *policies.Operations
	Processes  *processes.Operations
	Reloads    *reloads.Operations
	SignIn     *signin.Operations
	Statuses   *status.Operations
	TestCalls  *testcalls.Operations

	services api.Services
	changes  *api.Changes
	bound    map[string]endpoint // by the name of the operation
	log      *zap.Logger
	now      func() time.Time
	version  string
}

// New returns the Operator of a gateway.
func New(c Config) *Operator {
	if c.NeedsRestart == nil {
		c.NeedsRestart = func() []string { return nil }
	}
	if c.RefusedReload == nil {
		c.RefusedReload = func() *reloads.RefusedReload { return nil }
	}
	if c.Certificate == nil {
		c.Certificate = func() string { return "" }
	}
	if c.Certificates == nil {
		c.Certificates = func() *status.CertificateStatus { return nil }
	}
	if c.LogState == nil {
		c.LogState = func(context.Context) (*status.LogStatus, error) { return nil, nil } //nolint:nilnil // there is no log
	}
	if c.LogTrouble == nil {
		c.LogTrouble = func() string { return "" }
	}
	if c.LedgerTrouble == nil {
		c.LedgerTrouble = func() string { return "" }
	}
	services, changes := api.Services{Directory: c.Directory}, &api.Changes{Log: c.Log, Audit: c.Audit, Now: c.Now}
	o := &Operator{services: services, changes: changes, log: c.Log, now: c.Now, version: c.Version, bound: map[string]endpoint{}}
	o.Agreements = &agreements.Operations{Store: c.Store, Now: c.Now, Keyring: c.Keys, Doors: c.Doors}
	o.Billing = &billing.Operations{Store: c.Store, Now: c.Now, Receipts: c.Receipts, Logs: c.Logs}
	o.Calls = &calls.Operations{Store: c.Store, Services: services, Index: c.Index, Log: c.Log}
	o.Catalogue = &catalogue.Operations{View: c.View, Doors: c.Doors, Intents: c.Intents}
	o.Processes = &processes.Operations{
		Store: c.Store, Services: services, Now: c.Now, View: c.View, Doors: c.Doors, Keys: c.Keys, Audit: c.Audit, Figures: c.Figures,
		ID: c.ProcessID, Log: c.Log,
	}
	o.Reloads = &reloads.Operations{Store: c.Store, Services: services, Apply: c.Reload, NeedsRestart: c.NeedsRestart}
	o.Policies = policies.New(policies.Config{
		Store: c.Store, Services: services, Now: c.Now, AuditPath: c.AuditPath, Audit: c.Audit, Calls: o.Calls, Processes: o.Processes,
		Reloads: o.Reloads,
	})
	o.SignIn = &signin.Operations{Store: c.Store, Services: services, Now: c.Now, Changes: changes, ConsoleURL: c.ConsoleURL}
	o.Statuses = &status.Operations{
		Store: c.Store, Services: services, Now: c.Now, Keys: c.Keys, View: c.View, Doors: c.Doors, Audit: c.Audit, Version: c.Version,
		NeedsRestart: c.NeedsRestart, RefusedReload: c.RefusedReload, Certificate: c.Certificate, Certificates: c.Certificates,
		LogState: c.LogState, LogTrouble: c.LogTrouble, LedgerTrouble: c.LedgerTrouble, Log: c.Log,
	}
	o.TestCalls = &testcalls.Operations{Store: c.Store, Services: services, Calls: o.Calls, Playground: c.Playground}
	for _, one := range endpoints(o) {
		o.bound[one.Name()] = one
	}
	return o
}
