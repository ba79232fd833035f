package pat_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

func euros(n int64) money.Amount { return money.Amount{Nano: n * money.Unit, Currency: "EUR"} }

func budget(change ...func(*pat.Budget)) *pat.Budget {
	b := &pat.Budget{Allowance: limit.Allowance{Amount: euros(5), Period: limit.Month}, PerCall: euros(1), Intents: []string{buy}}
	for _, f := range change {
		f(b)
	}
	return b
}

// The record of a consent and each of its PATs have the budget.
func TestConsentWithBudget(t *testing.T) {
	w := newWorld(t)
	a := w.consented(t, func(r *pat.ConsentRequest) { r.Budget = budget() })
	recorded, err := a.Budget()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(budget(), recorded); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	issued := w.consentedToken(t, a.ID)
	claims, err := w.verify(t, issued.Token)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(budget(), claims.Budget); diff != "" {
		t.Errorf("the PAT (-want +got):\n%s", diff)
	}
	want := map[string]any{"amount": "5.00", "currency": "EUR", "period": "month", "per_call": "1.00", "intents": []any{buy}}
	if diff := cmp.Diff(want, payloadOf(t, issued.Token)["bud"]); diff != "" {
		t.Errorf("bud (-want +got):\n%s", diff)
	}
	if !claims.Budget.Covers(buy, "EUR") || claims.Budget.Covers(buy, "USD") || claims.Budget.Covers(search, "EUR") {
		t.Errorf("%+v covers something else", claims.Budget)
	}
	plain := w.consentedToken(t, w.consented(t).ID)
	if _, has := payloadOf(t, plain.Token)["bud"]; has || plain.Claims.Budget.Covers(buy, "EUR") {
		t.Error("a consent without a budget has one")
	}
}

func TestBadBudgetsAreNotRecorded(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(*pat.Budget){
		"no amount":          func(b *pat.Budget) { b.Nano = 0 },
		"a negative amount":  func(b *pat.Budget) { b.Nano = -1 },
		"a huge amount":      func(b *pat.Budget) { b.Amount = euros(1_000_001) },
		"no currency":        func(b *pat.Budget) { b.Currency = "" },
		"another period":     func(b *pat.Budget) { b.Period = limit.Year },
		"no amount per call": func(b *pat.Budget) { b.PerCall = money.Amount{} },
		"more per call":      func(b *pat.Budget) { b.PerCall = euros(6) },
		"another currency":   func(b *pat.Budget) { b.PerCall.Currency = "USD" },
		"no intents":         func(b *pat.Budget) { b.Intents = nil },
		"many intents":       func(b *pat.Budget) { b.Intents = strings.Split(strings.Repeat(buy+" ", pat.MaxBudgetIntents+1), " ") },
		"a namespace":        func(b *pat.Budget) { b.Intents = []string{"shop.example:*:*:execute"} },
	} {
		if _, err := w.consent(t, func(r *pat.ConsentRequest) { r.Budget = budget(change) }); !errors.Is(err, pat.ErrBadBudget) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A changed budget counts if the gateway signed it for the consent of the PAT. Once its key has ended, newer PATs contain the budget.
func TestChangedBudgetIsVerified(t *testing.T) {
	w := newWorld(t)
	a := w.consented(t, func(r *pat.ConsentRequest) { r.Budget = budget() })
	changed := budget(func(b *pat.Budget) { b.Amount = euros(2) })
	change, err := w.issuer.ChangeBudget(t.Context(), pat.BudgetChange{Agreement: a, Budget: *changed})
	noError(t, err)
	record := change.Record
	claims := w.consentedToken(t, a.ID).Claims
	other := w.consentedToken(t, w.consented(t, func(r *pat.ConsentRequest) { r.Budget = budget() }).ID).Claims
	got, err := w.issuer.Verifier().ChangedBudget(t.Context(), record, claims, w.now())
	if diff := cmp.Diff(changed, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	signed := record[:strings.LastIndex(record, ".")+1]
	for name, wrong := range map[string]struct {
		record string
		claims *pat.Claims
	}{
		"of another consent":   {record, other},
		"with a wrong key":     {signed + strings.Repeat("A", 86), claims},
		"that is not a record": {string(a.Signature), claims},
		"that is empty":        {"", claims},
	} {
		if got, err := w.issuer.Verifier().ChangedBudget(t.Context(), wrong.record, wrong.claims, w.now()); !errors.Is(err, pat.ErrBadBudget) {
			t.Errorf("a record %s: %+v, %v", name, got, err)
		}
	}
	_, err = w.keys.Rotate(t.Context())
	noError(t, err)
	w.advance(t, 3*time.Hour)
	before := w.now().Add(-3 * time.Hour)
	if got, err := w.issuer.Verifier().ChangedBudget(t.Context(), record, claims, before); err != nil || got.Amount != euros(2) {
		t.Errorf("while the key is valid: %+v, %v", got, err)
	}
	older := *claims
	older.IssuedAt = older.IssuedAt.Add(-time.Second)
	if got, err := w.issuer.Verifier().ChangedBudget(t.Context(), record, &older, w.now()); !errors.Is(err, pat.ErrBadBudget) {
		t.Errorf("an older PAT after the end of the key: %+v, %v", got, err)
	}
	if got, err := w.issuer.Verifier().ChangedBudget(t.Context(), record, claims, w.now()); err != nil || got != claims.Budget {
		t.Errorf("a newer PAT after the end of the key: %+v, %v", got, err)
	}
}
