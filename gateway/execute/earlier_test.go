package execute_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A PAT of an earlier policy stays valid for the intents whose terms are the same in the policy that is offered now.
func TestChangedPolicyEndsOnlyChangedIntents(t *testing.T) {
	found, ordered := `{"q": "lamp"}`, `{"product": "lamp"}`
	for name, test := range map[string]struct {
		edit             func(policy string) string
		findings, orders reason.Reason
	}{
		"another description": {func(p string) string { return strings.Replace(p, `"uid"`, `"dct:description": "Changed.", "uid"`, 1) }, "", ""},
		"another order of rules": {func(p string) string {
			signed := `{"target": "shop.example:signed:v1", "action": "execute", "duty": [{"action": "signPayload"}]},`
			return strings.Replace(strings.Replace(p, signed, "", 1), `"permission": [`, `"permission": [`+signed, 1)
		}, "", ""},
		"another price of one intent": {func(p string) string {
			return strings.Replace(p, `buy:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25"`,
				`buy:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.50"`, 1)
		}, "", reason.PolicyRequiresAgreement},
		"another limit of one intent": {
			func(p string) string {
				return strings.Replace(p, `"rightOperand": 5, "unit": "hour"`, `"rightOperand": 6, "unit": "hour"`, 1)
			},
			reason.PolicyRequiresAgreement, "",
		},
		"a prohibition for every intent": {func(p string) string {
			return strings.Replace(p, `"prohibition": [`, `"prohibition": [{"target": "shop.example", "action": "execute", `+
				`"constraint": [{"leftOperand": "dateTime", "operator": "gt", "rightOperand": "2090-01-01"}]},`, 1)
		}, reason.PolicyRequiresAgreement, reason.PolicyRequiresAgreement},
		"another uid": {
			func(p string) string { return strings.Replace(p, "policy/1", "policy/2", 1) },
			reason.PolicyRequiresAgreement, reason.PolicyRequiresAgreement,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", quickUpstream)
			a := w.fresh()
			changed := test.edit(stepsPolicy)
			if changed == stepsPolicy {
				t.Fatal("the policy is the same")
			}
			w.Write("policy.json", changed)
			w.Reload()
			w.refuses(a, call{intent: find, parameters: found}, test.findings)
			w.refuses(a, call{intent: buy, parameters: ordered}, test.orders)
			w.Write("policy.json", stepsPolicy) // the agreement is to this policy again
			w.Reload()
			w.refuses(a, call{intent: find, parameters: found}, "")
			w.refuses(a, call{intent: buy, parameters: ordered}, "")
		})
	}
}

// refuses checks the reason of the refusal of a call; it is empty if the call succeeds.
func (w *world) refuses(a *gatetest.Agent, c call, want reason.Reason) {
	w.Helper()
	_, refused, event := w.do(a, c)
	switch {
	case want == "" && refused != nil, want != "" && (refused == nil || refused.Reason != want):
		w.Errorf("%s: %v, want %q", c.intent, refused, want)
	case want != "" && (event.Charge != nil || refused.Details["agreed_digest"] == nil):
		w.Errorf("%s: charge %v, details %v", c.intent, event.Charge, refused.Details)
	}
}
