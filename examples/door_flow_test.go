package examples_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// TestMinimalDoor shows that a new protocol needs only its own message format, and none of the checks.
func TestMinimalDoor(t *testing.T) {
	t.Parallel()
	const path, most = "door_test.go", 120
	allowed := []string{"gateway/execute", "gateway/agree", "gateway/service", "internal/reason", "intents", "pat"}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > most {
		t.Errorf("%s has %d lines, want at most %d", path, lines, most)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range file.Imports {
		name, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		ours, isOurs := strings.CutPrefix(name, "github.com/uimgate/uimgate/")
		if isOurs && !slices.Contains(allowed, ours) || !isOurs && strings.Contains(name, ".") {
			t.Errorf("a door imports %s, want only the standard library and %v", name, allowed)
		}
	}
}

// A doorAgent is an agent that uses the door.
type doorAgent struct {
	*gatetest.Gate
	door *httptest.Server
}

func (a *doorAgent) ask(q doorRequest) map[string]any {
	a.Helper()
	text, err := json.Marshal(q)
	a.Must(err)
	r, err := http.NewRequestWithContext(a.Context(), http.MethodPost, a.door.URL, strings.NewReader(string(text)))
	a.Must(err)
	answer := map[string]any{}
	a.Must(json.Unmarshal(a.Send(r).Body, &answer))
	return answer
}

// wants compares some members of a response with the wanted ones.
func (a *doorAgent) wants(what string, got map[string]any, members ...string) {
	a.Helper()
	for i := 0; i+1 < len(members); i += 2 {
		text, err := json.Marshal(got[members[i]])
		a.Must(err)
		if string(text) != members[i+1] {
			a.Errorf("%s: %s is %s, want %s (%v)", what, members[i], text, members[i+1], got)
		}
	}
}

func TestCallsThroughAnotherDoor(t *testing.T) {
	t.Parallel()
	upstream := 0
	g := gatetest.New(t, "")
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		upstream++
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}`))
	}
	a := &doorAgent{g, httptest.NewServer(&door{directory: g.Directory, executor: g.Executor, agreements: g.Agreements})}
	t.Cleanup(a.door.Close)

	a.wants("find", a.ask(doorRequest{Do: "find", Text: "order"}), "pagination",
		`{"current_page":1,"page_size":20,"total_pages":1,"total_results":1}`)
	policy := a.ask(doorRequest{Do: "policy"})
	who := g.Unapproved("agent-1")
	key, err := keys.New(who.Key.Public())
	g.Must(err)
	var jwk any
	g.Must(json.Unmarshal(key.JWK(), &jwk))
	uid, _ := policy["uid"].(string)
	digest, _ := policy["digest"].(string)
	signed, err := pat.SignAgreement(who.Key, pat.AgreementClaims{
		AgentID: who.ID, Audience: "shop.example", URL: g.Directory.Current().Service("default").At("/api/pat/issue"), IssuedAt: g.Now(),
		Nonce: strings.Repeat("n", 16), PolicyUID: uid, PolicyDigest: digest,
	})
	g.Must(err)
	agreement := doorRequest{Do: "agree", AgentID: "agent-1", PublicKey: jwk, Signed: signed}
	answer := a.ask(agreement)
	a.wants("agree", answer, "state", `"active"`)
	a.wants("the same agreement again", a.ask(agreement), "refused", `"AGREEMENT_REPLAYED"`, "code", `"POLICY_REJECTED"`)
	who.Token, _ = answer["pat"].(string)

	order := doorRequest{
		Do: "execute", PAT: who.Token, Intent: gatetest.Ordering, Parameters: map[string]any{"product": "lamp"},
		Key: "order-1",
	}
	a.wants("a paid call", a.ask(order), "output", `{"ok":true}`, "charge", `"0.25 EUR captured"`, "replayed", "false", "limits", "1")
	a.wants("the same again", a.ask(order), "output", `{"ok":true}`, "charge", `"0.25 EUR captured"`, "replayed", "true")
	if upstream != 1 {
		t.Errorf("%d calls reached the service, want 1", upstream)
	}
	order.Parameters = map[string]any{"product": "desk"}
	a.wants("another call under the same key", a.ask(order), "refused", `"IDEMPOTENCY_KEY_REUSED"`)
	order.Key, order.Parameters = "", map[string]any{}
	a.wants("no parameter", a.ask(order), "refused", `"MISSING_PARAMETER"`, "number", `"UIM-VAL-001"`, "charge", `""`)
	a.wants("no PAT", a.ask(doorRequest{Do: "execute", Intent: gatetest.Ordering}), "refused", `"MISSING_TOKEN"`)
	a.wants("no proof", a.ask(doorRequest{Do: "renew", PAT: who.Token}), "refused", `"POLICY_REQUIRES_VERIFICATION"`)
	a.wants("nonsense", a.ask(doorRequest{Do: "sing"}), "refused", `"MALFORMED_REQUEST"`)
	if upstream != 1 {
		t.Errorf("%d calls reached the service, want 1", upstream)
	}
}

// TestDoorRendersEveryRefusal checks that a refusal is plain data that another protocol can represent completely.
func TestDoorRendersEveryRefusal(t *testing.T) {
	t.Parallel()
	for _, r := range reason.All() {
		text, err := json.Marshal(rendered(r.Refusal("").With("pointer", "/x")))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Refused, Code, Number, Message, Suggestion string
			Details                                    map[string]any
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if got.Refused != string(r) || got.Code != string(r.Code()) || got.Number != r.Number() || got.Message == "" ||
			got.Suggestion == "" || got.Details["pointer"] != "/x" {
			t.Errorf("%s is rendered as %s", r, text)
		}
	}
}
