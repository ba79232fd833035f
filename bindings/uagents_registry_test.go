package bindings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/store"
)

// A member maps the names of JSON members to values.
type member = strictjson.Object

// attest returns an agent's statement about itself, signed now.
func (p *uagentsPeer) attest(key identity.Key, statement member) string {
	p.Helper()
	if !statement.Has("timestamp") {
		statement["timestamp"] = json.Number(strconv.FormatInt(p.Now().Unix(), 10))
	}
	body, err := almanac.Attest(key, statement)
	p.Must(err)
	return string(body)
}

// located returns the statement of an agent with one endpoint that supports UIMProtocol.
func located(endpoint string) member {
	return member{
		"endpoints": []any{map[string]any{"url": endpoint, "weight": json.Number("1")}},
		"protocols": []any{string(protocol.UIM().Digest)}, "metadata": nil,
	}
}

// asks sends a request to the Almanac.
func (p *uagentsPeer) asks(method, path, body string) (status int, reply member) {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, p.URL+"/v1/almanac/"+path, strings.NewReader(body))
	p.Must(err)
	a := p.Send(r)
	tree, err := strictjson.Decode(a.Body)
	p.Must(err)
	if list, isList := tree.([]any); isList {
		return a.Status, member{"list": list}
	}
	reply, _ = strictjson.AsObject(tree)
	return a.Status, reply
}

func TestAgentsRegister(t *testing.T) {
	t.Parallel()
	p := with(t, "registry: true, private_endpoints: true")
	address := string(p.key.Address())
	if status, reply := p.asks("GET", "agents/"+address, ""); status != 404 || reply.Text("detail") != "agent not found" {
		t.Errorf("got %d %v", status, reply)
	}
	statement := located("http://127.0.0.1:8001/submit")
	statement["metadata"] = map[string]any{"a": "b"}
	if status, reply := p.asks("POST", "agents", p.attest(p.key, statement)); status != 200 {
		t.Fatalf("got %d %v; want 200", status, reply)
	}
	status, reply := p.asks("GET", "agents/"+address+"?prefix=agent", "")
	if status != 200 || reply.Text("address") != address || reply.Text("status") != "active" || reply.Text("type") != "custom" ||
		reply.Text("expiry") != "2026-11-21T14:00:00.000000+00:00" ||
		fmt.Sprint(reply["endpoints"]) != "[map[url:http://127.0.0.1:8001/submit weight:1]]" ||
		fmt.Sprint(reply["protocols"]) != "["+string(protocol.UIM().Digest)+"]" || reply.Object("metadata").Text("a") != "b" {
		t.Errorf("got %d %v", status, reply)
	}
	if status, _ := p.asks("GET", "agents/"+address+"?prefix=test-agent", ""); status != 404 {
		t.Errorf("on the other network: %d, want 404", status)
	}
	digits := strings.TrimPrefix(string(protocol.UIM().Digest), "proto:")
	for text, want := range map[string]int{digits: 1, "proto:" + digits: 1, strings.Repeat("0", 64): 0, "lamps": 0, "": 0} {
		if status, reply := p.asks("POST", "search", `{"text": "`+text+`"}`); status != 200 || p.foreign(reply) != want {
			t.Errorf("%q: %d %v", text, status, reply)
		}
	}
	p.Pass(time.Second)
	if status, reply := p.asks("POST", "agents/"+address+"/status", p.attest(p.key, member{"is_active": false})); status != 200 {
		t.Errorf("got %d %v; want 200", status, reply)
	}
	if _, reply := p.asks("GET", "agents/"+address, ""); reply.Text("status") != "offline" {
		t.Errorf("got %v", reply)
	}
	p.Pass(2 * time.Hour)
	if status, reply := p.asks("GET", "agents/"+address, ""); status != 404 {
		t.Errorf("got %d %v; want 404", status, reply)
	}
}

// foreign returns how many agents were found, without the service itself.
func (p *uagentsPeer) foreign(reply member) (n int) {
	for _, item := range reply.List("list") {
		if agent, _ := strictjson.AsObject(item); agent.Text("address") != string(p.shop) {
			n++
		}
	}
	return n
}

func TestAlmanacRefusals(t *testing.T) {
	t.Parallel()
	p := with(t, "registry: true")
	other := keyOf(t, "bob recovery password")
	first := p.attest(p.key, located("http://one.example/"))
	p.Pass(time.Minute)
	good := p.attest(p.key, located("http://two.example/"))
	old := located("http://three.example/")
	old["timestamp"] = json.Number(strconv.FormatInt(p.Now().Add(-6*time.Minute).Unix(), 10))
	early := located("http://three.example/")
	early["timestamp"] = json.Number(strconv.FormatInt(p.Now().Add(6*time.Minute).Unix(), 10))
	if status, reply := p.asks("POST", "agents", good); status != 200 {
		t.Fatalf("got %d %v; want 200", status, reply)
	}
	manifest, err := json.Marshal(protocol.UIM())
	p.Must(err)
	at := "agents/" + string(p.key.Address())
	for name, c := range map[string]struct {
		method, path, body string
		status             int
	}{
		"the same attestation":                {"POST", "agents", good, 200},
		"another of the same second":          {"POST", "agents", p.attest(p.key, located("http://three.example/")), 200}, // the first stays
		"an older attestation":                {"POST", "agents", first, 400},
		"too old":                             {"POST", "agents", p.attest(p.key, old), 400},
		"in the future":                       {"POST", "agents", p.attest(p.key, early), 400},
		"a changed attestation":               {"POST", "agents", strings.Replace(good, "two.example", "evil.example", 1), 400},
		"signed by another agent":             {"POST", "agents", strings.Replace(p.attest(other, located("http://x/")), string(other.Address()), string(p.key.Address()), 1), 400},
		"a status of another agent":           {"POST", at + "/status", p.attest(other, member{"is_active": false}), 400},
		"a status too early":                  {"POST", "agents/" + string(other.Address()) + "/status", p.attest(other, member{"is_active": true}), 200},
		"not JSON":                            {"POST", "agents", "{", 400},
		"a list":                              {"POST", "agents", "[]", 400},
		"unlimited depth":                     {"POST", "agents", strings.Repeat(`{"a":`, 5000), 400},
		"too much":                            {"POST", "agents", strings.Repeat(" ", 65<<10) + good, 413},
		"a batch":                             {"POST", "agents/batch", `{"attestations": [` + good + "," + p.attest(other, located("http://y/")) + `]}`, 200},
		"a batch with an invalid attestation": {"POST", "agents/batch", `{"attestations": [` + first + `]}`, 400},
		"an empty batch":                      {"POST", "agents/batch", `{}`, 400},
		"a batch of arbitrary values":         {"POST", "agents/batch", `{"attestations": [7]}`, 400},
		"a manifest":                          {"POST", "manifests", string(manifest), 200},
		"an invalid manifest":                 {"POST", "manifests", `{}`, 400},
		"a search of unlimited depth":         {"POST", "search", `{"text": "", "limit": 1000}`, 400},
		"an invalid address":                  {"GET", "agents/shop", "", 404},
		"an unstorable address":               {"GET", "agents/%00", "", 404},
		"a search after an invalid one":       {"POST", "search", `{"text": "` + string(protocol.UIM().Digest) + `", "after": "\u0000"}`, 400},
		"a domain":                            {"GET", "domains/shop.agent", "", 404},
		"another path":                        {"GET", "recent", "", 404},
		"another method":                      {"DELETE", at, "", 404},
	} {
		status, reply := p.asks(c.method, c.path, c.body)
		if status != c.status || status != 200 && reply.Text("detail") == "" {
			t.Errorf("%s: %d %v, want %d", name, status, reply, c.status)
		}
	}
	if _, reply := p.asks("GET", at, ""); fmt.Sprint(reply["endpoints"]) != "[map[url:http://two.example/ weight:1]]" ||
		reply.Text("status") != "active" {
		t.Errorf("got %v", reply)
	}
}

// One address cannot exceed its limits of registrations, in total and per minute; other addresses are not affected.
func TestAlmanacLimits(t *testing.T) {
	t.Parallel()
	p := with(t, "registry: true")
	refused := 0
	for i := range 110 {
		if i == 55 {
			p.Pass(time.Minute)
		}
		r, err := http.NewRequestWithContext(p.Context(), http.MethodPost, p.URL+"/v1/almanac/agents",
			strings.NewReader(p.attest(keyOf(t, "agent "+strconv.Itoa(i)), located("http://a.example/"))))
		p.Must(err)
		if a := p.Send(r); a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") != "" {
			refused++
		} else if a.Status != http.StatusOK {
			t.Fatalf("got %d %s; want %v", a.Status, a.Body, http.StatusOK)
		}
	}
	if refused != 10 {
		t.Errorf("%d were refused", refused)
	}
	for range 60 {
		p.asks("POST", "agents", "{}")
	}
	if status, reply := p.asks("POST", "agents", p.attest(p.key, located("http://a.example/"))); status != http.StatusTooManyRequests {
		t.Errorf("got %d %v; want %v", status, reply, http.StatusTooManyRequests)
	}
	seen, after := map[string]bool{}, ""
	for page := 0; ; page++ {
		_, reply := p.asks("POST", "search", fmt.Sprintf(`{"text": %q, "limit": 30, "after": %q}`, protocol.UIM().Digest, after))
		list := reply.List("list")
		if len(list) > 30 || page > 4 {
			t.Fatalf("page %d has %d", page, len(list))
		}
		if len(list) == 0 {
			break
		}
		for _, item := range list {
			agent, _ := strictjson.AsObject(item)
			after = agent.Text("address")
			seen[after] = true
		}
	}
	delete(seen, string(p.shop)) // the service itself
	if len(seen) != 100 {
		t.Errorf("%d agents are found", len(seen))
	}
}

// An agent that has registered with the service gets its replies at its endpoint. The registration of a private endpoint is refused, and
// the refusal names the setting that permits it.
func TestRepliesGoToRegisteredEndpoint(t *testing.T) {
	t.Parallel()
	in := uagentsOpensInbox(t)
	p := with(t, "registry: true, private_endpoints: true")
	p.unanswerable("UIMPolicyRequest", "{}", "doors.uagents.registry")
	if status, reply := p.asks("POST", "agents", p.attest(p.key, located(in.URL))); status != 200 {
		t.Fatalf("got %d %v; want 200", status, reply)
	}
	p.Pass(time.Second)
	p.postpones("UIMPolicyRequest", "{}")
	if model, _ := in.receive(p); model != "UIMPolicy" {
		t.Errorf("got %q, want %q", model, "UIMPolicy")
	}
	guarded := with(t, "registry: true")
	for _, body := range []string{
		guarded.attest(guarded.key, located(in.URL)), guarded.attest(guarded.key, located("http://169.254.169.254/")),
		guarded.attest(guarded.key, located("http://localhost:8001/submit")),
	} {
		for path, body := range map[string]string{"agents": body, "agents/batch": `{"attestations":[` + body + `]}`} {
			if status, reply := guarded.asks("POST", path, body); status != 400 ||
				!strings.Contains(reply.Text("detail"), "doors.uagents.private_endpoints") {
				t.Errorf("%s: %d %v", path, status, reply)
			}
		}
	}
}

// A call whose reply cannot be delivered is refused before it is executed or charged, wherever the endpoint of the sender is looked up.
func TestUndeliverableCallIsNotMade(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"address": %q, "expiry": "2030-01-01T00:00:00+00:00", "endpoints": [{"url": "http://10.0.0.1/", "weight": 1}]}`,
			keyOf(t, "alice recovery password").Address())
	}))
	t.Cleanup(inside.Close)
	for name, c := range map[string]struct{ more, says string }{
		"not registered":        {"registry: true", "doors.uagents.registry"},
		"a private address":     {fmt.Sprintf("almanac: %q", inside.URL), "doors.uagents.private_endpoints"},
		"an Almanac that fails": {`almanac: "http://127.0.0.1:1"`, "x-uagents-connection: sync"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := with(t, c.more)
			var calls atomic.Int64
			p.Upstream = func(w http.ResponseWriter, _ *http.Request) { calls.Add(1); fmt.Fprint(w, `{"ok":true}`) }
			token := p.agreed()
			order := fmt.Sprintf(`{"intent_uid": %q, "parameters": {"product": "lamp"}, "pat": %q, "idempotency_key": null}`, gatetest.Ordering, token)
			p.unanswerable("UIMExecute", order, c.says)
			p.Drain()
			accounts, err := p.Store.Accounts(t.Context(), store.Filter{Service: "default"})
			p.Must(err)
			for _, a := range accounts {
				if !a.Captured.IsZero() || !a.Held.IsZero() {
					t.Errorf("charged: %+v", a)
				}
			}
			if calls.Load() != 0 {
				t.Errorf("%d calls reached the service, want 0", calls.Load())
			}
		})
	}
}

// unanswerable sends a message that must be refused, because its reply could not be delivered.
func (p *uagentsPeer) unanswerable(model, message, says string) {
	p.Helper()
	a := p.post(p.unsigned(model, message).Sign(p.key))
	if a.Status != http.StatusBadRequest && a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), says) {
		p.Errorf("%d %s, want %s", a.Status, a.Body, says)
	}
}

func TestAlmanacIsClosedByDefault(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", "path: /v1/almanac/submit"} {
		p := with(t, more)
		a := p.Get("/v1/almanac/agents/" + string(p.key.Address()))
		p.Refuses(a, http.StatusNotFound, "NO_SUCH_PATH")
	}
	shut := gatetest.New(t, "")
	shut.Refuses(shut.Get("/v1/almanac/agents/x"), http.StatusNotFound, "NO_SUCH_PATH")
}
