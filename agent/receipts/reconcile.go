package receipts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/pat"
)

// MaxEntries is the maximum number of entries that Reconcile fetches for one account.
const MaxEntries = 1_000_000

// A Page is a part of the chain of an account, as the service sends it.
type Page struct {
	Entries []string // the receipts, in the order of their numbers
	Head    evidence.Through
	Empty   bool // the account has no entries; Head is then zero
}

// A Source fetches entries from the service. agent.Service implements it.
type Source interface {
	// Entries returns at most 100 entries of the agent's account: those that follow the number after. If after is -1, they begin with the
	// first entry that the service still has.
	Entries(ctx context.Context, currency string, after int64) (Page, error)
}

// A Reconciliation defines what Reconcile compares.
type Reconciliation struct {
	Source Source
	Log    LogSource // nil: the service has no log
	Issuer string    // the issuer of the service
	Agent  pat.AgentID
	Period Period // the period of the calls
	Now    time.Time
}

// Reconcile fetches the entries of the agent's accounts that the book does not have, and compares the books of the service with the calls
// of a period. It then looks for the receipts of the period in the log of the service. Errors are those of Records and of the sources.
// Evidence that the service should have sent, and did not, is a problem and not an error.
func (b *Book) Reconcile(ctx context.Context, o Reconciliation) (Report, error) {
	p := o.Period
	before, err := b.audit(true, p)
	if err != nil {
		return Report{}, err
	}
	currencies := map[string]bool{}
	for _, c := range before.calls {
		currencies[c.Amount.Currency] = true
	}
	for currency := range before.chains {
		currencies[currency] = true
	}
	var problems []evidence.Problem
	heads := map[string]evidence.Through{}
	for _, currency := range slices.Sorted(maps.Keys(currencies)) {
		f := fetcher{
			book: b, from: o.Source, keys: before.keys, account: evidence.Account{Agent: string(o.Agent), Currency: currency}, now: o.Now,
		}
		head, err := f.fetch(ctx, before.chains[currency])
		if err != nil {
			return Report{}, err
		}
		problems, heads[currency] = append(problems, f.problems...), head
	}
	// After the service stated the heads, another process may have added receipts to the book. The next Reconcile compares these.
	until := map[string]int64{}
	for currency, head := range heads {
		if newestOf(before.chains[currency]) <= head.K {
			until[currency] = head.K
		}
	}
	a, err := b.auditUntil(false, p, until)
	if err != nil {
		return Report{}, err
	}
	a.found(problems...)
	a.compareHeads(heads)
	a.unreceipted("neither a receipt nor the books of the service show the charge")
	a.unknown()
	left := 0
	if o.Log != nil {
		l := &logCheck{a: a, from: o.Log, issuer: o.Issuer, now: o.Now}
		if left, err = l.run(ctx, b); err != nil {
			return Report{}, err
		}
	}
	report := a.report()
	report.Unproven = left
	return report, nil
}

// A fetcher fetches the chain of one account.
type fetcher struct {
	book     *Book
	from     Source
	keys     evidence.KeySet
	account  evidence.Account
	now      time.Time
	problems []evidence.Problem
}

func (f *fetcher) report(name evidence.ProblemName, k int64, format string, args ...any) {
	f.problems = append(f.problems, evidence.Problem{
		Name: name, Where: evidence.NewChain(f.account).Where(k), Detail: fmt.Sprintf(format, args...),
	})
}

// fetch fetches the entries after the first part of the chain that the book has without a gap, and adds them to the book. It returns the
// head of the chain that the last page contains.
func (f *fetcher) fetch(ctx context.Context, have *account) (evidence.Through, error) {
	after := have.complete()
	for fetched := 0; fetched < MaxEntries; {
		page, err := f.from.Entries(ctx, f.account.Currency, after)
		if err != nil {
			return evidence.Through{}, err
		}
		if len(page.Entries) == 0 {
			if page.Empty {
				return evidence.Through{K: -1}, nil
			}
			return page.Head, nil
		}
		found := len(f.problems)
		last, err := f.keep(ctx, page.Entries, after, have)
		if err != nil {
			return evidence.Through{}, err
		}
		if last <= after {
			if len(f.problems) == found {
				f.report(evidence.ProblemOrder, after, "the service sent the same entries again")
			}
			return page.Head, nil
		}
		after = last
		fetched += len(page.Entries)
		if after >= page.Head.K {
			return page.Head, nil
		}
	}
	f.report(evidence.ProblemNotReconciled, after, "the service has more than %d entries", MaxEntries)
	return evidence.Through{K: after}, nil
}

// keep adds to the book the entries of a page that the book does not have, and returns the largest number on the page.
func (f *fetcher) keep(ctx context.Context, page []string, after int64, have *account) (int64, error) {
	var records []Record
	last := after
	for _, text := range page {
		r, err := evidence.ParseReceipt(text)
		if err == nil {
			err = r.Verify(f.keys)
		}
		switch {
		case errors.Is(err, evidence.ErrKey):
			f.report(evidence.ProblemKey, last+1, "the key of the entry is not a key that this agent trusts")
		case err != nil:
			f.report(evidence.ProblemSignature, last+1, "%v", err)
		case r.Entry.Account != f.account:
			f.report(evidence.ProblemAgreement, last+1, "the service sent an entry of another account")
		default:
			if r.Entry.K <= last {
				f.report(evidence.ProblemOrder, r.Entry.K, "the entry comes after entry %d", last)
			}
			last = max(last, r.Entry.K)
			if have == nil || have.held[r.Entry.K] != r.Leaf {
				records = append(records, Record{Type: typeEntry, At: f.now, Receipt: text})
			}
		}
	}
	if len(records) == 0 {
		return last, nil
	}
	return last, f.book.put(ctx, records...)
}

// complete returns the number of the last entry before the first gap. It is -1 if the book lacks the beginning of the chain.
func (a *account) complete() int64 {
	if a == nil || len(a.held) == 0 {
		return -1
	}
	k := slices.Min(slices.Collect(maps.Keys(a.held)))
	if k > 0 && !a.behind[k-1] {
		return -1
	}
	for a.held[k+1] != (evidence.Hash{}) {
		k++
	}
	return k
}

// compareHeads compares the heads that the service stated with the entries that the book has.
func (a *audit) compareHeads(heads map[string]evidence.Through) {
	for currency, head := range heads {
		of := a.chains[currency]
		if of == nil {
			continue
		}
		newest := newestOf(of)
		switch {
		case head.K < newest:
			a.found(evidence.Problem{
				Name: evidence.ProblemFork, Where: of.Where(newest),
				Detail: fmt.Sprintf("the books of the service end at entry %d, but it signed entry %d", head.K, newest),
			})
		case head.K > newest:
			a.found(evidence.Problem{
				Name: evidence.ProblemGap, Where: of.Where(newest + 1),
				Detail: fmt.Sprintf("the service did not send the entries up to %d", head.K),
			})
		case head.Hash != of.held[newest]:
			a.found(evidence.Problem{
				Name: evidence.ProblemFork, Where: of.Where(newest), Detail: "the head of the chain does not have the hash of its last entry",
			})
		}
	}
}

// newestOf returns the largest number of an entry in the book, or -1.
func newestOf(a *account) int64 {
	if a == nil || len(a.held) == 0 {
		return -1
	}
	return slices.Max(slices.Collect(maps.Keys(a.held)))
}

// unknown reports executions in the books of the service that the agent did not start. If the response to a call was lost, the agent knows
// the request but not the execution: for each such call, unknown skips one execution with that request. It also skips executions from
// before the book began.
func (a *audit) unknown() {
	for _, request := range slices.Sorted(maps.Keys(a.strange)) {
		lost := max(0, a.sent[request]-a.answered[request])
		ids := a.strange[request]
		for _, id := range ids[min(lost, len(ids)):] {
			a.found(evidence.Problem{
				Name: evidence.ProblemUnknown, Where: short(id), Detail: "the service charged for an execution that this agent did not start",
			})
		}
	}
}
