package pat_test

import (
	"errors"
	"strings"
	"testing"

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
