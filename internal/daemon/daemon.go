// Package daemon runs one gateway process: it opens the state, builds the gateway, serves requests, reloads the configuration and drains.
// The serve and demo commands, the benchmark and the end-to-end tests all use it. A Keeper backs up and restores the state of such a
// process.
package daemon

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway"
	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/receipt"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/record/export"
	"github.com/uimgate/uimgate/gateway/replica"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/telemetry"
	"github.com/uimgate/uimgate/internal/acme"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/store/lease"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Options configure Run.
type Options struct {
	// Config is the first configuration.
	Config *config.Config
	// Load reads the configuration again for each reload. If it cannot be used, Load returns nil and the problems.
	Load func() (*config.Config, config.Problems)
	// Reload receives a value for each requested reload, for example on SIGHUP. It may be nil.
	Reload <-chan struct{}
	// Sockets are listeners that the service manager has opened. If a configured listener has the address of one of them, it uses that socket
	// instead of opening its own. Run closes the sockets that no listener uses.
	Sockets []net.Listener
	// Ready is called once, when the process accepts requests. It may be nil.
	Ready func(Addresses)
	// Phase is called when the process begins to serve, to reload and to stop; after a reload it is called with Serving again. Its calls do
	// not overlap. It may be nil.
	Phase func(Phase)
	Log   *zap.Logger
	Now   func() time.Time
	// Elapsed is a clock that never goes back. If it is nil, the monotonic readings of Now are used.
	Elapsed func() time.Duration
	// Environment returns the value of an environment variable, for the OTEL_* variables. If it is nil, no variable is set.
	Environment func(name string) string
	// Version and Commit identify the program in its metrics.
	Version, Commit string
	slack           time.Duration // for tests; 0 means writeSlack
	park            time.Duration // for tests; 0 means parkAfter
	renewals        time.Duration // for tests: acme.Options.LookEvery
	noticesEvery    time.Duration // for tests: notify.Options.Every
	exportEvery     time.Duration // for tests: export.Options.Every
}

// A Phase is a state of the process that is reported to its service manager.
type Phase int

// The phases, in order. Stopping is the last one.
const (
	Serving Phase = iota + 1
	Reloading
	Stopping
)

// enter reports a phase, unless the process is already stopping.
func (p *process) enter(next Phase) {
	if p.Phase == nil {
		return
	}
	p.phases.Lock()
	defer p.phases.Unlock()
	if p.phase != Stopping {
		p.phase = next
		p.Phase(next)
	}
}

// A ProblemsError means that a configuration cannot be used.
type ProblemsError struct{ Problems config.Problems }

func (e *ProblemsError) Error() string {
	return fmt.Sprintf("the configuration cannot be used; number of problems: %d", len(e.Problems))
}

// Run serves until ctx is done, and then drains. It returns an error only if the process could not start, or if a part of it failed. If the
// configuration cannot be used, Run returns a *ProblemsError.
func Run(ctx context.Context, o Options) error {
	p := &process{Options: o, config: o.Config, started: o.Config, modules: bindings.Modules(), uses: newUseLog()}
	p.limits = &limitNotices{now: p.Now}
	defer p.close()
	if err := p.open(ctx); err != nil {
		return err
	}
	began := o.Now()
	err := p.serve(ctx)
	p.stopped(o.Now().Sub(began))
	return err
}

// leftBehind counts the work that the end of the process interrupted: calls in progress, and outcomes that were not stored.
type leftBehind struct{ calls, ends atomic.Int64 }

// stopped logs one line that counts the completed and the interrupted work of the process.
func (p *process) stopped(ran time.Duration) {
	calls, done := p.metrics.Calls()
	p.Log.Info("stopped", zap.Stringer("ran", ran.Round(time.Second)), zap.Int64("calls", calls), zap.Int64("done", done),
		zap.Int64("cut_off", p.left.calls.Load()), zap.Int64("not_stored", p.left.ends.Load()))
}

type process struct {
	Options
	config        *config.Config
	data          *config.DataDir
	store         *sqlstore.Store
	leases        *lease.Holder
	public, admin net.Listener
	owner         net.Listener        // the owner's socket in the data directory; nil if there is none
	probes        net.Listener        // for probes and Prometheus; nil if there is none
	plain         net.Listener        // for ACME and redirects; nil if there is none
	certificates  *acme.Manager       // nil if server.tls.acme is not used
	bounded       *connlimit.Listener // the same listener as public
	addresses     Addresses
	audit         *record.Audit
	index         *record.Index
	figures       *record.Figures
	intents       *record.IntentFigures
	replica       *replica.Reporter
	export        *export.Exporter // nil: the audit stream is not exported
	metrics       *record.Metrics
	uses          *useLog
	limits        *limitNotices
	telemetry     *telemetry.Exporter
	view          *pat.View
	keys          *keys.Keyring
	receipts      *receipt.Signer
	receiptKeys   *keys.Keyring
	logs          *ledgerLogs // nil: none
	directory     *service.Directory
	executor      *execute.Executor
	cashier       *payments.Cashier
	agreements    *agree.Service
	notices       *notifier
	consents      *consent.Service
	modules       []door.Module
	server        *gateway.Server
	operator      *admin.Operator
	live          atomic.Pointer[live]
	applied       atomic.Pointer[config.Config] // the configuration in use
	started       *config.Config                // the configuration at the start; settings that need a restart keep its values
	closers       []func() error
	left          leftBehind
	alterations   alterations                           // what was found altered in the ledger
	refusal       atomic.Pointer[reloads.RefusedReload] // the refusal of the last reload; nil if the reload was applied
	reloading     sync.Mutex                            // held during a reload; guards config once the process serves
	phases        sync.Mutex                            // guards phase
	phase         Phase
}

func (p *process) load(ctx context.Context, c *config.Config) (*service.LoadedConfig, config.Problems) {
	if p.public != nil {
		c.Bound(p.public.Addr())
	}
	return service.Load(ctx, c, p.Now)
}

func (p *process) report(problems config.Problems) {
	for _, problem := range problems {
		p.Log.Warn("configuration", zap.String("problem", problem.String()))
	}
}

const (
	idleTimeout = 2 * time.Minute
	// maxHeaderBytes is enough for two PATs of the maximum length.
	maxHeaderBytes = 64 << 10
)

// drainEnds stores the known outcomes of calls, within the drain timeout.
func (p *process) drainEnds(ctx context.Context) {
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.live.Load().drain)
	defer cancel()
	if left := p.executor.Drain(drain); left > 0 {
		p.left.ends.Store(int64(left))
		p.Log.Error("the outcomes of calls could not be stored: see uimgate usage", zap.Int("unresolved", left))
	}
}

func (p *process) close() {
	for _, v := range slices.Backward(p.closers) {
		if err := v(); err != nil {
			p.Log.Error("a resource could not be closed", zap.Error(err))
		}
	}
}
