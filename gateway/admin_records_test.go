package gateway_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway"
	"github.com/uimgate/uimgate/pat"
)

func TestAgentsAreBlockedAndUnblockedAtOnce(t *testing.T) {
	g := newAdminGate(t, "")
	odd := ".." // a legal agent id
	a, b := g.agreed("agent-1"), g.agreed("we/ird?id#%2F")
	g.agreed(odd)
	if got := names(items[gateway.AdminAgent](g, "/agents"), func(a gateway.AdminAgent) string { return a.AgentID }); !slices.Equal(got, []string{odd, "agent-1", b.id}) {
		t.Fatalf("%v", got)
	}
	if got := ask[gateway.AdminAgent](g, "GET", "/agents/we%2Fird%3Fid%23%252F", nil); got.AgentID != b.id || !slices.Equal(got.Keys, []string{b.jkt}) || got.Status != pat.AgentActive {
		t.Errorf("%+v", got)
	}
	if got := ask[gateway.AdminAgent](g, "GET", "/agents/%2E%2E", nil); got.AgentID != odd {
		t.Errorf("%+v", got)
	}
	g.do("GET", "/agents/nobody", nil).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	if got := g.execute(a, searching); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	blocked := ask[gateway.AdminAgent](g, "POST", "/agents/agent-1/block", map[string]any{"reason": "asked for"})
	if blocked.Status != pat.AgentBlocked || blocked.Reason != "asked for" {
		t.Errorf("%+v", blocked)
	}
	if got := g.execute(a, searching); got.status != http.StatusForbidden {
		t.Errorf("a blocked agent: %d %s", got.status, got.body)
	}
	if got := names(items[gateway.AdminAgent](g, "/agents?status=blocked"), func(a gateway.AdminAgent) string { return a.AgentID }); !slices.Equal(got, []string{"agent-1"}) {
		t.Errorf("%v", got)
	}
	if status := g.agreeAgain(a); status != http.StatusForbidden {
		t.Errorf("a blocked agent agrees: %d", status)
	}
	g.pass(time.Second)
	if got := ask[gateway.AdminAgent](g, "POST", "/agents/agent-1/unblock", nil); got.Status != pat.AgentActive || got.Reason != "" {
		t.Errorf("%+v", got)
	}
	if status := g.agreeAgain(a); status != http.StatusOK {
		t.Errorf("an unblocked agent agrees: %d", status)
	}
	if got := ask[gateway.AdminAgent](g, "POST", "/agents/never-came/block", nil); got.Status != pat.AgentBlocked || got.Keys == nil {
		t.Errorf("%+v", got)
	}
	if _, status := g.agree("never-came"); status == http.StatusOK {
		t.Error("an id blocked beforehand was claimed")
	}
	g.do("POST", "/agents/nobody/unblock", nil).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	g.do("POST", "/agents/nobody/approve", nil).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	g.do("POST", "/agents/b%20b/block", nil).refuses(g, http.StatusBadRequest, "MALFORMED_REQUEST")
	g.do("POST", "/agents/agent-1/block", map[string]any{"reason": "two\nlines"}).refuses(g, http.StatusBadRequest, "MALFORMED_REQUEST")
}

func TestAgentsArePaged(t *testing.T) {
	g := newAdminGate(t, "")
	for _, id := range []string{"a", "b", "c"} {
		g.agreed(id)
	}
	var seen []string
	next := ""
	for range 3 {
		p := ask[gateway.AdminPage[gateway.AdminAgent]](g, "GET", "/agents?limit=2&after="+next, nil)
		seen = append(seen, names(p.Items, func(a gateway.AdminAgent) string { return a.AgentID })...)
		if next = p.Next; next == "" {
			break
		}
	}
	if !slices.Equal(seen, []string{"a", "b", "c"}) {
		t.Errorf("%v", seen)
	}
	var jtis []string
	next = ""
	for range 4 {
		p := ask[gateway.AdminPage[gateway.AdminPAT]](g, "GET", "/pats?limit=1&after="+next, nil)
		jtis = append(jtis, names(p.Items, func(p gateway.AdminPAT) string { return p.ID })...)
		if next = p.Next; next == "" {
			break
		}
	}
	if slices.Sort(jtis); len(slices.Compact(jtis)) != 3 {
		t.Errorf("%v", jtis)
	}
}

func TestApprovalLetsAWaitingAgentIn(t *testing.T) {
	g := newAdminGate(t, "pat: {admission: approval}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n")
	a, status := g.agree("agent-1")
	if status != http.StatusAccepted {
		t.Fatalf("%d", status)
	}
	waiting := items[gateway.AdminAgreement](g, "/agreements?state=pending")
	if len(waiting) != 1 || waiting[0].AgentID != "agent-1" || waiting[0].State != pat.AgreementPending {
		t.Fatalf("%+v", waiting)
	}
	if got := items[gateway.AdminAgent](g, "/agents?approved=false"); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	if got := ask[gateway.AdminAgent](g, "POST", "/agents/agent-1/approve", nil); !got.Approved {
		t.Errorf("%+v", got)
	}
	if got := ask[gateway.AdminAgreement](g, "GET", "/agreements/"+waiting[0].ID, nil); got.State != pat.AgreementActive {
		t.Errorf("%+v", got)
	}
	if status := g.agreeAgain(a); status != http.StatusOK {
		t.Errorf("%d", status)
	}
}

func TestAFurtherKeySpeaksForAnAgent(t *testing.T) {
	g := newAdminGate(t, "")
	a, other := g.agreed("agent-1"), g.agreed("agent-2")
	second := g.stranger("agent-1")
	if status := g.agreeAgain(second); status != http.StatusConflict {
		t.Errorf("an unknown key for a known id: %d", status)
	}
	g.do("POST", "/agents/agent-1/keys", map[string]any{"jkt": other.jkt}).refuses(g, http.StatusConflict, "KEY_TAKEN")
	for _, bad := range []any{"", "short", a.jkt + "=", 7, strings.Repeat("*", 43)} {
		g.do("POST", "/agents/agent-1/keys", map[string]any{"jkt": bad}).refuses(g, http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	g.do("POST", "/agents/nobody/keys", map[string]any{"jkt": strings.Repeat("A", 43)}).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	if got := ask[gateway.AdminAgent](g, "POST", "/agents/agent-1/keys", map[string]any{"jkt": second.jkt}); !slices.Equal(got.Keys, []string{a.jkt, second.jkt}) {
		t.Errorf("%+v", got)
	}
	if status := g.agreeAgain(second); status != http.StatusOK {
		t.Errorf("an added key: %d", status)
	}
}

func TestAgreementsAreProvedAndRevoked(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.agreed("agent-1")
	g.agreed("agent-2")
	list := items[gateway.AdminAgreement](g, "/agreements?agent_id=agent-1")
	if len(list) != 1 || list[0].KeyID != a.jkt || list[0].Assurance != pat.Fresh || list[0].State != pat.AgreementActive {
		t.Fatalf("%+v", list)
	}
	bundle := g.do("GET", "/agreements/"+list[0].ID+"/export", nil)
	e, err := pat.VerifyExport(bundle.body)
	if err != nil || e.Agreement.AgentID != "agent-1" || string(e.Policy.Bytes) != adminPolicyFile {
		t.Fatalf("%+v, %v", e, err)
	}
	g.do("GET", "/agreements/none/export", nil).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	g.do("POST", "/agreements/none/revoke", nil).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	if got := ask[gateway.AdminAgreement](g, "POST", "/agreements/"+list[0].ID+"/revoke", map[string]any{"reason": "why"}); got.State != pat.AgreementRevoked {
		t.Errorf("%+v", got)
	}
	if got := g.execute(a, searching); got.status != http.StatusUnauthorized {
		t.Errorf("%d %s", got.status, got.body)
	}
	pats := items[gateway.AdminPAT](g, "/pats?agent_id=agent-1")
	if len(pats) != 1 || pats[0].State != gateway.PATRevoked || pats[0].AgreementID != list[0].ID {
		t.Errorf("%+v", pats)
	}
}

func TestPATsAreListedRevokedAndIntrospected(t *testing.T) {
	g := newAdminGate(t, "")
	a, b := g.agreed("agent-1"), g.agreed("agent-2")
	list := items[gateway.AdminPAT](g, "/pats?agent_id=agent-1&state=active")
	if len(list) != 1 || list[0].State != gateway.PATActive || list[0].KeyID != a.jkt || len(list[0].Scope) != 2 || list[0].Limit.Rate != 10000 {
		t.Fatalf("%+v", list)
	}
	for _, token := range []string{a.token, "Bearer x", "x.y.z"} {
		in := ask[pat.Introspection](g, "POST", "/introspect", map[string]any{"token": token})
		if in.Active != (token == a.token) || (in.Active && (in.Subject != "agent-1" || in.ID != list[0].ID)) {
			t.Errorf("%+v", in)
		}
	}
	g.do("POST", "/introspect", nil).refuses(g, http.StatusBadRequest, "MALFORMED_REQUEST")
	g.do("POST", "/pats/none/revoke", nil).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	g.do("GET", "/pats/none", nil).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	if got := ask[gateway.AdminPAT](g, "POST", "/pats/"+list[0].ID+"/revoke", map[string]any{"reason": "leaked"}); got.State != gateway.PATRevoked {
		t.Errorf("%+v", got)
	}
	if got := g.execute(a, searching); got.status != http.StatusUnauthorized {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := ask[pat.Introspection](g, "POST", "/introspect", map[string]any{"token": a.token}); got.Active {
		t.Errorf("%+v", got)
	}
	if got := g.execute(b, searching); got.status != http.StatusOK {
		t.Errorf("another agent: %d %s", got.status, got.body)
	}
	if got := items[gateway.AdminPAT](g, "/pats?state=active"); len(got) != 1 || got[0].AgentID != "agent-2" {
		t.Errorf("%+v", got)
	}
	g.later(2 * time.Hour)
	if got := items[gateway.AdminPAT](g, "/pats?agent_id=agent-2"); len(got) != 1 || got[0].State != gateway.PATExpired {
		t.Errorf("%+v", got)
	}
}

func TestRevokingAPolicyEndsItsPATs(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.agreed("agent-1")
	list := items[gateway.AdminPolicy](g, "/policies")
	if len(list) != 1 || !list[0].Offered || list[0].FirstOffered.IsZero() {
		t.Fatalf("%+v", list)
	}
	g.do("POST", "/policies/sha-256:none/revoke", nil).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	if got := g.do("POST", "/policies/"+list[0].Digest+"/revoke", nil); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := g.execute(a, searching); got.status != http.StatusUnauthorized {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestUsageAddsUpAndUnknownOutcomesAreResolved(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.agreed("agent-1")
	if got := g.execute(a, ordering, "Idempotency-Key", "order-1"); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	g.breakOff()
	for range 2 {
		if got := g.execute(a, ordering); got.status != http.StatusBadGateway {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	unresolved := items[gateway.AdminExecution](g, "/usage/executions?state=unresolved")
	if len(unresolved) != 2 || unresolved[0].Outcome != "unknown" || unresolved[0].Amount != "0.25" || unresolved[0].Currency != "EUR" || unresolved[0].Intent != ordering {
		t.Fatalf("%+v", unresolved)
	}
	done := items[gateway.AdminExecution](g, "/usage/executions?state=captured&agent_id=agent-1")
	if len(done) != 1 || done[0].IdempotencyKey != "order-1" || done[0].SettledAt.IsZero() {
		t.Fatalf("%+v", done)
	}
	if got := ask[gateway.AdminExecution](g, "GET", "/usage/executions/"+done[0].ID, nil); got.AnswerStatus != http.StatusOK {
		t.Errorf("%+v", got)
	}
	resolve := func(i int, to string) adminAnswer {
		return g.do("POST", "/usage/executions/"+unresolved[i].ID+"/resolve", map[string]any{"state": to})
	}
	resolve(0, "held").refuses(g, http.StatusBadRequest, "MALFORMED_REQUEST")
	g.do("POST", "/usage/executions/"+unresolved[0].ID+"/resolve", nil).refuses(g, http.StatusBadRequest, "MALFORMED_REQUEST")
	if got := resolve(0, "captured"); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := resolve(1, "released"); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	resolve(0, "released").refuses(g, http.StatusConflict, "ALREADY_SETTLED")
	g.do("POST", "/usage/executions/"+done[0].ID+"/resolve", map[string]any{"state": "released"}).refuses(g, http.StatusConflict, "ALREADY_SETTLED")
	g.do("POST", "/usage/executions/none/resolve", map[string]any{"state": "released"}).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	g.do("GET", "/usage/executions/none", nil).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")

	want := gateway.AdminAccount{AgentID: "agent-1", Currency: "EUR", ToppedUp: "0.00", Held: "0.00", Captured: "0.50", Balance: "-0.50"}
	if got := items[gateway.AdminAccount](g, "/usage/accounts"); len(got) != 1 || got[0] != want {
		t.Errorf("%+v", got)
	}
	want.ToppedUp, want.Balance = "10.00", "9.50"
	if got := ask[gateway.AdminAccount](g, "POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "10 EUR"}); got != want {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"10", "0 EUR", "-1 EUR", "10 eur", "0.0000000001 EUR", "1000001 EUR"} {
		g.do("POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": bad}).refuses(g, http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	g.do("POST", "/usage/top-up", map[string]any{"agent_id": "agent-l", "amount": "10 EUR"}).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	entries := items[gateway.AdminEntry](g, "/usage/ledger?limit=1000")
	if len(entries) != 9 || entries[0].To != "" || entries[0].Amount != "10.00" || entries[0].By != "operator" || entries[1].From != "unresolved" {
		t.Errorf("%d: %+v", len(entries), entries)
	}
	p := ask[gateway.AdminPage[gateway.AdminEntry]](g, "GET", "/usage/ledger?limit=4", nil)
	q := ask[gateway.AdminPage[gateway.AdminEntry]](g, "GET", "/usage/ledger?limit=1000&after="+p.Next, nil)
	if len(p.Items)+len(q.Items) != 9 || q.Next != "" {
		t.Errorf("%d and %d", len(p.Items), len(q.Items))
	}
}

func TestKeysRotateAndRetire(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.agreed("agent-1")
	first := items[gateway.AdminKey](g, "/keys")
	if len(first) != 1 || !first[0].Signing || first[0].Algorithm != "EdDSA" || !first[0].NotAfter.IsZero() {
		t.Fatalf("%+v", first)
	}
	next := ask[gateway.AdminKey](g, "POST", "/keys/rotate", nil)
	if next.ID == first[0].ID || !next.Signing {
		t.Fatalf("%+v", next)
	}
	list := items[gateway.AdminKey](g, "/keys")
	for _, k := range list {
		if k.Signing != (k.ID == next.ID) || k.NotAfter.IsZero() != k.Signing {
			t.Errorf("%+v", k)
		}
	}
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	if got := g.execute(a, searching); got.status != http.StatusOK {
		t.Errorf("a PAT of the key before: %d %s", got.status, got.body)
	}
	g.do("POST", "/keys/none/retire", nil).refuses(g, http.StatusNotFound, "NO_SUCH_RECORD")
	for _, bad := range []string{"tomorrow", "2020-01-01T00:00:00Z", "9999-01-01T00:00:00Z"} {
		g.do("POST", "/keys/"+next.ID+"/retire", map[string]any{"at": bad}).refuses(g, http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	if got := ask[gateway.AdminKey](g, "POST", "/keys/"+first[0].ID+"/retire", nil); !got.NotAfter.Equal(g.now()) {
		t.Errorf("%+v", got)
	}
	if got := g.execute(a, searching); got.status != http.StatusUnauthorized {
		t.Errorf("a PAT of a retired key: %d %s", got.status, got.body)
	}
	// The key that signs gives way to another when it is retired.
	if got := ask[gateway.AdminKey](g, "POST", "/keys/"+next.ID+"/retire", nil); got.Signing {
		t.Errorf("%+v", got)
	}
	if left := items[gateway.AdminKey](g, "/keys"); len(left) != 1 || left[0].ID == next.ID || !left[0].Signing {
		t.Errorf("%+v", left)
	}
}

// Whatever operators are shown and whatever is logged of it, no token and no private key is in it.
func TestNothingSecretIsShownOrLogged(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.agreed("agent-1")
	g.execute(a, ordering, "Idempotency-Key", "k")
	id := items[gateway.AdminAgreement](g, "/agreements")[0].ID
	jti := items[gateway.AdminPAT](g, "/pats")[0].ID
	execution := items[gateway.AdminExecution](g, "/usage/executions")[0].ID
	kid := items[gateway.AdminKey](g, "/keys")[0].ID
	var shown strings.Builder
	for _, o := range everyOperation {
		path := o[1]
		for prefix, id := range map[string]string{"/agents/a": "agent-1", "/agreements/a": id, "/pats/a": jti, "/usage/executions/a": execution, "/keys/a": kid} {
			if strings.HasPrefix(path, prefix+"/") || path == prefix {
				path = strings.TrimSuffix(prefix, "a") + id + strings.TrimPrefix(path, prefix)
			}
		}
		var body any
		if o[1] == "/introspect" {
			body = map[string]any{"token": a.token}
		}
		got := g.do(o[0], path, body)
		shown.Write(got.body)
		if o[0] == http.MethodGet && got.status != http.StatusOK {
			t.Errorf("%s %s: %d %s", o[0], path, got.status, got.body)
		}
		if got.header.Get("Cache-Control") != "no-store" || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, got.header)
		}
	}
	for _, entry := range g.logs.All() {
		text, err := json.Marshal(entry.ContextMap())
		g.must(err)
		shown.WriteString(entry.Message)
		shown.Write(text)
	}
	for name, secret := range map[string]string{
		"the PAT": a.token, "its signature": a.token[strings.LastIndexByte(a.token, '.')+1:], "the admin token": adminToken, "a private key": `"d":`, "a PEM": "PRIVATE KEY",
	} {
		if strings.Contains(shown.String(), secret) {
			t.Errorf("%s is shown or logged", name)
		}
	}
	if !strings.Contains(shown.String(), "POST /agents/{id}/block") {
		t.Error("what the operator did is not logged")
	}
}
