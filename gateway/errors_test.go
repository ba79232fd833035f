package gateway_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// refused reads the details of an error.
func refused(g *gatetest.Gate, a gatetest.Answer, status int, want reason.Reason) map[string]any {
	g.Helper()
	g.Refuses(a, status, string(want))
	var body struct {
		Error struct {
			Details map[string]any `json:"details"`
		} `json:"error"`
	}
	g.Must(json.Unmarshal(a.Body, &body))
	return body.Error.Details
}

func TestErrorsHaveHelpURLAndRequestID(t *testing.T) {
	g := pageGate(t, gatetest.AgentsFile, gatetest.PolicyFile, "")
	agreed := g.Agreed("agent-1")
	for _, tt := range []struct {
		name   string
		answer gatetest.Answer
		status int
		reason reason.Reason
	}{
		{"an unknown path", g.Get("/nothing"), 404, reason.NoSuchPath},
		{"another method", g.Get("/api/intents/execute"), 405, reason.MethodNotAllowed},
		{"no token", g.Execute(&gatetest.Agent{}, gatetest.Searching), 401, reason.MissingToken},
		{"a body that is not an object", g.Call("/api/pat/issue", "", []string{}), 400, reason.MalformedRequest},
		{"a missing parameter", g.Call("/api/intents/execute", agreed.Token,
			map[string]any{"intent_uid": gatetest.Searching}), 400, reason.MissingParameter},
	} {
		details := refused(g, tt.answer, tt.status, tt.reason)
		if want := "https://agents.shop.example/errors/" + string(tt.reason); details["help_url"] != want {
			t.Errorf("%s: help_url %v, want %s", tt.name, details["help_url"], want)
		}
		if id := tt.answer.Header.Get("UIM-Request-ID"); id == "" || details["request_id"] != id {
			t.Errorf("%s: request_id %v, want that of the header, %s", tt.name, details["request_id"], id)
		}
	}
}

func TestEachReasonHasAPage(t *testing.T) {
	g := pageGate(t, gatetest.AgentsFile, gatetest.PolicyFile, "")
	list := g.Get("/errors")
	for _, r := range reason.All() {
		a := g.Get("/errors/" + string(r))
		if r.ForOperators() {
			if g.Refuses(a, http.StatusNotFound, "NO_SUCH_PATH"); strings.Contains(string(list.Body), string(r)) {
				t.Errorf("%s is for operators, and listed", r)
			}
			continue
		}
		text := string(a.Body)
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || len(text) > 8<<10 {
			t.Errorf("%s: %d %v, %d bytes", r, a.Status, a.Header, len(text))
		}
		if policy := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") {
			t.Errorf("%s: %q, want a text that starts with %q", r, policy, "default-src 'none'; style-src 'sha256-")
		}
		for _, want := range []string{"<h1>" + string(r) + "</h1>", string(r.Code()), "https://agents.shop.example/errors\""} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page lacks %s:\n%s", r, want, text)
			}
		}
		if !strings.Contains(string(list.Body), `href="https://agents.shop.example/errors/`+string(r)+`"`) {
			t.Errorf("%s is not listed", r)
		}
		if again := g.Get("/errors/"+string(r), "If-None-Match", a.Header.Get("ETag")); again.Status != http.StatusNotModified {
			t.Errorf("%s: %d with the ETag; want %v", r, again.Status, http.StatusNotModified)
		}
	}
	if len(list.Body) > 32<<10 {
		t.Errorf("the list has %d bytes", len(list.Body))
	}
	g.Refuses(g.Get("/errors/<script>"), http.StatusNotFound, "NO_SUCH_PATH")
}

// If a client requests JSON, /errors returns all reasons, and /errors/{reason} returns one.
func TestReasonsAsJSON(t *testing.T) {
	g := pageGate(t, gatetest.AgentsFile, gatetest.PolicyFile, "")
	type described struct {
		Reason                    reason.Reason
		Code                      reason.Code
		Status                    int
		UIMCode                   string `json:"uim_code"`
		Message, Suggestion, Help string
		HelpURL                   string `json:"help_url"`
	}
	var list struct{ Errors []described }
	a := g.Get("/errors", "Accept", "application/json")
	if err := json.Unmarshal(a.Body, &list); err != nil || a.Header.Get("Content-Type") != "application/json" ||
		!slices.Contains(a.Header.Values("Vary"), "Accept") {
		t.Fatalf("%v, %v\n%s", err, a.Header, a.Body)
	}
	seen := map[reason.Reason]described{}
	for _, e := range list.Errors {
		seen[e.Reason] = e
	}
	for _, r := range reason.All() {
		e, listed := seen[r]
		if listed == r.ForOperators() {
			t.Errorf("%s is listed: %v", r, listed)
		}
		want := described{
			r, r.Code(), r.Status(), r.Number(), r.Message(), r.Suggestion(), r.Help(),
			"https://agents.shop.example/errors/" + string(r),
		}
		if listed && e != want {
			t.Errorf("got %+v, want %+v", e, want)
		}
	}
	var one described
	a = g.Get("/errors/"+string(reason.ExpiredToken), "Accept", "application/json, text/html;q=0.5")
	if err := json.Unmarshal(a.Body, &one); err != nil || one != seen[reason.ExpiredToken] {
		t.Errorf("%v: %s", err, a.Body)
	}
	for _, accept := range []string{"*/*", browser, "text/html, application/json"} {
		if a := g.Get("/errors", "Accept", accept); a.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %v", accept, a.Header)
		}
	}
}

// The pointers in refusals refer to the body as it was sent, in both forms of the body.
func TestPointersReferToTheWholeBody(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	post := func(body string, header ...string) map[string]any {
		t.Helper()
		answer := g.Call("/api/intents/execute", a.Token, json.RawMessage(body), header...)
		var got struct {
			Error struct {
				Details map[string]any `json:"details"`
			} `json:"error"`
		}
		g.Must(json.Unmarshal(answer.Body, &got))
		return got.Error.Details
	}
	pointer := func(details map[string]any) any {
		if list, ok := details["violations"].([]any); ok && len(list) > 0 {
			first, _ := list[0].(map[string]any)
			return first["pointer"]
		}
		return details["pointer"]
	}
	for body, want := range map[string]string{
		`{"intent_uid": "shop.example:search:v1", "parameters": {"query": 7}}`:                 "/parameters/query",
		`{"intent_uid": "shop.example:search:v1"}`:                                             "/parameters/query",
		`{"intent_uid": "shop.example:search:v1", "parameters": {"query": "a", "a/b": 1}}`:     "/parameters/a~1b",
		`{"intent_uid": "shop.example:search:v1", "parameters": 7}`:                            "/parameters",
		`{"intent_uid": "shop.example:search:v1", "parameters": {"query": "a"}, "x": 1}`:       "/x",
		`{"intent_uid": "shop.example:search:v1", "parameters": {"query": "a", "query": "b"}}`: "/parameters/query",
		`{"intent": {"uid": "shop.example:search:v1", "parameters": {"query": 7}}}`:            "/intent/parameters/query",
		`{"intent": {"uid": "shop.example:search:v1", "parameters": 7}}`:                       "/intent/parameters",
		`{"intent": {"uid": "shop.example:search:v1", "x": 1}}`:                                "/intent/x",
		`{"intent": {"parameters": {}}}`:                                                       "/intent/uid",
		`{"intent_uid": "shop.example:search:v1", "query": "lamp"}`:                            "/query",
		`{"intent": {"uid": "shop.example:search:v1", "query": "lamp"}}`:                       "/intent/query",
		`{"intent": {"uid": "shop.example:search:v1"}, "query": "lamp"}`:                       "/query",
	} {
		if got := pointer(post(body)); got != want {
			t.Errorf("%s: pointer %v, want %s", body, got, want)
		}
	}
	exact := `{"intent": {"uid": "shop.example:search:v1", "parameters": {"query": 0.12345678901234567890}}}`
	if got := pointer(post(exact, "Idempotency-Key", "k")); got != "/intent/parameters/query" {
		t.Errorf("got %v, want %q", got, "/intent/parameters/query")
	}
}

func TestMisplacedParameters(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	for body, want := range map[string]string{
		`{"intent_uid": "shop.example:search:v1", "query": "canary"}`:                   "/parameters/query",
		`{"intent_uid": "shop.example:search:v1", "parameters": {}, "query": "canary"}`: "/parameters/query",
		`{"intent": {"uid": "shop.example:search:v1", "query": "canary"}}`:              "/intent/parameters/query",
		`{"intent": {"uid": "shop.example:search:v1"}, "query": "canary"}`:              "/intent/parameters/query",
	} {
		answer := g.Call("/api/intents/execute", a.Token, json.RawMessage(body))
		details := refused(g, answer, 400, reason.UnknownParameter)
		if text := string(answer.Body); !strings.Contains(text, "it belongs at "+want) || strings.Contains(text, "canary") {
			t.Errorf("%s: %s", body, text)
		}
		if suggestion, _ := details["suggestion"].(string); !strings.Contains(suggestion, "into the parameters object") {
			t.Errorf("%s: %s, want a text that contains %q", body, suggestion, "into the parameters object")
		}
	}
}

// The refusal names the member that is wrong, and has a suggestion that fits the error.
func TestErrorsInAgreementsAndProofs(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	proof, err := pat.SignProof(a.Key, pat.ProofBinding{Audience: "shop.example", TokenID: "other", Digest: "x"}, g.Now())
	g.Must(err)
	call := json.RawMessage(`{"intent_uid": "shop.example:search:v1", "parameters": {"query": "lamp"}}`)
	b := g.Unapproved("agent-2")
	signed := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"iss": b.ID, "expires": 1})
	signed.Header["typ"] = pat.TypeAgreement
	agreement, err := signed.SignedString(b.Key)
	g.Must(err)
	issue := func(agreement string, scope any) gatetest.Answer {
		return g.Call("/api/pat/issue", "", map[string]any{
			"agent_id": b.ID, "agent_public_key": b.PublicKey, "signed_policy": agreement, "scope": scope,
		})
	}
	whole := freshAgreement(g, b, g.Directory.Current().Service("default").Offer())
	for _, tt := range []struct {
		name       string
		answer     gatetest.Answer
		status     int
		reason     reason.Reason
		member     any
		suggestion string
	}{
		{
			"another token", g.Call("/api/intents/execute", a.Token, call, "UIM-Proof", proof), 403, reason.PolicyRequiresVerification, "pat",
			"Create a new proof with a new jti, and set pat as the message describes.",
		},
		{
			"a claim that no agreement has", issue(agreement, nil), 400, reason.InvalidParameter, "expires", "Correct the problem that the message describes.",
		},
		{
			"no scope at all", issue(whole, []string{}), 400, reason.InvalidParameter, nil,
			"Omit scope to get everything that the policy permits you, or list intents in it.",
		},
	} {
		details := refused(g, tt.answer, tt.status, tt.reason)
		if details["member"] != tt.member || details["suggestion"] != tt.suggestion {
			t.Errorf("%s: %s", tt.name, tt.answer.Body)
		}
	}
	if left := issue(whole, nil); left.Status != http.StatusOK {
		t.Errorf("a scope that is left out: %s", left.Body)
	}
}

func TestPolicyMismatchExplainsDigest(t *testing.T) {
	g := gatetest.New(t, "")
	g.Write("policy.json", strings.Replace(gatetest.PolicyFile, "policy/1", "policy/2", 1))
	a := g.Unapproved("agent-1")
	old := g.Directory.Current().Service("default").Offer()
	g.Reload()
	now := g.Directory.Current().Service("default").Offer()
	answer := g.Call("/api/pat/issue", "", map[string]any{
		"agent_id": a.ID, "agent_public_key": a.PublicKey, "signed_policy": freshAgreement(g, a, old),
	})
	details := refused(g, answer, 403, reason.PolicyMismatch)
	policy, _ := details["policy"].(map[string]any)
	suggestion, _ := details["suggestion"].(string)
	if policy["digest"] != now.Digest || details["signed_digest"] != old.Digest || !strings.Contains(suggestion, "RFC 8785") ||
		!strings.Contains(suggestion, "ETag") {
		t.Errorf("got %s", answer.Body)
	}
	if etag := g.Get("/api/policy").Header.Get("ETag"); etag != `"`+now.Digest+`"` {
		t.Errorf("the ETag %s is not the digest %s", etag, now.Digest)
	}
}

// freshAgreement returns an agreement to an offer, which need not be the current one.
func freshAgreement(g *gatetest.Gate, a *gatetest.Agent, offer pat.Offer) string {
	g.Helper()
	s := g.Directory.Current().Service("default")
	signed, err := pat.SignAgreement(a.Key, pat.AgreementClaims{
		AgentID: a.ID, Audience: s.Issuer, URL: s.At("/api/pat/issue"), IssuedAt: g.Now(), PolicyUID: offer.UID, PolicyDigest: offer.Digest,
	})
	g.Must(err)
	return signed
}

// If several members are missing, the refusal lists all of them and has an example.
func TestMissingMembersOfIssue(t *testing.T) {
	g := gatetest.New(t, "")
	details := refused(g, g.Call("/api/pat/issue", "", map[string]any{}), 400, reason.MalformedRequest)
	example, _ := details["example"].(map[string]any)
	for _, name := range []string{"agent_id", "agent_public_key", "signed_policy"} {
		if missing, _ := details["missing"].([]any); !slices.Contains(missing, any(name)) || example[name] == nil {
			t.Errorf("%s is not listed: %v", name, details)
		}
	}
	details = refused(g, g.Call("/api/pat/issue", "", map[string]any{"agent_id": "a", "signed_policy": "x"}), 400, reason.MalformedRequest)
	if details["pointer"] != "/agent_public_key" {
		t.Errorf("got %v", details)
	}
}
