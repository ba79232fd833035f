package examples_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/pat"
)

// consented returns the line of a consent with two changes of its budget.
func (b *book) consented(t *testing.T) bookLine {
	t.Helper()
	key := newBookKey("pat")
	budget := func(amount string) map[string]any {
		return map[string]any{
			"amount": amount, "currency": "EUR", "period": "month", "per_call": "1.00", "intents": []string{"shop.example:order:v1"},
		}
	}
	record := key.compact(pat.TypeConsent, b.marshal(t, map[string]any{
		"iss": bookIssuer, "sub": bookAgent, "jti": "0123456789abcdef0123456789abcdef", "iat": bookStart.Unix(), "budget": budget("5.00"),
		"policy": map[string]any{"uid": "https://shop.example/policy/1", "digest": policyDigest(b.policy)},
	}))
	a := pat.Agreement{
		ID: "agreement-2", Service: bookIssuer, Issuer: bookIssuer, AgentID: bookAgent, PublicKey: key.public.SPKI(),
		PolicyUID: "https://shop.example/policy/1", PolicyDigest: policyDigest(b.policy), Assurance: pat.Consent, Form: "consent",
		Signature: []byte(record), Nonce: "0123456789abcdef0123456789abcdef", State: pat.AgreementActive, CreatedAt: bookStart,
	}
	var changes []pat.SignedBudget
	for _, amount := range []string{"9.00", "2.00"} {
		signed := key.compact(pat.TypeBudget, b.marshal(t, map[string]any{
			"iss": bookIssuer, "sub": bookAgent, "agr": a.ID, "iat": bookStart.Unix(), "budget": budget(amount),
			"previous": pat.DigestOf([]byte(record)),
		}))
		changes, record = append(changes, pat.SignedBudget{Record: signed, PublicKey: key.public.SPKI()}), signed
	}
	document := pat.PolicyDocument{Service: bookIssuer, UID: a.PolicyUID, Digest: a.PolicyDigest, Bytes: []byte(b.policy)}
	text, err := pat.Export(a, document, nil, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return bookLine{"type": "agreement", "export": json.RawMessage(text)}
}

// Both verifiers check the changes of the budget of a consent.
func TestVerifiersCheckChangedBudgets(t *testing.T) {
	t.Parallel()
	verify := verifiersOfOneProcess(t)
	for name, tt := range map[string]struct {
		change  func(list []any, of func(i int) map[string]any) []any
		want    []string
		skipped bool
	}{
		"unchanged": {},
		"the last key is gone": {skipped: true, change: func(list []any, of func(i int) map[string]any) []any {
			of(1)["key_gone"] = true
			delete(of(1), "gateway_public_key")
			return list
		}},
		"the first key is gone": {change: func(list []any, of func(i int) map[string]any) []any {
			of(0)["key_gone"] = true
			delete(of(0), "gateway_public_key")
			return list
		}},
		"the key is missing": {want: []string{"AGREEMENT"}, change: func(list []any, of func(i int) map[string]any) []any {
			delete(of(1), "gateway_public_key")
			return list
		}},
		"the first change is missing": {want: []string{"AGREEMENT"}, change: func(list []any, _ func(i int) map[string]any) []any {
			return list[1:]
		}},
		"the order is another": {want: []string{"AGREEMENT"}, change: func(list []any, _ func(i int) map[string]any) []any {
			slices.Reverse(list)
			return list
		}},
		"the signature is changed": {want: []string{"AGREEMENT"}, change: func(list []any, of func(i int) map[string]any) []any {
			text := fmt.Sprint(of(1)["record"])
			of(1)["record"] = text[:len(text)-86] + b64.EncodeToString(make([]byte, 64))
			return list
		}},
		"the changes are too many": {want: []string{"AGREEMENT"}, change: func([]any, func(i int) map[string]any) []any {
			return slices.Repeat([]any{"x"}, 201)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.bundle(t)
			line := b.consented(t)
			if tt.change != nil {
				var whole map[string]any
				raw, _ := line["export"].(json.RawMessage)
				if err := json.Unmarshal(raw, &whole); err != nil {
					t.Fatal(err)
				}
				agreement, _ := whole["agreement"].(map[string]any)
				list, _ := agreement["budget_changes"].([]any)
				agreement["budget_changes"] = tt.change(list, func(i int) map[string]any {
					one, _ := list[i].(map[string]any)
					return one
				})
				line["export"] = whole
			}
			b.lines = slices.Insert(b.lines, b.find(t, "agreement", 0), line)
			r := verify(t, writeBundle(t, "bundle.jsonl", b.text(t)))
			var found []string
			for _, p := range r.Problems {
				found = append(found, p.Name)
			}
			if d := cmp.Diff(tt.want, slices.Compact(found)); d != "" {
				t.Errorf("(-want +found):\n%s%+v", d, r.Problems)
			}
			if n := r.NotChecked["changes of budgets whose keys are gone"]; (n == 1) != tt.skipped {
				t.Errorf("%d changes were not checked", n)
			}
		})
	}
}
