package bindings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/pat"
)

// uagentsPlanned permits searches 2 times a day under the plan free, and 3 times under pro; orders under neither.
var uagentsPlanned = strings.Replace(gatetest.PolicyFile, `{"target": "shop.example:search:v1", "action": "execute"},`,
	uagentsPlanOf("free", 2)+uagentsPlanOf("pro", 3), 1)

func uagentsPlanOf(plan string, most int) string {
	return fmt.Sprintf(`{"target": "shop.example:search:v1", "action": "execute", "constraint": [`+
		`{"leftOperand": "uim:plan", "operator": "eq", "rightOperand": %q}, `+
		`{"leftOperand": "count", "operator": "lteq", "rightOperand": %d, "unit": "day"}]},`, plan, most)
}

// toPlan returns UIMAgreeToPlan for the offered policy.
func (p *uagentsPeer) toPlan(plan string) string {
	return strings.Replace(p.agreement(), "{", fmt.Sprintf(`{"plan": %q, `, plan), 1)
}

func openedWithPlans(t *testing.T) *uagentsPeer {
	t.Helper()
	p := opened(t)
	p.Write("policy.json", uagentsPlanned)
	p.Reload()
	return p
}

// An agent chooses a plan in an envelope. A new plan ends the earlier agreement, and the counters stay.
func TestAgentChoosesAPlan(t *testing.T) {
	t.Parallel()
	p := openedWithPlans(t)
	model, reply := p.ask("UIMAgreeToPlan", p.toPlan("free"))
	if model != "UIMAgreed" {
		t.Fatalf("got %s %v", model, reply)
	}
	free := reply.Text("pat")
	claims, err := p.Directory.Current().Service("default").Verifier.Verify(t.Context(), free, p.Now())
	if err != nil || claims.Declared.Plan() != "free" {
		t.Fatalf("got %+v, %v", claims, err)
	}
	for n, want := range []string{"UIMResult", "UIMResult", "UIMFault"} {
		p.Later(time.Second) // the same envelope would be the same call
		if got, reply := p.ask("UIMExecute", search(free)); got != want {
			t.Errorf("call %d: %s %v, want %s", n, got, reply, want)
		}
	}
	p.Later(time.Second)
	if model, reply = p.ask("UIMAgreeToPlan", p.toPlan("pro")); model != "UIMAgreed" {
		t.Fatalf("got %s %v", model, reply)
	}
	if got, fault := p.ask("UIMExecute", search(free)); got != "UIMFault" || fault.Object("details").Text("reason") != "REVOKED_TOKEN" {
		t.Errorf("the PAT of the earlier plan: %s %v", got, fault)
	}
	pro := reply.Text("pat")
	for n, want := range []string{"UIMResult", "UIMFault"} { // 2 of 3 calls are used
		p.Later(time.Second)
		if got, reply := p.ask("UIMExecute", search(pro)); got != want {
			t.Errorf("call %d under pro: %s %v, want %s", n, got, reply, want)
		}
	}
}

func TestPlansThatCannotBeChosen(t *testing.T) {
	t.Parallel()
	p := openedWithPlans(t)
	for name, c := range map[string]struct{ model, message, reason string }{
		"no plan":            {"UIMAgree", strings.Replace(p.agreement(), "null", `["shop.example:search:v1:execute"]`, 1), "PLAN_REQUIRED"},
		"an unknown plan":    {"UIMAgreeToPlan", p.toPlan("partner"), "UNKNOWN_PLAN"},
		"a long plan":        {"UIMAgreeToPlan", p.toPlan(strings.Repeat("x", 300)), "INVALID_PARAMETER"},
		"a plan in UIMAgree": {"UIMAgree", p.toPlan("free"), "INVALID_PARAMETER"},
	} {
		if model, fault := p.ask(c.model, c.message); model != "UIMFault" || fault.Object("details").Text("reason") != c.reason {
			t.Errorf("%s: %s %v, want %s", name, model, fault, c.reason)
		}
	}
	if got := p.Get("/uagents/manifest?digest=" + string(protocol.Plans().Digest)); !strings.Contains(string(got.Body), "UIMAgreeToPlan") {
		t.Errorf("the manifest: %d %s", got.Status, got.Body)
	}
	p.Write("policy.json", gatetest.PolicyFile)
	p.Reload()
	model, fault := p.ask("UIMAgreeToPlan", p.toPlan("free"))
	if model != "UIMFault" || fault.Object("details").Text("reason") != "UNKNOWN_PLAN" {
		t.Errorf("a policy without plans: %s %v", model, fault)
	}
}

// The signed envelope proves the plan: a bundle states it again, and a stored agreement with another plan is not exported.
func TestEvidenceHasThePlan(t *testing.T) {
	t.Parallel()
	p := openedWithPlans(t)
	model, reply := p.ask("UIMAgreeToPlan", p.toPlan("pro"))
	if model != "UIMAgreed" {
		t.Fatalf("got %s %v", model, reply)
	}
	stored, err := p.Store.Agreement(t.Context(), "default", pat.AgreementID(reply.Text("agreement_id")))
	p.Must(err)
	document, err := p.Store.Policy(t.Context(), "default", stored.PolicyDigest)
	p.Must(err)
	forms := []pat.Form{agreement.Form()}
	bundle, err := pat.Export(stored, document, forms)
	p.Must(err)
	if got, err := pat.VerifyExport(bundle, forms); err != nil || got.Agreement.Plan != "pro" || got.Agreement.Declared().Plan() != "pro" {
		t.Errorf("got %+v, %v", got.Agreement, err)
	}
	if stored.Plan = "free"; stored.Declared().Plan() != "free" {
		t.Error("the plan of the record is not used")
	}
	if _, err := pat.Export(stored, document, forms); err == nil {
		t.Error("an agreement was exported with a plan other than the signed one")
	}
}

// A chat agrees with a plan by text.
func TestChatChoosesAPlan(t *testing.T) {
	t.Parallel()
	p := openedWithPlans(t)
	digest := p.Directory.Current().Service("default").Offer().Digest
	for text, want := range map[string]string{
		"policy": "The plans are: free, pro", "agree " + digest + " plan partner": "Send agree, the digest of the policy, the word plan",
		"agree " + digest + " plan": "add the word plan and its name", "agree " + digest + " plan free": "You have agreed",
	} {
		message := `{"timestamp":"` + p.Now().UTC().Format(time.RFC3339) + `","msg_id":"6b0c1b3e-7d5a-4c6e-9f10-2a3b4c5d6e7f","content":[` +
			`{"type":"text","text":"` + text + `"}]}`
		_, got := p.opens(p.submit("POST", p.text(p.unsigned("ChatMessage", message).Sign(p.key))))
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, want %q", text, got, want)
		}
	}
}
