package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// chains reads the entries of accounts.
type chains interface {
	Entries(ctx context.Context, f store.EntryFilter) ([]store.LedgerEntry, error)
	Entry(ctx context.Context, service string, agent pat.AgentID, execution string, to store.State) (store.LedgerEntry, error)
	Heads(ctx context.Context, service string, agent pat.AgentID) ([]store.Head, error)
}

func testChains(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"every change of an account is an entry":       entriesOfAccount,
		"an entry contains the evidence of its charge": entryHasEvidence,
		"entries of others are not found":              entriesAreScoped,
		"a chain survives restarts":                    chainGoesOn,
		"the sums of deleted entries are carried":      chainIsPruned,
		"an open call keeps the entries after it":      openCallKeepsChain,
		"parallel charges make one chain":              parallelChain,
		"a restored state begins another epoch":        restoredChain,
	})
}

// chain returns the entries of the agent's account that follow a given entry. It fails the test unless they form one chain that ends in the
// head.
func (b *suite) chain(after int64) []evidence.Entry {
	b.Helper()
	list, err := b.Entries(b.Context(), store.EntryFilter{
		Service: service, AgentID: agent, Currency: "USD", After: after, Limit: 1000, Evidence: true,
	})
	b.must(err)
	var out []evidence.Entry
	for i, l := range list {
		e, err := evidence.ParseEntry(l.Bytes)
		b.must(err)
		if e.K != l.K || evidence.LeafHash(l.Bytes) != l.Leaf || i > 0 && (e.K != list[i-1].K+1 || e.Prev != list[i-1].Leaf) {
			b.Fatalf("entry %d: %+v does not follow %+v", i, e, list[max(0, i-1)])
		}
		out = append(out, e)
	}
	heads, err := b.Heads(b.Context(), service, agent)
	b.must(err)
	if last := list[len(list)-1]; len(heads) != 1 || heads[0].Currency != "USD" || heads[0].K != last.K || heads[0].Hash != last.Leaf {
		b.Fatalf("heads %+v, want the hash of entry %d", heads, last.K)
	}
	b.must(b.CheckBalance(b.Context()))
	return out
}

// payable is a paid call with digests that an entry may contain.
func (b *suite) payable(nano int64) store.BeginRequest {
	r := b.paid(nano)
	r.Execution.Fingerprint, r.Execution.PolicyDigest = evidence.LeafHash(nil).String(), evidence.Digest([]byte("policy"))
	return r
}

// summary describes entries briefly.
func summary(list []evidence.Entry) (out []string) {
	for _, e := range list {
		s := string(e.Kind)
		if e.Kind == evidence.KindCharge {
			s = e.From + ">" + e.To + " " + e.By + " " + e.Outcome
		}
		out = append(out, s)
	}
	return out
}

func entriesOfAccount(b *suite) {
	b.topUp(agent, usd(1000))
	captured, released, unknown := b.begin(b.payable(5)), b.begin(b.payable(7)), b.begin(b.payable(11))
	got, err := b.Settle(b.Context(), captured, store.Settlement{
		State: store.Captured, Outcome: store.Done, Sent: evidence.Digest([]byte("{}")), Form: evidence.FormCanonical,
	})
	b.must(err)
	b.settle(released, store.Released, store.Failed)
	b.settle(unknown, store.Unresolved, store.Unknown)
	_, err = b.Resolve(b.Context(), service, unknown.Execution.ID, store.Captured)
	b.must(err)
	_, err = b.TopUp(b.Context(), store.TopUp{Service: service, AgentID: agent, Amount: usd(3), Reverse: true})
	b.must(err)
	list := b.chain(-1)
	b.equal(summary(list), []string{
		"top-up", ">held agent ", ">held agent ", ">held agent ", "held>captured agent done", "held>released agent failed",
		"held>unresolved agent unknown", "unresolved>captured operator done", "reversal",
	})
	if e := list[4]; e.Answer == "" || e.AnswerForm != evidence.FormCanonical || string(e.Append(nil)) != string(got.Entry) {
		b.Errorf("got %s, want %s", e.Append(nil), got.Entry)
	}
	for to, want := range map[store.State]int64{"": 4, store.Held: 1, store.Captured: 4} {
		e, err := b.Entry(b.Context(), service, agent, captured.Execution.ID, to)
		b.must(err)
		if e.K != want {
			b.Errorf("state %q: entry %d, want %d", to, e.K, want)
		}
	}
	if len(summary(b.chain(6))) != 2 {
		b.Error("the page after entry 6 is wrong")
	}
}

func entryHasEvidence(b *suite) {
	r := b.payable(5)
	r.Execution.AgreementID, r.Execution.TokenID = "agr", "jti"
	r.Execution.Evidence = &store.Evidence{
		KeyID: "key", Proof: evidence.Digest([]byte("jws")), Decision: evidence.Digest([]byte("asked")),
		Text: &store.EvidenceText{Proof: "jws", Asked: []byte("asked")},
	}
	a := b.begin(r)
	b.reopen()
	b.settle(a, store.Captured, store.Done)
	for _, e := range b.chain(-1) {
		if e.KeyID != "key" || e.Proof != r.Execution.Evidence.Proof || e.Decision != r.Execution.Evidence.Decision || e.Agreement != "agr" ||
			e.Token != "jti" || e.Policy != r.Execution.PolicyDigest || e.Request == "" {
			b.Errorf("got %s", e.Append(nil))
		}
	}
	list, err := b.Entries(b.Context(), store.EntryFilter{Service: service, AgentID: agent, Currency: "USD", After: -1, Evidence: true})
	b.must(err)
	if string(list[0].Decision) != "asked" || list[0].Proof != "jws" || list[1].Decision != nil || list[1].Proof != "" {
		b.Errorf("got %+v", list)
	}
}

func entriesAreScoped(b *suite) {
	a := b.begin(b.payable(5))
	for _, f := range []store.EntryFilter{
		{Service: service, AgentID: "other", Currency: "USD"},
		{Service: "other", AgentID: agent, Currency: "USD"},
		{Service: service, AgentID: agent, Currency: "EUR"},
		{Service: service, Currency: "USD"},
		{Service: service, AgentID: agent},
	} {
		f.After = -1
		if list, err := b.Entries(b.Context(), f); err != nil || len(list) != 0 {
			b.Errorf("%+v: got %+v, %v", f, list, err)
		}
	}
	for _, of := range [][3]string{{service, "other", a.Execution.ID}, {"other", agent, a.Execution.ID}, {service, agent, "nothing"}} {
		_, err := b.Entry(b.Context(), of[0], pat.AgentID(of[1]), of[2], "")
		b.want(err, store.ErrNotFound)
	}
	_, err := b.Entry(b.Context(), service, agent, a.Execution.ID, store.Captured)
	b.want(err, store.ErrNotFound)
}

func chainGoesOn(b *suite) {
	for range 3 {
		b.settle(b.begin(b.payable(5)), store.Captured, store.Done)
		b.reopen()
	}
	if n := len(b.chain(-1)); n != 6 {
		b.Errorf("%d entries, want 6", n)
	}
}

func chainIsPruned(b *suite) {
	b.topUp(agent, usd(1000))
	for range 60 {
		b.settle(b.begin(b.payable(5)), store.Captured, store.Done)
	}
	b.clock.Advance(kept)
	recent := b.begin(b.payable(7))
	b.settle(recent, store.Captured, store.Done)
	whole := b.chain(-1)
	b.purge()
	_, err := b.Entries(b.Context(), store.EntryFilter{Service: service, AgentID: agent, Currency: "USD", After: 0})
	if e, ok := errors.AsType[*store.ExpiredError](err); !ok || e.Carry < 123 {
		b.Errorf("got %v, want the entry that carries the sums", err)
	}
	list := b.chain(-1)
	first, last := list[0], list[len(list)-1]
	if heads, err := b.Heads(b.Context(), service, agent); err != nil || len(heads) != 1 || heads[0].Carry != last.K {
		b.Errorf("the heads are %+v, %v; want the carry %d", heads, err, last.K)
	}
	if first.K != 121 || last.Kind != evidence.KindCarry || last.Through.K != 120 || last.Sums.Captured != usd(300) ||
		last.Sums.ToppedUp != usd(1000) || last.Through.Hash != first.Prev {
		b.Errorf("got %s and %s", first.Append(nil), last.Append(nil))
	}
	if string(first.Append(nil)) != string(whole[121].Append(nil)) {
		b.Error("an entry that is kept has changed")
	}
	b.settle(b.begin(b.payable(7)), store.Captured, store.Done)
	b.clock.Advance(10 * kept)
	b.purge()
	b.purge() // a carry that would replace only a carry is not made
	list = b.chain(-1)
	if len(list) != 1 || list[0].Sums.Captured != usd(314) {
		b.Errorf("got %v", summary(list))
	}
}

func openCallKeepsChain(b *suite) {
	b.settle(b.begin(b.payable(5)), store.Captured, store.Done)
	open := b.begin(b.payable(7))
	b.settle(b.begin(b.payable(11)), store.Captured, store.Done)
	b.settle(open, store.Unresolved, store.Unknown)
	b.clock.Advance(kept)
	b.purge()
	b.equal(summary(b.chain(-1)), []string{
		">held agent ", ">held agent ", "held>captured agent done", "held>unresolved agent unknown", "carry",
	})
	_, err := b.Resolve(b.Context(), service, open.Execution.ID, store.Released)
	b.must(err)
	b.clock.Advance(kept + time.Second)
	b.purge()
	b.equal(summary(b.chain(-1)), []string{"carry"})
}

func parallelChain(b *suite) {
	done := make(chan error)
	const calls, callers = 20, 5
	for range callers {
		go func() {
			var errs []error
			for range calls {
				a, err := b.Begin(b.Context(), b.payable(1))
				if err == nil {
					_, err = b.Settle(b.Context(), a, store.Settlement{State: store.Captured, Outcome: store.Done})
				}
				errs = append(errs, err)
			}
			done <- errors.Join(errs...)
		}()
	}
	for range callers {
		b.must(<-done)
	}
	if n := len(b.chain(-1)); n != 2*calls*callers {
		b.Errorf("%d entries, want %d", n, 2*calls*callers)
	}
}

func restoredChain(b *suite) {
	b.topUp(agent, usd(1000))
	b.must(b.MarkRestored(b.Context(), store.DefaultRestoredLimits()))
	b.topUp(agent, usd(1000))
	b.reopen()
	b.topUp(agent, usd(1000))
	list := b.chain(-1)
	if !slices.Equal(summary(list), []string{"top-up", "top-up", "top-up"}) {
		b.Errorf("got %v", summary(list))
	}
}
