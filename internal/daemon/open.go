package daemon

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway"
	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/receipt"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/replica"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/telemetry"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/playground"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// open acquires everything that the process needs. If the configuration has problems and a port is unavailable, it reports the problems,
// because an operator must correct the configuration in any case.
func (p *process) open(ctx context.Context) (err error) {
	listening := p.listen(ctx) // before load, because policies may name the URL of the listener
	loaded, problems := p.load(ctx, p.config)
	switch {
	case loaded == nil:
		return &ProblemsError{problems}
	case listening != nil:
		return listening
	}
	p.report(problems)
	if p.data, err = config.OpenDataDir(p.config.Data); err != nil {
		return err
	}
	p.closers = append(p.closers, p.data.Close)
	if problems := (&Keeper{Config: p.config, Now: p.Now}).LeftBehind(ctx); problems.Failed() {
		return &ProblemsError{problems}
	}
	p.metrics = record.NewMetrics()
	if err := p.openTelemetry(ctx); err != nil {
		return err
	}
	services := servicesOf(p.config, loaded)
	if p.store, err = sqlstore.Open(ctx, p.data.StorePlace(p.config.Store), sqlstore.Options{
		Now: p.Now, Elapsed: p.Elapsed, TokensKept: p.config.PAT.RenewGrace + 2*p.config.PAT.Leeway, Stepped: p.stepped, Services: &services,
		SetBack: p.setBack, ServerChanged: p.serverChanged,
	}); err != nil {
		if lost, ok := errors.AsType[store.ServicesError](err); ok {
			return &ProblemsError{serviceProblems(p.config, problem.Error, lost)}
		}
		return err
	}
	p.closers = append(p.closers, p.store.Close)
	p.reportServices(ctx, loaded)
	if p.store.ServerChanged() {
		p.serverChanged()
	}
	if err := p.renameIdentities(); err != nil {
		return err
	}
	timed := timedStore{p.store, p.metrics.StoreTook, p.Now}
	p.leases = lease.New(timed, lease.Options{Now: p.Now, Sole: p.config.Store.Engine == config.SQLite})
	p.closers = append(p.closers, p.leases.Close)
	p.Now = p.store.Now // all processes that share the store use its clock
	p.openAudit()
	p.figures, p.intents = record.NewFigures(processName(), p.Now), record.NewIntentFigures(p.Now)
	p.index = record.NewIndex(record.IndexOptions{
		Store: p.store, Log: p.Log, Metrics: p.metrics, Now: p.Now, Process: processName(),
	})
	if err := p.openExport(); err != nil {
		return err
	}
	if err := p.openKeys(ctx); err != nil {
		return err
	}
	if err := p.openLogs(ctx); err != nil {
		return err
	}
	p.directory = service.New(service.State{
		Agreements: p.store, Policies: p.store, Keys: p.keys, View: p.view, Log: p.Log, Now: p.Now,
		Forms:   door.Forms(p.modules),
		Prepare: func(d *service.Definition) error { return door.Prepare(p.modules, d) },
	})
	p.replica = replica.New(replica.Options{
		Store: p.store, View: p.view, Figures: p.figures, Name: processName(), Version: p.Version,
		Configuration: func() string { return p.directory.Current().Hash }, Sole: p.config.Store.Engine == config.SQLite, Log: p.Log, Now: p.Now,
	})
	if err := p.build(ctx); err != nil {
		return err
	}
	if err := p.directory.Replace(ctx, loaded); err != nil {
		return err
	}
	p.metrics.Reloaded(p.Now())
	if p.owner, err = p.data.ListenOwner(ctx); err != nil {
		p.Log.Warn("the socket for the operator's commands cannot be opened: the commands use the admin listener instead", zap.Error(err))
	} else {
		p.closers = append(p.closers, closed(p.owner))
	}
	p.openCertificates(ctx)
	first, err := p.liveFrom(p.config)
	if err != nil {
		return err
	}
	//nolint:contextcheck // certificates are obtained until the process ends
	p.takeOver(p.config, first)
	if err := p.openDoors(ctx); err != nil {
		return err
	}
	p.closeSockets()
	p.metrics.Watch(p.Now, p.state)
	return nil
}

// build creates and connects the parts that serve agents and the operator.
func (p *process) build(ctx context.Context) error {
	p.cashier = gateway.NewCashier(gateway.CashierConfig{
		Book: p.store, Receipts: p.receipts, Directory: p.directory, Metrics: p.metrics, Log: p.Log, Now: p.Now,
	})
	p.executor = execute.New(execute.Config{
		Store: p.leases, State: p.store, Revocations: p.view, Now: p.Now,
		Recorder: record.Recorders{p.metrics, p.audit, p.index, p.figures, p.intents, p.telemetry.Traces, p.uses, p.limits},
		Journal:  p.audit, Receipts: p.receipts, Limits: p.leases, Late: p.metrics.Late, Cashier: p.cashier,
	})
	p.agreements = agree.New(agree.Config{PerCaller: p.config.Server.IssuePerAddress, Recorder: p.metrics, Now: p.Now})
	p.consents = consent.New(consent.Config{
		Store: p.store, PerCaller: p.config.Server.IssuePerAddress, All: p.config.Server.Consents, Recorder: p.metrics, Now: p.Now,
	})
	p.notices = p.newNotifier()
	bodies := membudget.NewBudget(membudget.Limit()/bodiesPart, func() { p.metrics.Shed(reason.ShedMemory) })
	p.server = gateway.New(gateway.Config{
		Directory: p.directory, Executor: p.executor, Agreements: p.agreements, Keys: p.keys,
		Ledger: p.store, Receipts: p.receipts, Cashier: p.cashier, Metrics: p.metrics,
		Traces: p.telemetry.Traces, Index: p.index, Log: p.Log, Now: p.Now, PerAddress: p.config.Server.PerAddress,
		Doors: door.Of[door.Door](p.modules), Memory: bodies, Logs: p.store.Logs(), LogKey: p.logKey, Publish: p.publish,
		Alterations: &p.alterations,
	})
	p.operator = admin.New(admin.Config{ //nolint:contextcheck // operations have the contexts of their requests
		Directory: p.directory, Store: p.store, Keys: p.keys, Receipts: p.receipts, Logs: p.adminLogs(),
		View: p.view, Log: p.Log, Now: p.Now, Reload: p.reload, Audit: p.audit, AuditPath: p.data.AuditPath(), Figures: p.figures,
		Intents: p.intents, Index: p.index, ProcessID: p.replica.ID(),
		NeedsRestart: func() []string { return p.live.Load().waiting }, RefusedReload: p.refusal.Load, Doors: p.modules,
		Certificate: p.certificateState, Certificates: p.certificateStatus, LogState: p.logStatus, LogTrouble: p.logTrouble, Version: p.Version,
		LedgerTrouble: p.alterations.trouble,
		ConsoleURL:    p.consoleURL,
		Playground:    playground.New(playground.Options{API: p.server.Handler(), Key: p.data.PrivateKey, Doors: p.modules, Now: p.Now}),
	})
	return door.Provision(ctx, p.modules, door.Process{
		Host: p.server, API: p.server.Handler(), Consents: p.consents, Memory: bodies, Certificate: p.certificate(), Listen: p.listenBeside,
		Services: func() []*service.Service { return p.directory.Current().Services() }, Sole: p.config.Store.Engine == config.SQLite,
		Config: p.config, Data: p.data, Keys: p.keys, State: p.store,
		Shed: p.metrics.Shed, DrainTimeout: func() time.Duration { return p.live.Load().drain }, Metrics: p.metrics.Registry(), Now: p.Now,
		Log: p.Log, Version: p.Version,
		RecordSigning: func(s door.SignatureDecision) {
			p.audit.RecordSigning(p.Now(), s.Service, s.Door, s.Agent, s.Signed, record.SigningLine{Skill: s.Skill, Kind: s.Kind, SHA256: s.SHA256})
		},
	})
}

// openAudit opens the audit stream. If the stream cannot be opened, the gateway still starts, and serves the requests for which no audit
// record is required.
func (p *process) openAudit() {
	p.audit = record.NewAudit(record.AuditOptions{
		Open: func() (record.File, error) { return p.data.AuditLog() }, Log: p.Log, Metrics: p.metrics,
		Parameters: p.config.Audit.Parameters, Required: p.config.Audit.Required,
	})
	p.closers = append(p.closers, p.audit.Close)
	_ = p.audit.Flush() // logs its errors
}

// processName returns the name of this process for operators: the host name, of at most 64 bytes, and the process id.
func processName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return host[:min(len(host), 64)] + ":" + strconv.Itoa(os.Getpid())
}

// openTelemetry starts the export of traces, metrics and logs. Earlier log entries are not exported.
func (p *process) openTelemetry(ctx context.Context) (err error) {
	p.telemetry, err = telemetry.Open(ctx, telemetry.Options{
		OTLP: p.config.Telemetry.OTLP, Environment: p.Environment, Version: p.Version, Registry: p.metrics.Registry(),
		Lost: p.metrics.TelemetryLost, Log: p.Log,
	})
	if err != nil {
		return err
	}
	p.closers = append(p.closers, p.telemetry.Close)
	p.Log = p.telemetry.Log(p.Log)
	return nil
}

func (p *process) openKeys(ctx context.Context) (err error) {
	c := p.config.PAT
	p.keys, err = keys.Open(ctx, keys.Config{
		Store: p.store, Files: p.data.Keys(), Algorithm: string(c.Algorithm),
		Overlap: max(time.Minute, c.TTL+c.RenewGrace+2*c.Leeway), Process: p.data.Process(), Now: p.Now,
	})
	if err != nil {
		return err
	}
	receipts, err := p.keys.For(ctx, keys.ForReceipts, keys.EdDSA, p.data.KeysFor(string(keys.ForReceipts), keys.EdDSA))
	if err != nil {
		return err
	}
	receipts.ExtendOverlap(p.config.Billing.Retain) // receipts are verified for as long as the ledger is kept
	p.receipts, p.receiptKeys = receipt.New(receipts, p.config.Evidence), receipts
	p.view = pat.NewView(p.store, p.keys, p.Now)
	if err := p.view.Refresh(ctx); err != nil {
		return err
	}
	return p.keys.Reload(ctx) // the view has not read which keys have ended since p.keys was opened
}
