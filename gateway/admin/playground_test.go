package admin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/catalogue"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/testcalls"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

const playgroundDoors = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " +
	"doors: {mcp: {enabled: true}, a2a: {enabled: true}}}\n"

// agreeTest makes the test agent agree to the policy in force.
func (g *adminGate) agreeTest() testcalls.TestAgreement {
	g.Helper()
	digest := ask[testcalls.TestAgent](g, "GET", "/playground", nil).Policy.Digest
	return ask[testcalls.TestAgreement](g, "POST", "/playground/agree", map[string]any{"policy_digest": digest})
}

func (g *adminGate) try(intent, door string, parameters any) testcalls.TestResult {
	g.Helper()
	body := map[string]any{"intent": intent, "door": door}
	if parameters != nil {
		body["parameters"] = parameters
	}
	return ask[testcalls.TestResult](g, "POST", "/playground/call", body)
}

func TestTestCallsGoThroughEveryDoor(t *testing.T) {
	g := newAdminGate(t, playgroundDoors)
	before := ask[testcalls.TestAgent](g, "GET", "/playground", nil)
	if before.State != testcalls.TestUnsigned || before.AgentID != "" || len(before.Doors) != 3 {
		t.Errorf("before the agreement: %+v", before)
	}
	if refused := g.try(gatetest.Searching, "", nil); refused.Status != http.StatusUnauthorized || refused.Decision != "deny" {
		t.Errorf("without an agreement: %+v", refused)
	}
	agreed := g.agreeTest()
	if agreed.Agent.State != testcalls.TestAgreed || agreed.Status != http.StatusOK ||
		!strings.HasPrefix(string(agreed.Agent.AgentID), "playground-") {
		t.Fatalf("got %+v", agreed)
	}
	if strings.Contains(agreed.Response, "eyJ") || !strings.Contains(agreed.Response, "(the PAT)") || strings.Contains(agreed.Request, "eyJ") {
		t.Errorf("the exchange shows secrets: %s\n%s", agreed.Request, agreed.Response)
	}
	for _, door := range []string{"", "uim", "mcp", "a2a"} {
		got := g.try(gatetest.Ordering, door, map[string]any{"product": "tea"})
		if got.Status != http.StatusOK || got.Decision != "permit" || got.Charge != "0.25 EUR" || got.ChargeState != "captured" ||
			strings.Count(got.Receipt, ".") != 2 || !strings.Contains(got.Response, `"ok":true`) {
			t.Errorf("through %q: %+v", door, got)
		}
		if !strings.Contains(got.Request, "(the PAT)") || !strings.Contains(got.Request, "(the proof of key)") ||
			strings.Contains(got.Request, "eyJ") {
			t.Errorf("through %q: %s", door, got.Request)
		}
		if why := items[calls.Why](g, "/requests/"+got.RequestID); len(why) != 1 || why[0].Agent != string(agreed.Agent.AgentID) ||
			why[0].Intent != gatetest.Ordering {
			t.Errorf("through %q: %+v", door, why)
		}
	}
	agents := items[agreements.Agent](g, "/agents")
	if len(agents) != 1 || agents[0].AgentID != agreed.Agent.AgentID {
		t.Errorf("agents: %+v", agents)
	}
	if g.Logs.FilterMessage("operator").Len() != 6 {
		t.Errorf("the log has %d changes, want 6", g.Logs.FilterMessage("operator").Len())
	}
}

func TestTestCallsAreOrdinaryCalls(t *testing.T) {
	g := newAdminGate(t, playgroundDoors)
	agent := g.agreeTest().Agent
	if got := g.try("shop.example:nothing:v1", "", nil); got.Status != http.StatusNotFound || got.Reason != "INTENT_NOT_FOUND" {
		t.Errorf("an unknown intent: %+v", got)
	}
	if got := g.try(gatetest.Ordering, "mcp", map[string]any{"size": 1}); got.Decision != "deny" || got.Reason == "" {
		t.Errorf("an unknown parameter: %+v", got)
	}
	ask[processes.Stop](g, "POST", "/stops", map[string]any{"kind": "agent", "subject": string(agent.AgentID)})
	if got := g.try(gatetest.Searching, "", nil); got.Reason != "STOPPED" {
		t.Errorf("a stopped agent: %+v", got)
	}
	ask[processes.Stop](g, "POST", "/stops/resume", map[string]any{"kind": "agent", "subject": string(agent.AgentID)})
	ask[agreements.Agent](g, "POST", "/agents/"+string(agent.AgentID)+"/block", map[string]any{})
	g.Must(g.View.Refresh(t.Context()))
	if got := g.try(gatetest.Searching, "", nil); got.Status/100 != 4 || got.Decision != "deny" {
		t.Errorf("a blocked agent: %+v", got)
	}
	if got := g.agreeTest(); got.Status/100 != 4 {
		t.Errorf("a blocked agent agrees: %+v", got)
	}
}

func TestStatesOfTheTestAgent(t *testing.T) {
	g := newAdminGate(t, "pat: {admission: approval}\n"+playgroundDoors)
	pending := g.agreeTest()
	if pending.Status != http.StatusAccepted || pending.Agent.State != testcalls.TestPending {
		t.Fatalf("got %+v", pending)
	}
	ask[agreements.Agent](g, "POST", "/agents/"+string(pending.Agent.AgentID)+"/approve", nil)
	agreed := g.agreeTest().Agent
	if agreed.State != testcalls.TestAgreed {
		t.Fatalf("after the approval: %+v", agreed)
	}
	g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `"0.25"`, `"0.75"`, 1))
	g.Reload()
	outdated := ask[testcalls.TestAgent](g, "GET", "/playground", nil)
	if outdated.State != testcalls.TestOutdated || outdated.Agreed != agreed.Policy.Digest || outdated.Policy.Digest == agreed.Policy.Digest {
		t.Errorf("after a change of the policy: %+v", outdated)
	}
	if got := g.try(gatetest.Ordering, "", map[string]any{"product": "tea"}); got.Decision != "deny" || got.ChargeState == "captured" {
		t.Errorf("a call under the earlier policy: %+v", got)
	}
	stale := g.do("POST", "/playground/agree", map[string]any{"policy_digest": outdated.Agreed})
	g.Refuses(stale, http.StatusBadRequest, "MALFORMED_REQUEST")
	if again := g.agreeTest().Agent; again.State != testcalls.TestAgreed || again.AgentID != agreed.AgentID {
		t.Errorf("after another agreement: %+v", again)
	}
	g.Later(48 * time.Hour)
	if expired := ask[testcalls.TestAgent](g, "GET", "/playground", nil); expired.State != testcalls.TestExpired {
		t.Errorf("after two days: %+v", expired)
	}
}

func TestThePlaygroundCanBeOff(t *testing.T) {
	g := newAdminGate(t, "admin: {playground: false}\n"+playgroundDoors)
	for path, body := range map[string]any{
		"/playground/agree": map[string]any{"policy_digest": "x"}, "/playground/call": map[string]any{"intent": gatetest.Searching},
	} {
		g.Refuses(g.do("POST", path, body), http.StatusNotFound, "NOT_OFFERED")
	}
	for _, door := range []string{"aea", "none"} {
		on := newAdminGate(t, "")
		call := map[string]any{"intent": gatetest.Searching, "door": door}
		on.Refuses(on.do("POST", "/playground/call", call), http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	if _, err := g.Store.Agent(t.Context(), "default", pat.AgentID("playground")); err == nil {
		t.Error("there is a test agent")
	}
}

func TestConnectionsHaveTheAddressesOfOpenDoors(t *testing.T) {
	g := newAdminGate(t, playgroundDoors)
	public := g.Directory.Current().Services()[0].PublicURL.String()
	var doors []string
	for _, c := range items[catalogue.Connection](g, "/connections") {
		doors = append(doors, c.Door)
		if !strings.Contains(c.Text, public) && !strings.Contains(c.Text, "--via "+c.Door) || strings.Contains(c.Text, "eyJ") {
			t.Errorf("%s, %s: %s", c.Door, c.Client, c.Text)
		}
	}
	if all := strings.Join(doors, " "); !strings.Contains(all, "uim") || !strings.Contains(all, "mcp") || !strings.Contains(all, "a2a") ||
		strings.Contains(all, "aea") {
		t.Errorf("got %s", all)
	}
	closed := newAdminGate(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+
		"doors: {mcp: {enabled: false}, a2a: {enabled: false}}}\n")
	for _, c := range items[catalogue.Connection](closed, "/connections") {
		if c.Door != "uim" {
			t.Errorf("the door %s is closed: %s", c.Door, c.Text)
		}
	}
}
