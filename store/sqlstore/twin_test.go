package sqlstore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A twinStores is a pair of databases that execute the same operations: the first journals the changes of calls, and the second writes them
// into the tables at once. Each database has two processes.
type twinStores struct {
	t     *testing.T
	r     *rand.Rand
	in    *world
	path  [2]string
	of    [2][2]*process
	open  []store.Admission
	ids   int
	steps map[string]int // the number of successful steps by kind

	journaled int // records in the journal
}

func (w *twinStores) start(twin int) *process {
	p := begin(w.t, w.path[twin], w.in, twin == 0, func() { w.journaled++ })
	p.s.Salt = func() []byte { return make([]byte, 16) } // the same for both twins
	return p
}

// on runs the same calls on both twins, in the same process of each, and compares the results. The commit of a single operation may fail.
// Then only the stored state must be the same, because a refused operation has something to commit in only one of the twins.
func (w *twinStores) on(what string, calls ...func(s *Store) (any, error)) []any {
	w.t.Helper()
	which := w.r.IntN(8) / 7 // rarely the second process
	flaw := noFault
	if n := w.r.IntN(12); len(calls) == 1 && slices.Contains([]string{"calls", "top-up", "ready", "balance"}, what) && n < 2 {
		flaw = lostBefore + fault(n)
	}
	type result struct {
		Value any
		Err   string
	}
	var results [2][]result
	values := make([]any, len(calls))
	for twin := range results {
		p := w.of[twin][which]
		p.fault = flaw
		results[twin] = make([]result, len(calls))
		run := make([]func(), len(calls))
		for i, call := range calls {
			run[i] = func() {
				v, err := call(p.s)
				results[twin][i] = result{v, fmt.Sprint(err)}
				if err == nil && twin == 0 {
					values[i] = v
				}
			}
		}
		p.together(w.t.Context(), run...)
		p.fault = noFault
	}
	if flaw == noFault && !reflect.DeepEqual(results[0], results[1]) {
		w.t.Fatalf("%s: journaled %+v\nat once    %+v", what, results[0], results[1])
	}
	for _, v := range values {
		if v != nil {
			w.steps[what]++
		}
	}
	return values
}

func (w *twinStores) agent() pat.AgentID { return pat.AgentID("a" + string(rune('0'+w.r.IntN(4)))) }

func (w *twinStores) request() store.BeginRequest {
	w.ids++
	who := w.agent()
	r := store.BeginRequest{
		Execution: store.Execution{
			ID: fmt.Sprintf("%05d", w.ids^w.r.IntN(4)), Service: "s", AgentID: who, Intent: "i", AgreementID: pat.AgreementID("g" + who),
			Fingerprint: "f", PolicyDigest: "d",
			Evidence: &store.Evidence{KeyID: "k", Proof: "p", Decision: "d", Text: &store.EvidenceText{Proof: "jws", Asked: []byte("{}")}},
		},
		Limits: []store.Reservation{
			{Principal: pat.Principal(who), Limit: limit.Limit{ID: "l", Rate: limit.Rate{Max: 40, Period: limit.Hour}}},
			{Limit: limit.Limit{ID: "all", Rate: limit.Rate{Max: 20, Period: limit.Minute}}},
		},
		Candidates: []store.Candidate{{Rule: "r", Charge: money.Amount{Nano: int64(1 + w.r.IntN(5)), Currency: "EUR"}}},
		Billing: store.Billing{
			Credit: money.Amount{Nano: 300, Currency: "EUR"}, Prepaid: who == "a3", Unapproved: who == "a2" && w.r.IntN(4) > 0,
		},
		Hold: time.Duration(1+w.r.IntN(90)) * time.Second, KeyFor: time.Minute,
	}
	switch w.r.IntN(20) {
	case 0:
		r.Execution.IdempotencyKey = fmt.Sprint(w.r.IntN(20))
	case 1:
		r.Nonce = &store.Nonce{KeyID: "k", ID: fmt.Sprint(w.r.IntN(30)), Until: w.in.now.Add(time.Minute)}
	case 2:
		r.Candidates[0].Charge = money.Amount{}
	case 3:
		r.Limits = nil
	case 4:
		r.Candidates = append([]store.Candidate{{
			Rule: "free", Limits: []store.Reservation{
				{Principal: pat.Principal(who), Limit: limit.Limit{ID: "free", Rate: limit.Rate{Max: 2, Period: limit.Lifetime}}},
			},
		}}, r.Candidates...)
	}
	return r
}

func (w *twinStores) begin() func(s *Store) (any, error) {
	r := w.request()
	return func(s *Store) (any, error) { return s.Begin(w.t.Context(), r) }
}

func (w *twinStores) settle() func(s *Store) (any, error) {
	i := w.r.IntN(len(w.open))
	b := w.open[i]
	if w.r.IntN(10) > 0 { // otherwise it is settled again
		w.open = append(w.open[:i:i], w.open[i+1:]...)
	}
	to := []store.Settlement{
		{State: store.Captured, Outcome: store.Done, Sent: "sha-256:x"},
		{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{Output: []byte("{}")}},
		{State: store.Released, Outcome: store.Failed},
		{State: store.Released, Outcome: store.NotSent},
		{State: store.Unresolved, Outcome: store.Unknown},
	}[min(w.r.IntN(8), 4)]
	return func(s *Store) (any, error) { return s.Settle(w.t.Context(), b, to) }
}

// calls begins and settles some calls in one transaction.
func (w *twinStores) calls() {
	list := make([]func(s *Store) (any, error), 1+w.r.IntN(6))
	for i := range list {
		if len(w.open) > 0 && w.r.IntN(2) == 0 {
			list[i] = w.settle()
		} else {
			list[i] = w.begin()
		}
	}
	for _, v := range w.on("calls", list...) {
		if b, started := v.(store.Admission); started && b.Replay == nil {
			w.open = append(w.open, b)
		}
	}
}

// others runs one of the other operations. Each of them sees all earlier changes.
func (w *twinStores) others() {
	ctx, who := w.t.Context(), w.agent()
	up := store.TopUp{
		Service: "s", AgentID: who, Amount: money.Amount{Nano: int64(1 + w.r.IntN(30)), Currency: "EUR"}, Reverse: w.r.IntN(3) == 0,
		Reference: []string{"", "ref"}[w.r.IntN(2)],
	}
	f := store.Filter{Service: "s", AgentID: who, Limit: 500}
	id := fmt.Sprintf("%05d", w.r.IntN(w.ids+1))
	lease := store.LeaseRequest{Service: "s", Demands: []store.LeaseDemand{{
		Reservation: store.Reservation{Principal: pat.Principal(who), Limit: limit.Limit{ID: "l", Rate: limit.Rate{Max: 40, Period: limit.Hour}}},
		Units:       2,
	}}}
	none := func(err error) (any, error) { return err == nil, err }
	all := []struct {
		what string
		do   func(s *Store) (any, error)
	}{
		{"top-up", func(s *Store) (any, error) { return s.TopUp(ctx, up) }},
		{"sweep", func(s *Store) (any, error) { return s.Sweep(ctx) }},
		{"resolve", func(s *Store) (any, error) { return s.Resolve(ctx, "s", id, store.Captured) }},
		{"reconcile", func(s *Store) (any, error) { return s.Reconcile(ctx, "s", id, store.Released) }},
		{"purge", func(s *Store) (any, error) { return s.Purge(ctx) }},
		{"purge the ledger", func(s *Store) (any, error) {
			s.KeepLedger(10 * time.Minute)
			defer s.KeepLedger(math.MaxInt64)
			return s.Purge(ctx)
		}},
		{"lease", func(s *Store) (any, error) { return s.Lease(ctx, lease) }},
		{"ready", func(s *Store) (any, error) { return none(s.Ready(ctx)) }},
		{"half a change", func(s *Store) (any, error) {
			return nil, s.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error {
				if _, err := t.Exec(ctx, "UPDATE sequences SET n = n + 1 WHERE name = 'ready'"); err != nil {
					return err
				}
				return store.ErrNotFound
			})
		}},
		{"executions", func(s *Store) (any, error) { return s.Executions(ctx, f) }},
		{"execution", func(s *Store) (any, error) { return s.Execution(ctx, "s", id) }},
		{"ledger", func(s *Store) (any, error) { return s.Ledger(ctx, f) }},
		{"accounts", func(s *Store) (any, error) { return s.Accounts(ctx, store.Filter{Service: "s"}) }},
		{"statements", func(s *Store) (any, error) { return s.Statements(ctx, store.StatementFilter{Service: "s"}) }},
		{"charged", func(s *Store) (any, error) {
			return s.ChargedCalls(ctx, store.Statement{Service: "s", AgentID: who, Currency: "EUR", To: time.Unix(0, math.MaxInt64)})
		}},
		{"key", func(s *Store) (any, error) {
			return s.KeyedCall(ctx, store.CallScope{Service: "s", AgentID: who, Intents: []string{"i"}}, fmt.Sprint(w.ids%20))
		}},
		{"backlog", func(s *Store) (any, error) { return s.Backlog(ctx, "s") }},
		{"balance", func(s *Store) (any, error) { return none(s.CheckBalance(ctx)) }},
		{"restored", func(s *Store) (any, error) { return none(s.MarkRestored(ctx, store.DefaultRestoredLimits())) }},
	}
	one := all[w.r.IntN(len(all))]
	if one.what == "restored" && w.r.IntN(40) > 0 {
		return
	}
	w.on(one.what, one.do)
}

// beside restarts a process, makes it catch up, or changes the database over a separate connection.
func (w *twinStores) beside() {
	which, again := w.r.IntN(2), w.r.IntN(4) == 0 // the same in both twins, because a process that starts reads the changes of others
	for twin := range w.of {
		if again { // pending changes stay in the journal
			w.of[twin][which].kill(w.t)
			w.of[twin][which] = w.start(twin)
			continue
		}
		switch w.r.IntN(2) {
		case 0: // the timer fires
			w.of[twin][which].step.CatchUp(w.t.Context())
		case 1: // another program writes
			beside(w.t, w.path[twin], "UPDATE sequences SET n = n WHERE name = 'ready'")
		}
	}
}

// A store with a journal returns the same results as a store that writes changes into the tables at once, and its tables have the same
// contents in the end, for random operations, transactions and failures.
func TestJournalDoesNotChangeResults(t *testing.T) {
	t.Parallel()
	for range TwinLives {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &twinStores{
				t: t, r: rand.New(rand.NewPCG(seed, 1)), in: &world{now: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)}, steps: map[string]int{},
			}
			for twin := range w.of {
				w.path[twin] = filepath.Join(t.TempDir(), "state.db")
				Empty.Copy(t, w.path[twin])
				for which := range w.of[twin] {
					w.of[twin][which] = w.start(twin)
				}
			}
			defer func() {
				for _, p := range append(w.of[0][:], w.of[1][:]...) {
					p.kill(t)
				}
			}()
			for i := range 4 {
				who := fmt.Sprint("a", i)
				w.on("agree", func(s *Store) (any, error) {
					return s.Agree(t.Context(), pat.NewAgreement{
						Agreement: pat.Agreement{
							ID: pat.AgreementID("g" + who), Service: "s", AgentID: pat.AgentID(who), KeyID: keys.ID(who), PolicyDigest: "d",
							Assurance: pat.Static,
						},
						Policy: pat.PolicyDocument{Service: "s", Digest: "d", Bytes: []byte("{}")},
					})
				})
			}
			for step := range 400 {
				switch n := w.r.IntN(20); {
				case n < 13:
					w.calls()
				case n < 16:
					w.others()
				case n < 17:
					w.beside()
				default:
					w.in.pass(time.Duration(w.r.IntN(10)) * time.Second)
					if w.r.IntN(20) == 0 {
						w.in.pass(time.Duration(w.r.IntN(10)) * time.Hour)
					}
				}
				if step%200 == 199 {
					a, b := w.of[0][0].dump(t, w.path[0]), w.of[1][0].dump(t, w.path[1])
					for table := range a {
						if a[table] != b[table] {
							t.Fatalf("after %d steps %s has\n%swant\n%s", step, table, a[table], b[table])
						}
					}
				}
			}
			if w.steps["calls"] < 50 || w.journaled < 20 {
				t.Errorf("only %v, and %d records in the journal", w.steps, w.journaled)
			}
		})
	}
}
