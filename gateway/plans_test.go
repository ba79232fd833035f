package gateway_test

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// plansUntil is a policy with free searches for everyone, and with orders under the plans free and pro. plansFrom takes effect later: it
// has the plan starter instead of free.
const plansUntil = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "` + gatetest.Searching + `", "action": "execute"},
    {"target": "` + gatetest.Ordering + `", "action": "execute",
     "constraint": [{"leftOperand": "uim:plan", "operator": "eq", "rightOperand": "free"}]},
    {"target": "` + gatetest.Ordering + `", "action": "execute",
     "constraint": [{"leftOperand": "uim:plan", "operator": "eq", "rightOperand": "pro"}],
     "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}]
}`

var plansFrom = strings.Replace(plansUntil, `"free"`, `"starter"`, 1)

// newPlans returns a succession of plansUntil by another policy.
func newPlans(t *testing.T, next string) *succession {
	t.Helper()
	second, err := pat.NewOffer([]byte(next), "https://shop.example/policy/1")
	if err != nil {
		t.Fatal(err)
	}
	return &succession{gatetest.New(t, "services:\n- {agents_file: agents.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+
		", policies: [{file: policy.json}, {file: next.json, from: 2026-12-01T00:00Z}]}\n", func(g *gatetest.Gate) {
		g.Write("policy.json", plansUntil)
		g.Write("next.json", next)
	}), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), second}
}

// choose agrees to a policy with a plan, and returns an agent with the PAT.
func (s *succession) choose(a *gatetest.Agent, to pat.Offer, plan, effective string) *gatetest.Agent {
	s.Helper()
	service := s.Directory.Current().Service("default")
	signed, err := pat.SignAgreement(a.Key, pat.AgreementClaims{
		AgentID: a.ID, Audience: service.Issuer, URL: service.At("/api/pat/issue"), IssuedAt: s.Now(), Nonce: rand.Text(),
		PolicyUID: to.UID, PolicyDigest: to.Digest, Declared: pat.Declaration{"plan": {plan}},
	})
	s.Must(err)
	body := map[string]any{"agent_id": a.ID, "agent_public_key": a.PublicKey, "signed_policy": signed}
	if effective != "" {
		body["effective"] = effective
	}
	answer := s.Call("/api/pat/issue", "", body)
	var issued struct {
		PAT string `json:"uim-pat"`
	}
	_ = json.Unmarshal(answer.Body, &issued)
	if issued.PAT == "" {
		s.Fatalf("%s chooses %s: %d %s", a.ID, plan, answer.Status, answer.Body)
	}
	chosen := *a
	chosen.Token = issued.PAT
	return &chosen
}

// until advances the clock to the time before the date of the next policy. It keeps the PAT of an agent renewed, and refreshes the view.
func (s *succession) until(before time.Duration, a *gatetest.Agent) {
	s.Helper()
	for left := s.from.Add(-before).Sub(s.Now()); left > 0; left = s.from.Add(-before).Sub(s.Now()) {
		a.Token = s.renewed(a)
		s.Later(min(50*time.Minute, left))
	}
}

func TestPlanInAdvance(t *testing.T) {
	s := newPlans(t, plansFrom)
	first := s.Directory.Current().Service("default").Offer()
	agent := s.Unapproved("agent-1")
	free := s.choose(agent, first, "free", "")
	next := s.choose(agent, s.second, "starter", "on_date")
	if got := s.order(free); got != "" {
		t.Errorf("under the present plan: %s; want success", got)
	}
	if got := s.order(next); got != "401 INVALID_TOKEN" {
		t.Errorf("under the plan of the next policy: %s; want 401 INVALID_TOKEN", got)
	}
	again := s.choose(agent, first, "free", "") // keeps the agreement in advance
	s.until(time.Minute, again)
	if got := s.order(again); got != "" {
		t.Errorf("under the present plan, a minute before the date: %s; want success", got)
	}
	kept := *again
	s.Later(2 * time.Minute)
	if got := s.order(next); got != "" {
		t.Errorf("under the plan of the policy in force: %s; want success", got)
	}
	if got := s.order(&kept); got == "" || strings.HasPrefix(got, "0") {
		t.Errorf("under the earlier plan: %q; want a refusal", got)
	}
	n, err := s.Store.ReplacePlans(s.Context())
	s.Must(err)
	s.Later(0)
	if got := s.search(&kept); n != 1 || got != "401 REVOKED_TOKEN" {
		t.Errorf("under the earlier plan, of %d agents: %s; want 401 REVOKED_TOKEN and 1", n, got)
	}
	if n, err := s.Store.ReplacePlans(s.Context()); n != 0 || err != nil {
		t.Errorf("again: %d, %v; want none", n, err)
	}
	if got := s.order(next); got != "" {
		t.Errorf("under the plan of the policy in force: %s; want success", got)
	}
}

// Two policies have the same plans and the same terms of orders, so only the agreement in advance ends the present plan.
func TestPlanInAdvanceReplacesAnotherOfBothPolicies(t *testing.T) {
	s := newPlans(t, strings.Replace(plansUntil, `"action": "execute"}`, `"action": "execute",
     "constraint": [{"leftOperand": "count", "operator": "lteq", "rightOperand": 1000, "unit": "day"}]}`, 1))
	first := s.Directory.Current().Service("default").Offer()
	agent := s.Unapproved("agent-1")
	pro := s.choose(agent, first, "pro", "")
	next := s.choose(agent, s.second, "free", "on_date")
	s.until(time.Minute, pro)
	if got := s.order(pro); got != "0.25 EUR" {
		t.Errorf("a minute before the date: %s; want 0.25 EUR", got)
	}
	s.Later(2 * time.Minute)
	if got := s.order(pro); got != "401 REVOKED_TOKEN" {
		t.Errorf("after the date: %s; want 401 REVOKED_TOKEN", got)
	}
	if got := s.renewal(pro); got.Status == http.StatusOK {
		t.Errorf("its renewal: %d %s; want a refusal", got.Status, got.Body)
	}
	if got := s.order(next); got != "" {
		t.Errorf("under the plan in force: %s; want success", got)
	}
}

func TestPlanOfOneDateChanges(t *testing.T) {
	s := newPlans(t, plansFrom)
	first := s.Directory.Current().Service("default").Offer()
	agent := s.Unapproved("agent-1")
	free := s.choose(agent, first, "free", "")
	starter := s.choose(agent, s.second, "starter", "on_date")
	pro := s.choose(agent, s.second, "pro", "on_date")
	s.until(time.Minute, free)
	if got := s.order(free); got != "" {
		t.Errorf("under the present plan: %s; want success", got)
	}
	s.Later(2 * time.Minute)
	if got := s.order(starter); got != "401 REVOKED_TOKEN" {
		t.Errorf("under the plan that was replaced before the date: %s; want 401 REVOKED_TOKEN", got)
	}
	if got := s.order(pro); got != "0.25 EUR" {
		t.Errorf("under the plan in force: %s; want 0.25 EUR", got)
	}
}

// The other plans are evaluated for 20 refused calls of an agent in a minute.
func TestRefusalsThatListPlansAreBounded(t *testing.T) {
	ending := strings.Replace(plansUntil, `"rightOperand": "free"}]`,
		`"rightOperand": "free"}, {"leftOperand": "dateTime", "operator": "lt", "rightOperand": "2026-11-21T12:01:00Z"}]`, 1)
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+"}\n",
		func(g *gatetest.Gate) { g.Write("policy.json", ending) })
	s := &succession{Gate: g}
	agent := s.choose(s.Unapproved("agent-1"), s.Directory.Current().Service("default").Offer(), "free", "")
	if got := s.order(agent); got != "" {
		t.Fatalf("before the plan ends: %s; want success", got)
	}
	s.Later(2 * time.Minute)
	for n := range 20 {
		if got := s.order(agent); got != "403 PLAN_REQUIRED" {
			t.Fatalf("call %d: %s; want 403 PLAN_REQUIRED", n, got)
		}
	}
	if got := s.order(agent); got != "403 POLICY_NOT_APPLICABLE" {
		t.Errorf("one more: %s; want 403 POLICY_NOT_APPLICABLE", got)
	}
	s.Later(time.Minute)
	if got := s.order(agent); got != "403 PLAN_REQUIRED" {
		t.Errorf("a minute later: %s; want 403 PLAN_REQUIRED", got)
	}
}

// An agent that has a plan, and chose it for the date of the next policy as well, chooses another plan for that date, and then its first
// choice again.
func TestPlanOfOneDateChangesAndPresentPlanStays(t *testing.T) {
	s := newPlans(t, plansFrom)
	first := s.Directory.Current().Service("default").Offer()
	agent := s.Unapproved("agent-1")
	present := s.choose(agent, first, "pro", "")
	ended := s.choose(agent, s.second, "pro", "on_date")
	starter := s.choose(agent, s.second, "starter", "on_date")
	again := s.choose(agent, s.second, "pro", "on_date")
	if got := s.order(present); got != "0.25 EUR" {
		t.Errorf("under the present plan: %s; want 0.25 EUR", got)
	}
	s.until(time.Minute, present)
	s.Later(2 * time.Minute)
	for name, c := range map[string]struct {
		agent *gatetest.Agent
		want  string
	}{
		"the first choice":  {ended, "401 REVOKED_TOKEN"},
		"the second choice": {starter, "401 REVOKED_TOKEN"},
		"the last choice":   {again, "0.25 EUR"},
		"the present plan":  {present, "403 POLICY_REQUIRES_AGREEMENT"}, // of the earlier policy
	} {
		if got := s.order(c.agent); got != c.want {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
	}
}

// An agreement to the next policy that takes effect at once ends the present plan, and the plan that was chosen for the date of that
// policy.
func TestPlanOfTheNextPolicyAtOnce(t *testing.T) {
	s := newPlans(t, plansFrom)
	first := s.Directory.Current().Service("default").Offer()
	agent := s.Unapproved("agent-1")
	free := s.choose(agent, first, "free", "")
	starter := s.choose(agent, s.second, "starter", "on_date")
	pro := s.choose(agent, s.second, "pro", "now")
	if got := s.order(free); got != "401 REVOKED_TOKEN" {
		t.Errorf("under the earlier plan: %s; want 401 REVOKED_TOKEN", got)
	}
	s.until(-time.Minute, pro)
	if got := s.order(starter); got != "401 REVOKED_TOKEN" {
		t.Errorf("under the plan chosen in advance: %s; want 401 REVOKED_TOKEN", got)
	}
	if got := s.order(pro); got != "0.25 EUR" {
		t.Errorf("under the present plan: %s; want 0.25 EUR", got)
	}
}

// An agreement holds for the intents whose terms stay the same, even if its plan is not one of the new policy.
func TestRenewalAfterThePlanLeavesThePolicy(t *testing.T) {
	s := newPlans(t, plansFrom)
	agent := s.choose(s.Unapproved("agent-1"), s.Directory.Current().Service("default").Offer(), "free", "")
	s.until(-time.Minute, agent)
	agent.Token = s.renewed(agent)
	if got := s.search(agent); got != "" {
		t.Errorf("a search: %s; want success", got)
	}
	if got := s.order(agent); got == "" {
		t.Error("an order was made, although the plan is not one of the policy")
	}
	again := s.Unapproved("agent-2")
	service := s.Directory.Current().Service("default")
	signed, err := pat.SignAgreement(again.Key, pat.AgreementClaims{
		AgentID: again.ID, Audience: service.Issuer, URL: service.At("/api/pat/issue"), IssuedAt: s.Now(), Nonce: rand.Text(),
		PolicyUID: s.second.UID, PolicyDigest: s.second.Digest, Declared: pat.Declaration{"plan": {"free"}},
	})
	s.Must(err)
	answer := s.Call("/api/pat/issue", "", map[string]any{"agent_id": again.ID, "agent_public_key": again.PublicKey, "signed_policy": signed})
	if answer.Reason() != "UNKNOWN_PLAN" {
		t.Errorf("a new agreement with that plan: %d %s; want UNKNOWN_PLAN", answer.Status, answer.Body)
	}
}
