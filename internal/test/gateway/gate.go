// Package gatetest has a whole gateway for tests: services, executor and public listener on a real store in a file, a clock that the test
// sets, and an upstream that the test controls.
package gatetest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/bindings/mrp/relayhost"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway"
	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/receipt"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/replica"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The intents of the default files: Searching is free, Ordering costs 0.25 EUR.
const (
	Searching = "shop.example:search:v1"
	Ordering  = "shop.example:order:v1"
)

// AgentsFile is the default agents.json.
const AgentsFile = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:search:v1", "intent_name": "Search", "description": "Search.",
     "input_parameters": [{"name": "query", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/search", "method": "GET"}},
    {"intent_uid": "shop.example:order:v1", "intent_name": "Order", "description": "Order.",
     "input_parameters": [{"name": "product", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/orders", "method": "POST", "content_type": "application/json"}}
  ]
}`

// PolicyFile is the default policy.
const PolicyFile = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search:v1", "action": "execute"},
    {"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`

// Unproved is a member of a service, in flow style, that permits charged orders without a proof of key.
const Unproved = `intents: {"` + Ordering + `": {proof: optional}}`

// A Gate is a whole gateway without the operator's listener.
type Gate struct {
	*testing.T
	Store      *sqlstore.Store
	Keys       *keys.Keyring
	Receipts   *receipt.Signer
	View       *pat.View
	Directory  *service.Directory
	Executor   *execute.Executor
	Cashier    *payments.Cashier // Run is not called: the test calls Settle
	Agreements *agree.Service
	Consents   *consent.Service
	Documents  *fetch.Client // fetches documents that strangers name; prepare may set one that trusts a server of the test
	Metrics    *record.Metrics
	Index      *record.Index
	Audit      *record.Audit
	Figures    *record.Figures
	Intents    *record.IntentFigures
	Replica    *replica.Reporter // Run does not run: a test calls Report
	Log        *zap.Logger
	Logs       *observer.ObservedLogs // entries written to Log
	URL        string                 // the URL of the public listener
	Handler    http.Handler           // the handler of the public listener
	Host       door.Host              // carries out requests in messages
	Settings   string                 // the first uimgate.yaml
	Upstream   func(http.ResponseWriter, *http.Request)
	Memory     *membudget.Budget // for all requests; prepare may set a smaller one
	// Connections bounds the connections of the public listener. If prepare sets it, server.connections_per_address applies too.
	Connections int
	RelayURL    string        // URL of the MRP relay, if the settings have RelaySettings
	Modules     []door.Module // prepare may add some
	Data        *config.DataDir
	Drain       func() // ends the background work of the doors, once; no request may follow

	dir   string
	mu    sync.Mutex
	clock time.Time
}

// Now returns the time of the gateway's clock.
func (g *Gate) Now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock
}

// Pass moves the clock.
func (g *Gate) Pass(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock = g.clock.Add(d)
}

// Later moves the clock and refreshes the view of revocations, as its goroutine would.
func (g *Gate) Later(d time.Duration) {
	g.Helper()
	g.Pass(d)
	g.Must(g.View.Refresh(g.Context()))
}

// Must ends the test if err is not nil.
func (g *Gate) Must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// New builds a Gate. prepare may replace the default files.
func New(t *testing.T, settings string, prepare ...func(*Gate)) *Gate {
	t.Helper()
	g := &Gate{T: t, clock: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), dir: t.TempDir()}
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		serve := g.Upstream
		g.mu.Unlock()
		serve(w, r)
	}))
	t.Cleanup(upstream.Close)
	if settings == "" {
		settings = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " + Unproved + "}\n"
	}
	g.Modules = bindings.Modules()
	g.Write("agents.json", AgentsFile)
	g.Write("policy.json", PolicyFile)
	for _, write := range prepare {
		write(g)
	}
	if !strings.Contains(settings, "billing:") {
		settings = "billing: {credit: 100 EUR}\n" + settings
	}
	if !strings.Contains(settings, "server:") {
		settings = "server: {issue_per_address: 1000/second, per_address: 10000/second}\n" + settings
	}
	g.Settings = strings.ReplaceAll(settings, "UPSTREAM", upstream.URL)
	g.Write("uimgate.yaml", g.Settings)
	cfg, loaded := g.load()
	data, err := config.OpenDataDir(cfg.Data)
	g.Must(err)
	g.Data = data
	t.Cleanup(func() { g.Must(data.Close()) })
	var services store.Services
	for _, d := range loaded.Definitions() {
		services.Served = append(services.Served, store.Service{ID: d.ID, Issuer: d.Issuer})
	}
	sqlitetest.Empty.Copy(t, data.StatePath())
	g.Store, err = sqlstore.Open(t.Context(), data.StatePath(), sqlstore.Options{Now: g.Now, Services: &services})
	g.Must(err)
	t.Cleanup(func() { g.Must(g.Store.Close()) })
	g.Store.KeepLedger(cfg.Billing.Retain)
	core, logs := observer.New(zapcore.DebugLevel)
	g.Log, g.Logs, g.Metrics = zap.New(core), logs, record.NewMetrics()
	g.Keys, err = keys.Open(t.Context(), keys.Config{
		Store: g.Store, Files: data.Keys(), Algorithm: "EdDSA",
		Overlap: 2 * time.Hour, Now: g.Now,
	})
	g.Must(err)
	receipts, err := g.Keys.For(t.Context(), keys.ForReceipts, keys.EdDSA, data.KeysFor(string(keys.ForReceipts), keys.EdDSA))
	g.Must(err)
	g.Receipts = receipt.New(receipts, cfg.Evidence)
	g.View = pat.NewView(g.Store, g.Keys, g.Now)
	g.Must(g.View.Refresh(t.Context()))
	g.Directory = service.New(service.State{
		Agreements: g.Store, Policies: g.Store, Keys: g.Keys, View: g.View, Log: g.Log, Now: g.Now,
		Forms:   door.Forms(g.Modules),
		Prepare: func(d *service.Definition) error { return door.Prepare(g.Modules, d) },
	})
	g.Figures, g.Intents = record.NewFigures("test:1", g.Now), record.NewIntentFigures(g.Now)
	g.Replica = replica.New(replica.Options{
		Store: g.Store, View: g.View, Figures: g.Figures, Name: "test:1", Version: "test", Sole: true, Log: g.Log, Now: g.Now,
		Configuration: func() string { return g.Directory.Current().Hash },
	})
	g.Index = record.NewIndex(record.IndexOptions{Store: g.Store, Log: g.Log, Metrics: g.Metrics, Now: g.Now, Process: "test:1"})
	g.Index.Configure(cfg.Audit.Index.Retain, cfg.Audit.Index.Limit)
	g.Cashier = gateway.NewCashier(gateway.CashierConfig{
		Book: g.Store, Receipts: g.Receipts, Directory: g.Directory, Metrics: g.Metrics, Log: g.Log, Now: g.Now,
	})
	g.Executor = execute.New(execute.Config{
		Store: g.Store, State: g.Store, Revocations: g.View, Now: g.Now,
		Recorder: record.Recorders{g.Metrics, g.audit(), g.Index, g.Figures, g.Intents},
		Receipts: g.Receipts, Late: g.Metrics.Late,
		Cashier: g.Cashier, Limits: lease.New(g.Store, lease.Options{Now: g.Now, Sole: true}),
	})
	g.Agreements = agree.New(agree.Config{PerCaller: cfg.Server.IssuePerAddress, Recorder: g.Metrics, Now: g.Now})
	g.Consents = consent.New(consent.Config{
		Store: g.Store, PerCaller: cfg.Server.IssuePerAddress, All: cfg.Server.Consents, Recorder: g.Metrics, Now: g.Now,
	})
	if g.Memory == nil {
		g.Memory = membudget.NewBudget(64<<20, func() { g.Metrics.Shed(reason.ShedMemory) })
	}
	server := gateway.New(gateway.Config{
		Directory: g.Directory, Executor: g.Executor, Agreements: g.Agreements, Keys: g.Keys, Metrics: g.Metrics, Index: g.Index,
		Ledger: g.Store, Receipts: g.Receipts, Cashier: g.Cashier, Log: g.Log, Now: g.Now,
		PerAddress: cfg.Server.PerAddress, Memory: g.Memory, Doors: door.Of[door.Door](g.Modules),
	})
	g.Handler, g.Host = server.Handler(), server
	g.Must(door.Provision(t.Context(), g.Modules, door.Process{
		Host: server, API: g.Handler, Consents: g.Consents,
		Services: func() []*service.Service { return g.Directory.Current().Services() }, Sole: true,
		Config: cfg, Data: data, Keys: g.Keys, State: g.Store, Listen: g.bind, Documents: g.Documents, Memory: g.Memory, Shed: g.Metrics.Shed,
		DrainTimeout: func() time.Duration { return cfg.Server.DrainTimeout }, Metrics: prometheus.NewRegistry(), Now: g.Now, Log: g.Log,
		RecordSigning: func(s door.SignatureDecision) {
			g.Audit.RecordSigning(g.Now(), s.Service, s.Door, s.Agent, s.Signed, record.SigningLine{Skill: s.Skill, Kind: s.Kind, SHA256: s.SHA256})
		},
	}))
	g.Must(g.Directory.Replace(t.Context(), loaded))
	for _, l := range door.Of[door.Listener](g.Modules) {
		g.RelayURL = l.URLs()[relayhost.Key]
	}
	g.Must(g.open())
	g.run()
	g.listen(cfg.Server.Connections)
	return g
}

// run runs the background work of the doors until the test ends, and then drains them.
func (g *Gate) run() {
	var drains []func()
	for _, runner := range door.Of[door.Runner](g.Modules) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(g.Context()))
		ended := make(chan error, 1)
		go func() { ended <- runner.Run(ctx) }()
		drains = append(drains, func() {
			runner.Drain(ctx)
			cancel()
			g.Must(<-ended)
		})
	}
	g.Drain = sync.OnceFunc(func() {
		for _, drain := range drains {
			drain()
		}
	})
	g.Cleanup(g.Drain)
}

// bind listens at an address until the test ends.
func (g *Gate) bind(ctx context.Context, address string) (net.Listener, string, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, "", err
	}
	g.Cleanup(func() { _ = ln.Close() })
	return ln, "http://" + ln.Addr().String(), nil
}

// audit returns an audit stream that discards its records.
func (g *Gate) audit() *record.Audit {
	g.Audit = record.NewAudit(record.AuditOptions{
		Open: func() (record.File, error) {
			return os.OpenFile(g.AuditPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		},
		Log: g.Log, Metrics: g.Metrics,
	})
	g.Cleanup(func() { g.Must(g.Audit.Close()) })
	return g.Audit
}

// AuditPath returns the path of the audit stream that Audit writes.
func (g *Gate) AuditPath() string { return filepath.Join(g.dir, "audit.jsonl") }

// Path returns the path of a file that Write has written.
func (g *Gate) Path(name string) string { return filepath.Join(g.dir, name) }

// load reads the current configuration.
func (g *Gate) load() (*config.Config, *service.LoadedConfig) {
	g.Helper()
	cfg, found := config.Load(filepath.Join(g.dir, "uimgate.yaml"), config.Overrides{
		Env: func(string) (string, bool) { return "", false }, Data: filepath.Join(g.dir, "data"), Blocks: door.Blocks(g.Modules),
	})
	if cfg == nil {
		g.Fatal(found.Err())
	}
	loaded, found := service.Load(g.Context(), cfg, g.Now)
	if loaded == nil {
		g.Fatal(found.Err())
	}
	return cfg, loaded
}

// Reload applies the current configuration.
func (g *Gate) Reload() {
	g.Helper()
	g.Must(g.TryReload())
}

// TryReload is like Reload, but returns an error if a door stays closed.
func (g *Gate) TryReload() error {
	g.Helper()
	_, loaded := g.load()
	g.Must(g.Directory.Replace(g.Context(), loaded))
	return g.open()
}

// open opens the doors that have their own listeners, for the current services.
func (g *Gate) open() error {
	for _, opener := range door.Of[door.Opener](g.Modules) {
		if err := opener.Open(g.Context(), g.Directory.Current().Services()); err != nil {
			return err
		}
	}
	return nil
}

// Addresses returns the addresses of a door at the service default, or nil if it is closed.
func (g *Gate) Addresses(module string) map[string]string {
	for _, status := range door.Statuses(g.Modules, g.Directory.Current().Service("default")) {
		if status.Door == module {
			return status.Addresses
		}
	}
	return nil
}

// Write writes a file of the configuration.
func (g *Gate) Write(name, text string) {
	g.Helper()
	g.Must(os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600))
}
