package receipts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
)

// maxProblems is the maximum number of problems in a Report; further problems are only counted.
const maxProblems = 1000

// A Report is the result of verifying a book.
type Report struct {
	OK       bool               `json:"ok"` // no problem was found
	Calls    int                `json:"calls"`
	Receipts int                `json:"receipts"` // distinct entries with a valid signature
	Accounts []Account          `json:"accounts"`
	Problems []evidence.Problem `json:"problems"`
	More     int                `json:"more,omitempty"` // problems that are left out
	// Unproven is the number of receipts that Reconcile did not look for in the log, because it had fetched 1,000 proofs. The next Reconcile
	// continues with them.
	Unproven int `json:"unproven,omitempty"`
}

// An Account describes the part of one account's chain that the book has.
type Account struct {
	Currency string `json:"currency"`
	From     int64  `json:"from_k"`
	To       int64  `json:"to_k"`
	Missing  int64  `json:"missing"` // entries between From and To that the book does not have
	Open     int    `json:"open"`    // executions that are held or unresolved
	// The sums of the account after entry To. They are nil if entries are missing.
	ToppedUp *money.Amount `json:"topped_up,omitempty"`
	Held     *money.Amount `json:"held,omitempty"`
	Captured *money.Amount `json:"captured,omitempty"`
}

// Verify verifies a book offline: the signatures, the receipts against the calls, and the chain of each account as far as the book has it.
// Errors are those of Records.
func (b *Book) Verify() (Report, error) {
	a, err := b.audit(true, Period{})
	if err != nil {
		return Report{}, err
	}
	a.unreceipted("the service sent no receipt; reconcile fetches it")
	return a.report(), nil
}

// A Period limits the calls that Reconcile compares with the books of the service. The zero Period has no limits.
type Period struct{ From, To time.Time } // From is included, To is excluded

// Month returns the period of a month of the UTC calendar, given as in 2026-11.
func Month(text string) (Period, error) {
	from, err := time.Parse("2006-01", text)
	if err != nil {
		return Period{}, fmt.Errorf("%.20q is not a month: want one such as 2026-11", text)
	}
	return Period{from, from.AddDate(0, 1, 0)}, nil
}

// has reports whether the period contains a time.
func (p Period) has(at time.Time) bool { return p.To.IsZero() || !at.Before(p.From) && at.Before(p.To) }

// An audit compares the records of a book with each other.
type audit struct {
	period   Period
	sparse   bool
	until    map[string]int64    // by currency: the last entry to read
	began    time.Time           // the time at which the book began
	keys     evidence.KeySet     // the keys that the agent trusts
	calls    map[string]callSeen // charged calls, by execution
	sent     map[string]int      // sent calls, by request
	answered map[string]int      // charged calls whose response arrived, by request
	strange  map[string][]string // executions in the period that are not in calls, by request
	chains   map[string]*account // by currency
	leaves   map[evidence.Hash]bool
	logged   map[string]loggedProof // by leaf hash
	carries  []string               // receipts
	stored   []Record               // the records of typeCheckpoint, in the order of the book
	log      []*knownCheckpoint     // the checkpoints in stored that verify
	problems []evidence.Problem
	seen     map[evidence.Problem]bool
	more     int
}

type callSeen struct {
	Call

	at    time.Time
	final bool // an entry shows the end of the charge
}

type account struct {
	*evidence.Chain

	held   map[int64]evidence.Hash // entries in the book, with their leaf hashes
	behind map[int64]bool          // the numbers of the last entries that a carry replaces
}

// audit reads the whole book.
func (b *Book) audit(sparse bool, p Period) (*audit, error) { return b.auditUntil(sparse, p, nil) }

// auditUntil is like audit, but omits the entries of a chain after a number: until has that number by currency.
func (b *Book) auditUntil(sparse bool, p Period, until map[string]int64) (*audit, error) {
	a := &audit{
		period: p, sparse: sparse, until: until, calls: map[string]callSeen{}, sent: map[string]int{}, answered: map[string]int{},
		strange: map[string][]string{},
		chains:  map[string]*account{}, leaves: map[evidence.Hash]bool{}, logged: map[string]loggedProof{}, seen: map[evidence.Problem]bool{},
	}
	if err := b.Records(a.first, func(file string, line int) {
		a.found(evidence.Problem{
			Name: evidence.ProblemFile, Where: fmt.Sprintf("%s:%d", file, line), Detail: "the line is damaged, and is not a record",
		})
	}); err != nil {
		return nil, err
	}
	a.openLog(a.stored)
	for _, text := range a.carries {
		if r, err := evidence.ParseReceipt(text); err == nil && r.Verify(a.keys) == nil {
			a.account(r.Entry.Account).Expect(r.Entry)
		}
	}
	if err := b.Records(a.second, func(string, int) {}); err != nil {
		return nil, err
	}
	return a, nil
}

// found adds a problem, unless it is known.
func (a *audit) found(list ...evidence.Problem) {
	for _, p := range list {
		switch {
		case a.seen[p]:
		case len(a.problems) == maxProblems:
			a.more++
		default:
			a.seen[p] = true
			a.problems = append(a.problems, p)
		}
	}
}

// first reads the records with which second compares the others.
func (a *audit) first(r Record) {
	if a.began.IsZero() || !r.At.IsZero() && r.At.Before(a.began) {
		a.began = r.At
	}
	switch r.Type {
	case typeSent:
		a.sent[r.Request]++
	case typeKeys:
		if set, err := evidence.ParseKeySet(r.Keys); err == nil {
			a.keys.Join(set)
		}
	case typeCall:
		if c := r.Call; c != nil {
			a.answered[c.Request]++
			had, again := a.calls[c.Execution]
			if again && had.settled() && !c.settled() || again && c.Replayed {
				break
			}
			a.calls[c.Execution] = callSeen{Call: *c, at: r.At}
		}
	case typeEntry:
		if parsed, err := evidence.ParseReceipt(r.Receipt); err == nil && parsed.Entry.Kind == evidence.KindCarry {
			a.carries = append(a.carries, r.Receipt)
		}
	case typeLogged:
		if r.Proof != "" {
			a.logged[r.Leaf] = loggedProof{r.Proof, r.Size}
		}
	case typeCheckpoint:
		a.stored = append(a.stored, r)
	}
}

// second checks a receipt or an entry.
func (a *audit) second(r Record) {
	switch {
	case r.Type == typeCall && r.Call != nil:
		a.found(recorded(r.Problems)...)
		if r.Receipt != "" {
			receipt, problems := Check(r.Receipt, a.keys, *r.Call)
			a.found(problems...)
			if receipt != nil {
				a.add(receipt)
			}
		}
	case r.Type == typeEntry:
		receipt, err := evidence.ParseReceipt(r.Receipt)
		if err == nil {
			err = receipt.Verify(a.keys)
		}
		if err != nil {
			a.found(entryProblem(r.Receipt, err))
			return
		}
		a.add(&receipt)
	}
}

// recorded returns the problems that second does not find again: those that can be found only at the time of the call, and prices that the
// policy does not state.
func recorded(list []evidence.Problem) (kept []evidence.Problem) {
	for _, p := range list {
		switch p.Name { //nolint:exhaustive // second finds the others again
		case evidence.ProblemOrder, evidence.ProblemFork, evidence.ProblemEpoch, evidence.ProblemDuplicate, evidence.ProblemAmount:
			kept = append(kept, p)
		}
	}
	return kept
}

// entryProblem returns the problem with an entry whose signature does not verify.
func entryProblem(text string, err error) evidence.Problem {
	p := evidence.Problem{Name: evidence.ProblemSignature, Detail: err.Error()}
	if r, parseErr := evidence.ParseReceipt(text); parseErr == nil {
		p.Where = evidence.NewChain(r.Entry.Account).Where(r.Entry.K)
	}
	return p
}

// add adds an entry with a valid signature to the chain of its account.
func (a *audit) add(r *evidence.Receipt) {
	e := &r.Entry
	if a.leaves[r.Leaf] || e.Account == (evidence.Account{}) {
		return
	}
	if last, limited := a.until[e.Account.Currency]; limited && e.K > last {
		a.end(e)
		return
	}
	a.leaves[r.Leaf] = true
	a.proofOf(r)
	of := a.account(e.Account)
	of.held[e.K] = r.Leaf
	of.Add(*e, r.Leaf)
	if e.Through != nil {
		of.behind[e.Through.K] = true
	}
	if e.Kind != evidence.KindCharge {
		return
	}
	c, known := a.calls[e.ID]
	if !known {
		if !e.At.Before(a.began) && a.period.has(e.At) && !slices.Contains(a.strange[e.Request], e.ID) {
			a.strange[e.Request] = append(a.strange[e.Request], e.ID)
		}
		return
	}
	if e.To == evidence.StateCaptured || e.To == evidence.StateReleased {
		a.found(c.compare(e)...)
		a.end(e)
	}
}

// end records that an entry shows the end of a charge.
func (a *audit) end(e *evidence.Entry) {
	if c, known := a.calls[e.ID]; known && (e.To == evidence.StateCaptured || e.To == evidence.StateReleased) {
		c.final = true
		a.calls[e.ID] = c
	}
}

// account returns the chain of an account.
func (a *audit) account(owner evidence.Account) *account {
	of := a.chains[owner.Currency]
	if of == nil {
		of = &account{Chain: evidence.NewChain(owner), held: map[int64]evidence.Hash{}, behind: map[int64]bool{}}
		a.chains[owner.Currency] = of
	}
	return of
}

// unreceipted reports the charges whose end no entry shows.
func (a *audit) unreceipted(detail string) {
	for _, id := range slices.Sorted(maps.Keys(a.calls)) {
		if c := a.calls[id]; c.settled() && !c.final && a.period.has(c.at) {
			a.found(c.problem(evidence.ProblemUnreceipted, "%s", detail))
		}
	}
}

// report completes the report with the chains.
func (a *audit) report() Report {
	r := Report{Calls: len(a.calls), Receipts: len(a.leaves), Accounts: []Account{}}
	for _, currency := range slices.Sorted(maps.Keys(a.chains)) {
		chain := a.chains[currency]
		s := chain.Finish(a.sparse)
		list, more := chain.Problems()
		a.found(list...)
		a.more += more
		account := Account{Currency: currency, From: s.From, To: s.To, Missing: s.Missing, Open: s.Open}
		if s.Known {
			account.ToppedUp, account.Held, account.Captured = &s.Sums.ToppedUp, &s.Sums.Held, &s.Sums.Captured
		}
		r.Accounts = append(r.Accounts, account)
	}
	slices.SortStableFunc(a.problems, func(x, y evidence.Problem) int { return cmp.Compare(x.Name, y.Name) })
	r.Problems, r.More = a.problems, a.more
	if r.Problems == nil {
		r.Problems = []evidence.Problem{}
	}
	r.OK = len(r.Problems) == 0
	return r
}
