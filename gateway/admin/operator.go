// Package admin implements the operator's operations on a running gateway, as methods of an Operator and as an HTTP handler. Both use the
// same request and response types. Package client calls the operations from another process.
//
//	operator := admin.New(admin.Config{Directory: directory, Store: state, …})
//	agents, err := operator.Agents(ctx, admin.AgentQuery{Status: pat.AgentBlocked})
//	http.Serve(ln, admin.Handler(operator, admin.Listener{Tokens: tokens, Metrics: registry}))
package admin

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
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
	Logs      Logs            // nil: Evidence has no proofs of the log
	View      *pat.View
	Log       *zap.Logger
	Now       func() time.Time
	// Reload reads and applies the current configuration, and returns its problems. With force, it also applies one that ends the calls of
	// agents. nil: reloads are not available.
	Reload func(ctx context.Context, force bool) config.Problems
	// NeedsRestart returns the changed settings, such as server.listen, that take effect only after a restart. nil: there are none.
	NeedsRestart func() []string
	// RefusedReload returns the last reload if it was refused, and otherwise nil. nil: no reload was refused.
	RefusedReload func() *RefusedReload
	// Certificate describes what is wrong with the certificates of the listeners, without host names. It returns an empty string if they are
	// valid. nil: the certificates are not checked.
	Certificate func() string
	// Certificates describes the certificates of the listeners. It returns nil if they serve http. nil: they do.
	Certificates func() *CertificateStatus
	// LogState returns the state of the logs of the ledger, or nil if there are none. nil: there are none.
	LogState func(ctx context.Context) (*LogStatus, error)
	// LogTrouble describes the problems of the checkpoints of the logs, or returns an empty string. nil: they are not checked.
	LogTrouble func() string
	// Audit is the audit stream that Health checks. nil: Health does not depend on it.
	Audit *record.Audit
	// Figures counts calls. nil: CallFigures returns an error.
	Figures *record.Figures
	// ProcessID is the store.Process.ID of this process. Empty: it does not report to the store.
	ProcessID string
	// Intents counts the calls of each intent. nil: they are not counted.
	Intents *record.IntentFigures
	// AuditPath is the path of the audit stream, which Impact reads. Empty: there is none.
	AuditPath string
	// Index holds records that Why reads, and that may not be written to the store yet. nil: there are none.
	Index *record.Index
	// Version is the release of the program, which Status reports.
	Version string
	// Doors are the other protocols that agents can use.
	Doors []door.Module
	// ConsoleURL returns the URL of the console, with a trailing slash, for browsers on this machine. nil: the process has no console.
	ConsoleURL func() string
	// Playground makes test calls. nil: there is none.
	Playground Playground
}

// An Operator carries out operations on a running gateway. Its methods are safe for concurrent use. Their errors wrap a *reason.Refusal or
// an error of package pat, keys, store or money, or come from the Store.
type Operator struct {
	directory   *service.Directory
	services    Services
	changes     *Changes
	store       Store
	keys        *keys.Keyring
	receipts    *receipt.Signer
	logs        Logs
	view        *pat.View
	log         *zap.Logger
	roles       map[string]Role // of the operations, by name
	now         func() time.Time
	reload      func(ctx context.Context, force bool) config.Problems
	waiting     func() []string
	refused     func() *RefusedReload
	certificate func() string
	certified   func() *CertificateStatus
	logState    func(ctx context.Context) (*LogStatus, error)
	logTrouble  func() string
	audit       *record.Audit
	auditPath   string
	figures     *record.Figures
	processID   string
	intents     *record.IntentFigures
	index       *record.Index
	doors       []door.Module
	version     string
	consoleURL  func() string
	playground  Playground
	readiness   readiness
	saving      sync.Mutex // held while SavePolicy replaces a file
	comparing   turn
	draining    atomic.Bool // the process is shutting down: see Drain
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
	if c.Certificates == nil {
		c.Certificates = func() *CertificateStatus { return nil }
	}
	if c.LogState == nil {
		c.LogState = func(context.Context) (*LogStatus, error) { return nil, nil } //nolint:nilnil // there is no log
	}
	if c.LogTrouble == nil {
		c.LogTrouble = func() string { return "" }
	}
	o := &Operator{
		directory: c.Directory, services: Services{c.Directory}, changes: &Changes{c.Log, c.Audit, c.Now}, store: c.Store, keys: c.Keys, receipts: c.Receipts, logs: c.Logs, view: c.View, log: c.Log, now: c.Now,
		reload: c.Reload, audit: c.Audit, auditPath: c.AuditPath, figures: c.Figures, processID: c.ProcessID, intents: c.Intents,
		index: c.Index, certificate: c.Certificate, certified: c.Certificates, logState: c.LogState, logTrouble: c.LogTrouble,
		waiting: c.NeedsRestart, refused: c.RefusedReload, doors: c.Doors, version: c.Version, consoleURL: c.ConsoleURL,
		playground: c.Playground, comparing: make(turn, 1),
		roles: map[string]Role{},
	}
	for _, one := range operations(o) {
		o.roles[one.name()] = one.role
	}
	return o
}

// Drain makes Health report that this process is shutting down, so that it gets no new calls. The process continues to answer calls.
func (o *Operator) Drain() { o.draining.Store(true) }
