package soak

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A world is one run: gateways, the upstream behind them, agents, and the records of all of them.
type world struct {
	t        *testing.T
	clock    clock
	upstream *upstream
	inbox    *inbox
	gateways []*gateway
	proxies  []*pgtest.Proxy // between each gateway and the database; none for SQLite
	client   *http.Client
	open     func(context.Context) (records, error) // opens the store when no gateway is running

	over       chan struct{} // closed when the load ends
	loading    sync.WaitGroup
	known      []*agent     // the regular agents
	doorAgents []*doorAgent // the agents of other protocols
	unapproved map[string]bool
	avoided    atomic.Pointer[gateway] // agents avoid this gateway
	attacked   bool
	loses      bool         // the database loses commits during the run
	declined   atomic.Int64 // how often an agent received the reason why its negotiation was declined
	singles    atomic.Int64 // the attempts of calls that are made only once
	purchases  atomic.Int64 // the charged calls

	accepted chan *gateway // passes the gateway that has accepted a call, and answers it later, to the one that waits for it

	mu       sync.Mutex
	attempts []attempt
	endings  []revocation
	freezes  []freeze
	probes   []probe
	outages  []outage
	faults   floor // how often each fault was caused that has no other record
}

// records is the part of a store that judges read.
type records interface {
	Executions(ctx context.Context, f store.Filter) ([]store.Execution, error)
	Ledger(ctx context.Context, f store.Filter) ([]store.Entry, error)
	Accounts(ctx context.Context, f store.Filter) ([]store.Account, error)
	Agreements(ctx context.Context, f store.AgreementFilter) ([]pat.Agreement, error)
	CheckBalance(ctx context.Context) error
	Close() error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: newClock(), unapproved: map[string]bool{}, faults: floor{}, accepted: make(chan *gateway)}
	w.upstream, w.inbox = newUpstream(t, w.clock), newInbox(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	w.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	return w
}

// sqliteWorld starts one gateway with its own SQLite file.
func sqliteWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	g := newGateway(t, "a", w.config(""))
	w.gateways = []*gateway{g}
	w.open = sqliteRecords(g)
	w.startAll()
	return w
}

func sqliteRecords(g *gateway) func(context.Context) (records, error) {
	return func(ctx context.Context) (records, error) {
		return sqlstore.Open(ctx, g.statePath(), sqlstore.Options{Now: time.Now})
	}
}

func (w *world) startAll() {
	w.t.Helper()
	var wg sync.WaitGroup
	for _, g := range w.gateways {
		wg.Go(func() {
			if err := g.start(context.WithoutCancel(w.t.Context())); err != nil {
				w.t.Error(err)
			}
		})
	}
	wg.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// anyGateway returns a random running gateway, or nil if there is none.
func (w *world) anyGateway() *gateway {
	avoided := w.avoided.Load()
	running := make([]*gateway, 0, len(w.gateways))
	for _, g := range w.gateways {
		if g.url() != "" && g != avoided {
			running = append(running, g)
		}
	}
	if len(running) == 0 {
		return nil
	}
	return pick(running)
}

var errNoGateway = errors.New("no gateway is running")

// retry calls do with one gateway after another until it succeeds.
func (w *world) retry(do func(*gateway) error) error {
	for end := w.clock.now() + time.Minute; ; pause(nil, 20*time.Millisecond) {
		err := errNoGateway
		if g := w.anyGateway(); g != nil {
			err = do(g)
		}
		if err == nil || w.clock.now() > end {
			return err
		}
	}
}

// pause waits, and reports whether over is still open.
func pause(over <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-over:
		return false
	default:
	}
	select {
	case <-timer.C:
		return true
	case <-over:
		return false
	}
}

// random returns a random duration between from and to.
func random(from, to time.Duration) time.Duration {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(to-from)+1))
	if err != nil {
		panic(err)
	}
	return from + time.Duration(n.Int64())
}

// killLoop kills a random gateway about once a second and restarts it, until the load is over. Then all gateways are running. If a restart
// takes long, the gateway runs for at least as long before the next one is killed. Every second time it kills a gateway that has to send an
// answer, which kills at random times can miss for a long time.
func (w *world) killLoop() {
	n := 0
	for up := time.Duration(0); pause(w.over, max(up, random(300*time.Millisecond, 1200*time.Millisecond))); n++ {
		g := pick(w.gateways)
		if n%2 == 0 {
			g = w.answering(g)
		}
		began := w.clock.now()
		w.killOnce(g)
		up = w.clock.now() - began
	}
	w.t.Logf("%6.1fs  killed and restarted %d times", w.clock.now().Seconds(), n)
}

// answering returns a gateway that has accepted a call and has to send the answer. If no gateway does so within a second, it returns other.
func (w *world) answering(other *gateway) *gateway {
	select {
	case g := <-w.accepted:
		return g
	case <-w.over:
	case <-time.After(time.Second):
	}
	return other
}

func (w *world) killOnce(g *gateway) {
	if err := g.restart(context.WithoutCancel(w.t.Context()), syscall.SIGKILL); err != nil {
		w.t.Error(err)
	}
	w.caused("kills")
}

// caused counts a fault.
func (w *world) caused(fault string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[fault]++
}

// recover checks that every gateway serves calls again, without a restart.
func (w *world) recover() {
	w.t.Helper()
	late := w.agentNamed("late", 1)
	w.approve(late) // so that it can pay although the others already owe
	for _, g := range w.gateways {
		free, paid := w.serves(g, late, details), w.serves(g, late, order)
		if free != nil || paid != nil {
			w.t.Errorf("%s does not serve calls again: %v, %v\n%s", g.name, free, paid, g.lastLogLines())
		}
	}
}

// serves retries for a while, until a gateway reports that it is ready and serves a call.
func (w *world) serves(g *gateway, a *agent, intent string) error {
	end := w.clock.now() + 30*time.Second
	for n := 0; ; n++ {
		ready, _, body, err := w.do(http.MethodGet, g.admin()+"/readyz", nil, nil)
		got := attempt{Lost: true}
		if ready == http.StatusOK {
			if got = (call{
				agent: a, token: a.token(), intent: intent,
				ref: fmt.Sprintf("late-%s-%s-%d.%s", g.name, intent, n, effectDone),
			}).at(g); got.Status == http.StatusOK {
				return nil
			}
		}
		if pause(nil, 50*time.Millisecond); w.clock.now() > end {
			return fmt.Errorf("ready: %d %.300s %w; answer: %+v", ready, body, err, got)
		}
	}
}

// logs returns the records of agents and the upstream so far.
func (w *world) logs() *evidence {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &evidence{
		Arrivals: w.upstream.arrivals(), Attempts: slices.Clone(w.attempts), Endings: slices.Clone(w.endings), Freezes: slices.Clone(w.freezes),
		Probes: slices.Clone(w.probes), Outages: slices.Clone(w.outages), Faults: maps.Clone(w.faults), Declined: int(w.declined.Load()),
		Attacked: w.attacked,
	}
}

func (w *world) count() floor { return w.logs().count() }

// evidence stops the gateways, opens the store, and collects everything that was recorded.
func (w *world) evidence() *evidence {
	w.t.Helper()
	logs := map[string]string{}
	for _, g := range w.gateways {
		if err := g.end(syscall.SIGTERM); err != nil {
			w.t.Errorf("orderly shutdown: %v", err)
		}
		logs[g.name] = g.log()
	}
	e := w.logs()
	e.Began, e.Terms, e.Unapproved, e.Logs = w.clock.began, terms(), w.unapproved, logs
	ctx := w.t.Context()
	s, err := w.open(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	}()
	if err := e.readStore(ctx, s); err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (e *evidence) readStore(ctx context.Context, s records) (err error) {
	e.Executions, err = pages(ctx, s.Executions, func(x store.Execution) string { return x.ID })
	if err != nil {
		return err
	}
	e.Ledger, err = pages(ctx, s.Ledger, func(x store.Entry) string { return fmt.Sprint(x.Seq) })
	if err != nil {
		return err
	}
	e.Accounts, err = pages(ctx, s.Accounts, func(x store.Account) string { return string(x.AgentID) + " " + x.Currency })
	if err != nil {
		return err
	}
	if e.Unbalanced = s.CheckBalance(ctx); errors.Is(e.Unbalanced, store.ErrUnavailable) {
		return e.Unbalanced
	}
	return nil
}

func pages[T any](ctx context.Context, list func(context.Context, store.Filter) ([]T, error), cursor func(T) string) ([]T, error) {
	var all []T
	for f := (store.Filter{Service: service, Limit: 1000}); ; f.After = cursor(all[len(all)-1]) {
		page, err := list(ctx, f)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
	}
}
