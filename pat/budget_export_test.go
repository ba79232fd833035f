package pat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/pat"
)

// changedConsent returns a consent with its policy and three changes of its budget. Another key signed the second and the
// third.
func changedConsent(t *testing.T, w *world) (pat.Agreement, pat.PolicyDocument, []pat.SignedBudget) {
	t.Helper()
	a := w.consented(t, func(r *pat.ConsentRequest) { r.Budget = budget() })
	policy, err := w.store.Policy(t.Context(), service, a.PolicyDigest)
	noError(t, err)
	var list []pat.SignedBudget
	now := a
	for i := range 3 {
		if i == 1 {
			_, err := w.keys.Rotate(t.Context())
			noError(t, err)
		}
		signed, err := w.issuer.ChangeBudget(t.Context(), pat.BudgetChange{
			Agreement: now, Budget: *budget(func(b *pat.Budget) { b.Amount = euros(int64(10 * (i + 1))) }), UserAgent: "Browser",
		})
		noError(t, err)
		list, now.NewBudget = append(list, signed), signed.Record
	}
	return a, policy, list
}

func TestExportHasChangedBudgets(t *testing.T) {
	w := newWorld(t)
	a, policy, list := changedConsent(t, w)
	for name, tt := range map[string]struct {
		without []int // changes whose keys are not stored
		proved  int
		amount  int64 // of the newest proved budget
	}{
		"all keys are stored":        {nil, 3, 30},
		"the first key is stored":    {[]int{1, 2}, 1, 10},
		"the last key is stored":     {[]int{0, 1}, 3, 30},
		"the key of the consent":     {[]int{0, 1, 2}, 1, 10},
		"the key of another change":  {[]int{1}, 3, 30},
		"a later change vouches too": {[]int{0}, 3, 30},
	} {
		t.Run(name, func(t *testing.T) {
			stored := slices.Clone(list)
			for _, i := range tt.without {
				stored[i].PublicKey = nil
			}
			bundle, err := pat.Export(a, policy, nil, stored...)
			noError(t, err)
			e, err := pat.VerifyExport(bundle, nil)
			noError(t, err)
			proved := 0
			for i, b := range e.Budgets {
				if b.Proved {
					proved = i + 1
				}
				if b.Budget.Amount != euros(int64(10*(i+1))) || b.Record.UserAgent != "Browser" {
					t.Errorf("change %d: %+v", i+1, b)
				}
			}
			now, err := e.Agreement.Budget()
			noError(t, err)
			if len(e.Budgets) != 3 || proved != tt.proved || now.Amount != euros(tt.amount) {
				t.Errorf("%d changes, %d proved, the budget is %s", len(e.Budgets), proved, now)
			}
			if gone := bytes.Count(bundle, []byte(`"key_gone":true`)); gone > len(tt.without) || (proved < 3) != (gone > 0) {
				t.Errorf("the bundle states that %d keys are gone", gone)
			}
		})
	}
}

func TestWrongChangesOfBudgetsAreNotProved(t *testing.T) {
	w := newWorld(t)
	a, policy, list := changedConsent(t, w)
	other, _, foreign := changedConsent(t, w)
	sign := func(change ...func(*pat.Budget)) pat.SignedBudget {
		signed, err := w.issuer.ChangeBudget(t.Context(), pat.BudgetChange{Agreement: a, Budget: *budget(change...)})
		noError(t, err)
		return signed
	}
	head := list[0].Record[:strings.LastIndex(list[0].Record, ".")+1]
	for name, wrong := range map[string][]pat.SignedBudget{
		"a missing change":       {list[1], list[2]},
		"a gap":                  {list[0], list[2]},
		"another order":          {list[1], list[0], list[2]},
		"a change twice":         {list[0], list[0]},
		"of another consent":     foreign,
		"another currency":       {sign(func(b *pat.Budget) { b.Currency, b.PerCall.Currency = "USD", "USD" })},
		"another period":         {sign(func(b *pat.Budget) { b.Period = "day" })},
		"another intent":         {sign(func(b *pat.Budget) { b.Intents = []string{search} })},
		"a wrong signature":      {{Record: head + strings.Repeat("A", 86), PublicKey: list[0].PublicKey}},
		"another key":            {{Record: list[0].Record, PublicKey: list[1].PublicKey}},
		"not a key":              {{Record: list[0].Record, PublicKey: []byte("key")}},
		"not a record":           {{Record: string(a.Signature), PublicKey: a.PublicKey}},
		"too many":               slices.Repeat(list[:1], pat.MaxBudgetChanges+1),
		"a malformed, later one": {list[0], {Record: "a.b.c"}},
	} {
		if _, err := pat.Export(a, policy, nil, wrong...); !errors.Is(err, pat.ErrBadExport) {
			t.Errorf("%s: %v, want %v", name, err, pat.ErrBadExport)
		}
	}
	plain := w.consented(t)
	if _, err := pat.Export(plain, policy, nil, list...); !errors.Is(err, pat.ErrBadExport) {
		t.Errorf("a consent without a budget: %v, want %v", err, pat.ErrBadExport)
	}
	if _, err := pat.Export(other, policy, nil, foreign...); err != nil {
		t.Error(err)
	}
	bundle, err := pat.Export(a, policy, nil, list...)
	noError(t, err)
	for name, change := range map[string]func(map[string]any){
		"not a list":          func(a map[string]any) { a["budget_changes"] = "x" },
		"not an object":       func(a map[string]any) { a["budget_changes"] = []any{"x"} },
		"neither key nor not": func(a map[string]any) { delete(changeOf(a), "gateway_public_key") },
		"an empty key":        func(a map[string]any) { changeOf(a)["gateway_public_key"] = "" },
		"both":                func(a map[string]any) { changeOf(a)["key_gone"] = true },
		"gone is not true":    func(a map[string]any) { delete(changeOf(a), "gateway_public_key"); changeOf(a)["key_gone"] = "yes" },
		"no record":           func(a map[string]any) { delete(changeOf(a), "record") },
		"the first is cut":    func(a map[string]any) { list, _ := a["budget_changes"].([]any); a["budget_changes"] = list[1:] },
	} {
		var tree map[string]any
		noError(t, json.Unmarshal(bundle, &tree))
		agreement, _ := tree["agreement"].(map[string]any)
		change(agreement)
		text, err := json.Marshal(tree)
		noError(t, err)
		if _, err := pat.VerifyExport(text, nil); !errors.Is(err, pat.ErrBadExport) {
			t.Errorf("%s: %v, want %v", name, err, pat.ErrBadExport)
		}
	}
}

// changeOf returns the first change of a budget in an exported agreement.
func changeOf(agreement map[string]any) map[string]any {
	list, _ := agreement["budget_changes"].([]any)
	first, _ := list[0].(map[string]any)
	return first
}
