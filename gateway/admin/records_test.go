package admin_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/admin/status"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func TestBlockAndUnblockAgents(t *testing.T) {
	g := newAdminGate(t, "")
	const odd = ".." // a valid agent id
	a, b := g.Agreed("agent-1"), g.Agreed("we/ird?id#%2F")
	g.Agreed(odd)
	if got := names(items[agreements.Agent](g, "/agents"), func(a agreements.Agent) pat.AgentID { return a.AgentID }); !slices.Equal(got,
		[]pat.AgentID{odd, "agent-1", b.ID}) {
		t.Fatalf("got %v, want %+v", got, []pat.AgentID{odd, "agent-1", b.ID})
	}
	if got := ask[agreements.Agent](g, "GET", "/agents/we%2Fird%3Fid%23%252F", nil); got.AgentID != b.ID ||
		!slices.Equal(got.Keys, []keys.ID{b.KeyID}) || got.Status != pat.AgentActive {
		t.Errorf("got %+v; want AgentID %v, Keys %+v and Status %v", got, b.ID, []keys.ID{b.KeyID}, pat.AgentActive)
	}
	if got := ask[agreements.Agent](g, "GET", "/agents/%2E%2E", nil); got.AgentID != odd {
		t.Errorf("got %+v, want AgentID %v", got, odd)
	}
	g.Refuses(g.do("GET", "/agents/nobody", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.Status, got.Body, http.StatusOK)
	}
	blocked := ask[agreements.Agent](g, "POST", "/agents/agent-1/block", map[string]any{"reason": "asked for"})
	if blocked.Status != pat.AgentBlocked || blocked.Reason != "asked for" {
		t.Errorf("got %+v; want Status %v and Reason %q", blocked, pat.AgentBlocked, "asked for")
	}
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusForbidden {
		t.Errorf("a call of a blocked agent: %d %s; want %v", got.Status, got.Body, http.StatusForbidden)
	}
	if got := names(items[agreements.Agent](g, "/agents?status=blocked"),
		func(a agreements.Agent) pat.AgentID { return a.AgentID }); !slices.Equal(got, []pat.AgentID{"agent-1"}) {
		t.Errorf("got %v, want %+v", got, []pat.AgentID{"agent-1"})
	}
	if status := g.AgreeAgain(a); status != http.StatusForbidden {
		t.Errorf("a blocked agent agrees: %d, want %d", status, http.StatusForbidden)
	}
	g.Pass(time.Second)
	if got := ask[agreements.Agent](g, "POST", "/agents/agent-1/unblock", nil); got.Status != pat.AgentActive || got.Reason != "" {
		t.Errorf("got %+v; want Status %v and Reason empty", got, pat.AgentActive)
	}
	if status := g.AgreeAgain(a); status != http.StatusOK {
		t.Errorf("an unblocked agent agrees: %d, want %d", status, http.StatusOK)
	}
	if got := ask[agreements.Agent](g, "POST", "/agents/never-came/block", nil); got.Status != pat.AgentBlocked || got.Keys == nil {
		t.Errorf("got %+v", got)
	}
	if _, status := g.Agree("never-came"); status == http.StatusOK {
		t.Error("an id blocked beforehand was claimed")
	}
	g.Refuses(g.do("POST", "/agents/nobody/unblock", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	g.Refuses(g.do("POST", "/agents/nobody/approve", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	g.Refuses(g.do("POST", "/agents/b%20b/block", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
	g.Refuses(g.do("POST", "/agents/agent-1/block", map[string]any{"reason": "two\nlines"}), http.StatusBadRequest, "MALFORMED_REQUEST")
}

// TestUnblockedIDCanBeClaimed blocks and unblocks an agent id, and the id of its static agreements, before an agent claims it.
func TestUnblockedIDCanBeClaimed(t *testing.T) {
	t.Parallel()
	g := newAdminGate(t, "")
	for _, id := range []string{"newcomer", "newcomer%20static"} {
		if got := ask[agreements.Agent](g, "POST", "/agents/"+id+"/block", nil); got.Status != pat.AgentBlocked {
			t.Fatalf("got %+v, want Status %v", got, pat.AgentBlocked)
		}
		if got := ask[agreements.Agent](g, "POST", "/agents/"+id+"/unblock", nil); got.Status != pat.AgentActive {
			t.Fatalf("got %+v, want Status %v", got, pat.AgentActive)
		}
		g.Refuses(g.do("POST", "/agents/"+id+"/approve", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	}
	static := g.Unapproved("newcomer")
	if status := g.agreeStatic(static); status != http.StatusOK {
		t.Errorf("a static agreement under an unblocked id: status %d, want %d", status, http.StatusOK)
	}
	a, status := g.Agree("newcomer")
	if status != http.StatusOK {
		t.Fatalf("an agent claims an unblocked id: status %d, want %d", status, http.StatusOK)
	}
	if got := ask[agreements.Agent](g, "GET", "/agents/newcomer", nil); !slices.Equal(got.Keys, []keys.ID{a.KeyID}) || got.Approved {
		t.Errorf("got %+v", got)
	}
	if _, status := g.Agree("newcomer"); status != http.StatusConflict {
		t.Errorf("another key: status %d, want %d", status, http.StatusConflict)
	}
}

// agreeStatic makes an agreement with a signature over the policy, and returns the status of the response.
func (g *adminGate) agreeStatic(a *gatetest.Agent) int {
	g.Helper()
	signature := ed25519.Sign(a.Key, g.Directory.Current().Service("default").Offer().Bytes)
	return g.Call("/api/pat/issue", "", map[string]any{
		"agent_id": a.ID, "agent_public_key": a.PublicKey, "signed_policy": base64.StdEncoding.EncodeToString(signature),
	}).Status
}

// TestApprovalOfAStaticAgreement approves an agent by its id. Only a static agreement waits under this id.
func TestApprovalOfAStaticAgreement(t *testing.T) {
	t.Parallel()
	g := newAdminGate(
		t,
		"pat: {admission: approval}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n",
	)
	a := g.Unapproved("agent-1")
	if status := g.agreeStatic(a); status != http.StatusAccepted {
		t.Fatalf("status %d, want %d", status, http.StatusAccepted)
	}
	got := ask[agreements.Agent](g, "POST", "/agents/agent-1/approve", nil)
	if got.AgentID != "agent-1 static" || !got.Approved || got.Status != pat.AgentActive {
		t.Errorf("got %+v", got)
	}
	if status := g.AgreeAgain(a); status != http.StatusAccepted {
		t.Fatalf("a fresh agreement is approved separately: status %d, want %d", status, http.StatusAccepted)
	}
	if got := ask[agreements.Agent](g, "POST", "/agents/agent-1/approve", nil); got.AgentID != "agent-1" || !got.Approved {
		t.Errorf("got %+v", got)
	}
}

func TestAgentsArePaged(t *testing.T) {
	g := newAdminGate(t, "")
	for _, id := range []string{"a", "b", "c"} {
		g.Agreed(id)
	}
	var seen []pat.AgentID
	next := ""
	for range 3 {
		p := ask[api.Page[agreements.Agent]](g, "GET", "/agents?limit=2&after="+next, nil)
		seen = append(seen, names(p.Items, func(a agreements.Agent) pat.AgentID { return a.AgentID })...)
		if next = p.Next; next == "" {
			break
		}
	}
	if !slices.Equal(seen, []pat.AgentID{"a", "b", "c"}) {
		t.Errorf("got %v, want %+v", seen, []pat.AgentID{"a", "b", "c"})
	}
	var jtis []pat.TokenID
	next = ""
	for range 4 {
		p := ask[api.Page[agreements.PAT]](g, "GET", "/pats?limit=1&after="+next, nil)
		jtis = append(jtis, names(p.Items, func(p agreements.PAT) pat.TokenID { return p.ID })...)
		if next = p.Next; next == "" {
			break
		}
	}
	if slices.Sort(jtis); len(slices.Compact(jtis)) != 3 {
		t.Errorf("got %v", jtis)
	}
}

func TestApprovalOfAWaitingAgent(t *testing.T) {
	g := newAdminGate(
		t,
		"pat: {admission: approval}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n",
	)
	a, code := g.Agree("agent-1")
	if code != http.StatusAccepted {
		t.Fatalf("got %d, want %d", code, http.StatusAccepted)
	}
	waiting := items[agreements.Agreement](g, "/agreements?state=pending")
	if len(waiting) != 1 || waiting[0].AgentID != "agent-1" || waiting[0].State != pat.AgreementPending {
		t.Fatalf("got %+v; want length 1, [0].AgentID %q and [0].State %v", waiting, "agent-1", pat.AgreementPending)
	}
	for _, filter := range []string{"approved=false", "status=waiting"} {
		if got := items[agreements.Agent](g, "/agents?"+filter); len(got) != 1 || got[0].Status != agreements.Waiting {
			t.Fatalf("%s: got %+v; want length 1 and [0].Status %v", filter, got, agreements.Waiting)
		}
	}
	if got := ask[status.Status](g, "GET", "/status", nil).Services[0]; got.WaitingAgents == nil || *got.WaitingAgents != 1 {
		t.Fatalf("got %+v, want WaitingAgents 1", got)
	}
	if got := ask[agreements.Agent](g, "POST", "/agents/agent-1/approve", nil); !got.Approved || got.Status != pat.AgentActive {
		t.Errorf("got %+v", got)
	}
	if got := ask[status.Status](g, "GET", "/status", nil).Services[0]; got.WaitingAgents == nil || *got.WaitingAgents != 0 {
		t.Fatalf("got %+v, want WaitingAgents 0", got)
	}
	if got := ask[agreements.Agreement](g, "GET", "/agreements/"+string(waiting[0].ID), nil); got.State != pat.AgreementActive {
		t.Errorf("got %+v, want State %v", got, pat.AgreementActive)
	}
	if status := g.AgreeAgain(a); status != http.StatusOK {
		t.Errorf("got %d, want %d", status, http.StatusOK)
	}
}

func TestAddAgentKey(t *testing.T) {
	g := newAdminGate(t, "")
	a, other := g.Agreed("agent-1"), g.Agreed("agent-2")
	second := g.Unapproved("agent-1")
	if status := g.AgreeAgain(second); status != http.StatusConflict {
		t.Errorf("an unknown key for a known id: %d, want %d", status, http.StatusConflict)
	}
	g.Refuses(g.do("POST", "/agents/agent-1/keys", map[string]any{"jkt": other.KeyID}), http.StatusConflict, "KEY_TAKEN")
	for _, bad := range []any{"", "short", a.KeyID + "=", 7, strings.Repeat("*", 43)} {
		g.Refuses(g.do("POST", "/agents/agent-1/keys", map[string]any{"jkt": bad}), http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	g.Refuses(g.do("POST", "/agents/nobody/keys", map[string]any{"jkt": strings.Repeat("A", 43)}), http.StatusNotFound, "NO_SUCH_RECORD")
	if got := ask[agreements.Agent](g, "POST", "/agents/agent-1/keys", map[string]any{"jkt": second.KeyID}); !slices.Equal(got.Keys,
		[]keys.ID{a.KeyID, second.KeyID}) {
		t.Errorf("got %+v, want Keys %+v", got, []keys.ID{a.KeyID, second.KeyID})
	}
	if status := g.AgreeAgain(second); status != http.StatusOK {
		t.Errorf("an added key: %d, want %d", status, http.StatusOK)
	}
}

func TestExportAndRevokeAgreements(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	g.Agreed("agent-2")
	list := items[agreements.Agreement](g, "/agreements?agent_id=agent-1")
	if len(list) != 1 || list[0].KeyID != a.KeyID || list[0].Assurance != pat.Fresh || list[0].State != pat.AgreementActive {
		t.Fatalf("got %+v; want length 1, [0].KeyID %v, [0].Assurance %v and [0].State %v", list, a.KeyID, pat.Fresh, pat.AgreementActive)
	}
	bundle := g.do("GET", "/agreements/"+string(list[0].ID)+"/export", nil)
	e, err := pat.VerifyExport(bundle.Body, bindings.Forms())
	if err != nil || e.Agreement.AgentID != "agent-1" || string(e.Policy.Bytes) != gatetest.PolicyFile {
		t.Fatalf("got %+v, %v", e, err)
	}
	g.Refuses(g.do("GET", "/agreements/none/export", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	g.Refuses(g.do("POST", "/agreements/none/revoke", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	if got := ask[agreements.Agreement](g, "POST", "/agreements/"+string(list[0].ID)+"/revoke",
		map[string]any{"reason": "why"}); got.State != pat.AgreementRevoked {
		t.Errorf("got %+v, want State %v", got, pat.AgreementRevoked)
	}
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusUnauthorized {
		t.Errorf("got %d %s; want %v", got.Status, got.Body, http.StatusUnauthorized)
	}
	pats := items[agreements.PAT](g, "/pats?agent_id=agent-1")
	if len(pats) != 1 || pats[0].State != agreements.PATRevoked || pats[0].AgreementID != list[0].ID {
		t.Errorf("got %+v; want length 1, [0].State %v and [0].AgreementID %v", pats, agreements.PATRevoked, list[0].ID)
	}
}

func TestExportOfEnvelopeAgreement(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.AgreedInEnvelope("alice recovery password")
	list := items[agreements.Agreement](g, "/agreements?agent_id="+string(a.ID))
	if len(list) != 1 || list[0].AgentID != a.ID || list[0].Assurance != pat.Fresh || list[0].Form != "uagents-envelope" {
		t.Fatalf("got %+v; want length 1, [0].AgentID %v, [0].Assurance %v and [0].Form %q", list, a.ID, pat.Fresh, "uagents-envelope")
	}
	bundle := g.do("GET", "/agreements/"+string(list[0].ID)+"/export", nil)
	e, err := pat.VerifyExport(bundle.Body, bindings.Forms())
	if err != nil || e.Agreement.AgentID != a.ID || e.Agreement.KeyID != list[0].KeyID || string(e.Policy.Bytes) != gatetest.PolicyFile {
		t.Fatalf("got %+v, %v", e, err)
	}
}

func TestPATsAreListedRevokedAndIntrospected(t *testing.T) {
	g := newAdminGate(t, "")
	a, b := g.Agreed("agent-1"), g.Agreed("agent-2")
	list := items[agreements.PAT](g, "/pats?agent_id=agent-1&state=active")
	if len(list) != 1 || list[0].State != agreements.PATActive || list[0].KeyID != a.KeyID || len(list[0].Scope) != 2 ||
		list[0].Limit.Rate != 10000 {
		t.Fatalf("got %+v", list)
	}
	for _, token := range []string{a.Token, "Bearer x", "x.y.z"} {
		in := ask[pat.Introspection](g, "POST", "/introspect", map[string]any{"token": token})
		if in.Active != (token == a.Token) || (in.Active && (in.Subject != "agent-1" || in.ID != list[0].ID)) {
			t.Errorf("got %+v", in)
		}
	}
	g.Refuses(g.do("POST", "/introspect", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
	g.Refuses(g.do("POST", "/pats/none/revoke", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	g.Refuses(g.do("GET", "/pats/none", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	if got := ask[agreements.PAT](g, "POST", "/pats/"+string(list[0].ID)+"/revoke",
		map[string]any{"reason": "leaked"}); got.State != agreements.PATRevoked {
		t.Errorf("got %+v, want State %v", got, agreements.PATRevoked)
	}
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusUnauthorized {
		t.Errorf("got %d %s; want %v", got.Status, got.Body, http.StatusUnauthorized)
	}
	if got := ask[pat.Introspection](g, "POST", "/introspect", map[string]any{"token": a.Token}); got.Active {
		t.Errorf("got %+v", got)
	}
	if got := g.Execute(b, gatetest.Searching); got.Status != http.StatusOK {
		t.Errorf("another agent: %d %s; want %v", got.Status, got.Body, http.StatusOK)
	}
	if got := items[agreements.PAT](g, "/pats?state=active"); len(got) != 1 || got[0].AgentID != "agent-2" {
		t.Errorf("got %+v; want length 1 and [0].AgentID %q", got, "agent-2")
	}
	g.Later(2 * time.Hour)
	if got := items[agreements.PAT](g, "/pats?agent_id=agent-2"); len(got) != 1 || got[0].State != agreements.PATExpired {
		t.Errorf("got %+v; want length 1 and [0].State %v", got, agreements.PATExpired)
	}
}

func TestRevokingAPolicyEndsItsPATs(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	list := items[policies.Policy](g, "/policies")
	if len(list) != 1 || !list[0].Offered || list[0].FirstOffered.IsZero() {
		t.Fatalf("got %+v", list)
	}
	g.Refuses(g.do("POST", "/policies/sha-256:none/revoke", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	if got := g.do("POST", "/policies/"+list[0].Digest+"/revoke", nil); got.Status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.Status, got.Body, http.StatusOK)
	}
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusUnauthorized {
		t.Errorf("got %d %s; want %v", got.Status, got.Body, http.StatusUnauthorized)
	}
}

// After a crash, an operator who knows that calls were not sent can release all of them at once.
func TestResolveNotSent(t *testing.T) {
	g := newAdminGate(t, "")
	a, b := g.Agreed("agent-1"), g.Agreed("agent-2")
	g.BreakOff()
	leave := func(a *gatetest.Agent, n int) {
		for range n {
			if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusBadGateway {
				t.Fatalf("got %d %s; want %v", got.Status, got.Body, http.StatusBadGateway)
			}
		}
	}
	leave(a, 2)
	leave(b, 1)
	g.Later(time.Minute)
	before := g.Now().UTC().Format(time.RFC3339)
	leave(a, 1)
	g.Refuses(g.do("POST", "/usage/not-sent", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
	var released []calls.Execution
	for query := "limit=2&agent_id=agent-1&before=" + before; ; {
		page := ask[api.Page[calls.Execution]](g, "POST", "/usage/not-sent?"+query, nil)
		released = append(released, page.Items...)
		if page.Next == "" {
			break
		}
		query = "limit=2&agent_id=agent-1&before=" + before + "&after=" + page.Next
	}
	if len(released) != 2 || released[0].State != "released" || released[0].AgentID != "agent-1" {
		t.Fatalf("got %+v; want length 2, [0].State %q and [0].AgentID %q", released, "released", "agent-1")
	}
	if got := ask[api.Page[calls.Execution]](g, "POST", "/usage/not-sent?before="+before, nil); len(got.Items) != 1 ||
		got.Items[0].AgentID != "agent-2" {
		t.Errorf("got %+v; want Items of length 1 and Items[0].AgentID %q", got, "agent-2")
	}
	if left := items[calls.Execution](g, "/usage/executions?state=unresolved"); len(left) != 1 {
		t.Errorf("%d left, want only the call that began later", len(left))
	}
}

func TestUsageAndResolve(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	if got := g.Execute(a, gatetest.Ordering, "Idempotency-Key", "order-1"); got.Status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.Status, got.Body, http.StatusOK)
	}
	g.BreakOff()
	for range 2 {
		if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusBadGateway {
			t.Fatalf("got %d %s; want %v", got.Status, got.Body, http.StatusBadGateway)
		}
	}
	unresolved := items[calls.Execution](g, "/usage/executions?state=unresolved")
	if len(unresolved) != 2 || unresolved[0].Outcome != "unknown" || unresolved[0].Amount != "0.25" || unresolved[0].Currency != "EUR" ||
		unresolved[0].Intent != gatetest.Ordering {
		t.Fatalf("got %+v", unresolved)
	}
	done := items[calls.Execution](g, "/usage/executions?state=captured&agent_id=agent-1")
	if len(done) != 1 || done[0].IdempotencyKey != "order-1" || done[0].SettledAt.IsZero() {
		t.Fatalf("got %+v", done)
	}
	if got := ask[calls.Execution](g, "GET", "/usage/executions/"+done[0].ID, nil); got.AnswerStatus != http.StatusOK {
		t.Errorf("got %+v, want AnswerStatus %v", got, http.StatusOK)
	}
	resolve := func(i int, to string) gatetest.Answer {
		return g.do("POST", "/usage/executions/"+unresolved[i].ID+"/resolve", map[string]any{"state": to})
	}
	g.Refuses(resolve(0, "held"), http.StatusBadRequest, "MALFORMED_REQUEST")
	g.Refuses(g.do("POST", "/usage/executions/"+unresolved[0].ID+"/resolve", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
	if got := resolve(0, "captured"); got.Status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.Status, got.Body, http.StatusOK)
	}
	if got := resolve(1, "released"); got.Status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.Status, got.Body, http.StatusOK)
	}
	g.Refuses(resolve(0, "released"), http.StatusConflict, "ALREADY_SETTLED")
	g.Refuses(g.do("POST", "/usage/executions/"+done[0].ID+"/resolve", map[string]any{"state": "released"}), http.StatusConflict,
		"ALREADY_SETTLED")
	g.Refuses(g.do("POST", "/usage/executions/none/resolve", map[string]any{"state": "released"}), http.StatusNotFound, "NO_SUCH_RECORD")
	g.Refuses(g.do("GET", "/usage/executions/none", nil), http.StatusNotFound, "NO_SUCH_RECORD")

	want := billing.Account{AgentID: "agent-1", Currency: "EUR", ToppedUp: "0.00", Held: "0.00", Captured: "0.50", Balance: "-0.50"}
	if got := items[billing.Account](g, "/usage/accounts"); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v; want length 1 and [0] %v", got, want)
	}
	want.ToppedUp, want.Balance = "10.00", "9.50"
	if got := ask[billing.Account](g, "POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "10 EUR"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []string{"10", "0 EUR", "-1 EUR", "10 eur", "0.0000000001 EUR", "1000001 EUR"} {
		g.Refuses(g.do("POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": bad}), http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	g.Refuses(g.do("POST", "/usage/top-up", map[string]any{"agent_id": "agent-l", "amount": "10 EUR"}), http.StatusNotFound, "NO_SUCH_RECORD")
	entries := items[calls.Entry](g, "/usage/ledger?limit=1000")
	if len(entries) != 9 || entries[0].To != "" || entries[0].Amount != "10.00" || entries[0].By != "operator" ||
		entries[1].From != "unresolved" {
		t.Errorf("%d: %+v", len(entries), entries)
	}
	p := ask[api.Page[calls.Entry]](g, "GET", "/usage/ledger?limit=4", nil)
	q := ask[api.Page[calls.Entry]](g, "GET", "/usage/ledger?limit=1000&after="+p.Next, nil)
	if len(p.Items)+len(q.Items) != 9 || q.Next != "" {
		t.Errorf("%d and %d", len(p.Items), len(q.Items))
	}
}

// patKeys returns the keys that sign PATs. Other keys sign agent cards and receipts.
func patKeys(g *adminGate) []agreements.Key {
	g.Helper()
	return slices.DeleteFunc(items[agreements.Key](g, "/keys"), func(k agreements.Key) bool { return k.Purpose != keys.ForPATs })
}

func TestKeysRotateAndRetire(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	first := patKeys(g)
	if len(first) != 1 || !first[0].Signing || first[0].Algorithm != "EdDSA" || !first[0].NotAfter.IsZero() {
		t.Fatalf("got %+v", first)
	}
	next := ask[agreements.Key](g, "POST", "/keys/rotate", nil)
	if next.ID == first[0].ID || !next.Signing {
		t.Fatalf("got %+v", next)
	}
	list := patKeys(g)
	for _, k := range list {
		if k.Signing != (k.ID == next.ID) || k.NotAfter.IsZero() != k.Signing {
			t.Errorf("got %+v", k)
		}
	}
	if len(list) != 2 {
		t.Fatalf("got %+v, want length 2", list)
	}
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusOK {
		t.Errorf("a PAT of the previous key: %d %s; want %v", got.Status, got.Body, http.StatusOK)
	}
	g.Refuses(g.do("POST", "/keys/none/retire", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	for _, bad := range []string{"tomorrow", "2020-01-01T00:00:00Z", "9999-01-01T00:00:00Z"} {
		g.Refuses(g.do("POST", "/keys/"+string(next.ID)+"/retire", map[string]any{"at": bad}), http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	if got := ask[agreements.Key](g, "POST", "/keys/"+string(first[0].ID)+"/retire", nil); !got.NotAfter.Equal(g.Now()) {
		t.Errorf("got %+v", got)
	}
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusUnauthorized {
		t.Errorf("a PAT of a retired key: %d %s; want %v", got.Status, got.Body, http.StatusUnauthorized)
	}
	// If the signing key is retired, another key replaces it.
	if got := ask[agreements.Key](g, "POST", "/keys/"+string(next.ID)+"/retire", nil); got.Signing {
		t.Errorf("got %+v", got)
	}
	if left := patKeys(g); len(left) != 1 || left[0].ID == next.ID || !left[0].Signing {
		t.Errorf("got %+v", left)
	}
}

// Neither the responses to operators nor the log contain a token or a private key.
func TestSecretsAreNotShownOrLogged(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering, "Idempotency-Key", "k")
	id := string(items[agreements.Agreement](g, "/agreements")[0].ID)
	jti := string(items[agreements.PAT](g, "/pats")[0].ID)
	execution := items[calls.Execution](g, "/usage/executions")[0].ID
	kid := string(patKeys(g)[0].ID)
	note := ask[billing.Refund](g, "POST", "/usage/executions/"+execution+"/refund", map[string]any{"reason": "late"}).Number
	var shown strings.Builder
	for _, o := range everyOperation {
		path := o[1]
		for prefix, id := range map[string]string{
			"/agents/a": "agent-1", "/agreements/a": id, "/pats/a": jti,
			"/usage/executions/a": execution, "/usage/refunds/a": note, "/keys/a": kid,
		} {
			if strings.HasPrefix(path, prefix+"/") || path == prefix {
				path = strings.TrimSuffix(prefix, "a") + id + strings.TrimPrefix(path, prefix)
			}
		}
		var body any
		if o == [2]string{"GET", "/agents/a/invoice"} {
			path += "?month=" + g.Now().UTC().Format("2006-01")
		}
		if o[1] == "/introspect" {
			body = map[string]any{"token": a.Token}
		}
		got := g.do(o[0], path, body)
		shown.Write(got.Body)
		if o[0] == http.MethodGet && got.Status != http.StatusOK {
			t.Errorf("%s %s: %d %s", o[0], path, got.Status, got.Body)
		}
		if got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
	for _, entry := range g.Logs.All() {
		text, err := json.Marshal(entry.ContextMap())
		g.Must(err)
		shown.WriteString(entry.Message)
		shown.Write(text)
	}
	for name, secret := range map[string]string{
		"the PAT": a.Token, "its signature": a.Token[strings.LastIndexByte(a.Token, '.')+1:], "the admin token": adminToken,
		"a private key": `"d":`, "a PEM": "PRIVATE KEY",
	} {
		if strings.Contains(shown.String(), secret) {
			t.Errorf("%s is shown or logged", name)
		}
	}
	if !strings.Contains(shown.String(), "POST /agents/{id}/block") {
		t.Error("the operations are not logged")
	}
}
