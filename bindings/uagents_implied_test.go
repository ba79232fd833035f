package bindings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// impliedMapping is mapping with implied agreements.
var impliedMapping = strings.Replace(mapping, "{intent:", "{agreement: implied, intent:", 1)

// A uagentsCaller is an agent that sends only messages of lampQuery.
type uagentsCaller struct {
	*uagentsPeer
	calls   atomic.Int64 // of the API
	request protocol.Model
}

// uagentsCalling opens a gateway whose messages of lampQuery imply an agreement. more are further settings, before the services.
func uagentsCalling(t *testing.T, more string) *uagentsCaller {
	t.Helper()
	return callingAs(t, more+strings.Replace(uagentsSettings, "uagents: {", "uagents: {"+impliedMapping, 1))
}

func callingAs(t *testing.T, settings string) *uagentsCaller {
	t.Helper()
	c := &uagentsCaller{uagentsPeer: openedAs(t, settings)}
	var err error
	c.request, err = protocol.NewModel([]byte(lampQuery))
	c.Must(err)
	c.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"count": %d}`, c.calls.Add(1))
	}
	return c
}

// message returns a signed message of lampQuery. Without expires, it never expires.
func (c *uagentsCaller) message(wish string, expires bool) envelope.Envelope {
	e := c.unsigned("UIMSearch", fmt.Sprintf(`{"wish": %q}`, wish))
	e.SchemaDigest = c.request.Digest
	if !expires {
		e.Expires = nil
	}
	return e.Sign(c.key)
}

// sends sends an envelope, and returns the number of lamps in the reply, or the text of the ErrorMessage.
func (c *uagentsCaller) sends(e envelope.Envelope) (lamps, failure string) {
	c.Helper()
	model, text := c.opens(c.submit(http.MethodPost, c.text(e)))
	var reply struct {
		Lamps json.Number
		Error string
	}
	c.Must(json.Unmarshal(text, &reply))
	if (model == "ErrorMessage") != (reply.Error != "") {
		c.Errorf("got %s %s", model, text)
	}
	return reply.Lamps.String(), reply.Error
}

// agreements returns the agreements of the agent, the oldest first.
func (c *uagentsCaller) agreements() []pat.Agreement {
	c.Helper()
	list, err := c.Store.Agreements(c.Context(), store.AgreementFilter{Service: "default", AgentID: pat.AgentID(c.key.Address()), Limit: 10})
	c.Must(err)
	for i := range list { // a listing has no evidence
		list[i], err = c.Store.Agreement(c.Context(), "default", list[i].ID)
		c.Must(err)
	}
	return list
}

// TestImpliedAgreement has an agent that does not support UIM call an intent by its own message, with and without an expiry.
func TestImpliedAgreement(t *testing.T) {
	t.Parallel()
	c := uagentsCalling(t, "")
	if lamps, failure := c.sends(c.message("one", false)); lamps != "1" {
		t.Fatalf("the first message: %s", failure)
	}
	if lamps, failure := c.sends(c.message("two", true)); lamps != "2" {
		t.Errorf("the second message: %s", failure)
	}
	first := c.agreements()
	if len(first) != 1 || first[0].Assurance != pat.Implied || first[0].Form != "uagents-model" || first[0].State != pat.AgreementActive ||
		fmt.Sprint(first[0].Scope) != "[shop.example:search:v1:execute]" {
		t.Fatalf("got %+v", first)
	}
	var about struct{ Metadata struct{ Policy string } }
	c.Must(json.Unmarshal(c.Get("/agent_info").Body, &about))
	if want := c.Directory.Current().Service("default").PolicyRef()["url"]; about.Metadata.Policy != want || want == "" {
		t.Errorf("the agent names the policy %q; want %q", about.Metadata.Policy, want)
	}
	policy, err := c.Store.Policy(t.Context(), "default", first[0].PolicyDigest)
	c.Must(err)
	bundle, err := pat.Export(first[0], policy, []pat.Form{agreement.Form()})
	c.Must(err)
	if e, err := pat.VerifyExport(bundle, []pat.Form{agreement.Form()}); err != nil || e.Agreement.Assurance != pat.Implied {
		t.Errorf("the bundle: %+v, %v", e.Agreement, err)
	}
	c.Later(2 * time.Hour) // the PAT expires
	if lamps, failure := c.sends(c.message("three", false)); lamps != "3" || len(c.agreements()) != 1 {
		t.Errorf("under another PAT: %s, %d agreements", failure, len(c.agreements()))
	}
}

// TestRepeatedImpliedEnvelope sends the same envelope several times, also after the stored response is deleted. It is executed once.
func TestRepeatedImpliedEnvelope(t *testing.T) {
	t.Parallel()
	for _, expires := range []bool{false, true} {
		c := uagentsCalling(t, "")
		e := c.message("one", expires)
		for range 3 {
			if lamps, failure := c.sends(e.Sign(c.key)); lamps != "1" { // also with another signature
				t.Errorf("got %q %s", lamps, failure)
			}
		}
		c.Later(25 * time.Hour)
		_, err := c.Store.Purge(t.Context())
		c.Must(err)
		if lamps, failure := c.sends(e); failure == "" {
			t.Errorf("after a day, the message was executed again: %s", lamps)
		}
		if n := c.calls.Load(); n != 1 {
			t.Errorf("%d calls; want 1", n)
		}
	}
}

// TestOwnAgreementPrecedesImplied has an agent that called by its own message agree by UIMAgree. Then its messages that expire are calls
// under that agreement. A message without an expiry, which anyone who has seen it can repeat, is not.
func TestOwnAgreementPrecedesImplied(t *testing.T) {
	t.Parallel()
	c := uagentsCalling(t, "")
	c.sends(c.message("one", true))
	model, reply := c.ask("UIMExecute", fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": "lamp"}}`, gatetest.Searching))
	if model != "UIMFault" || reply.Text("reason") != "MISSING_TOKEN" {
		t.Errorf("UIMExecute under an implied agreement: %s %v", model, reply)
	}
	if model, reply := c.ask("UIMRenew", `{}`); model != "UIMFault" {
		t.Errorf("UIMRenew under an implied agreement: %s %v", model, reply)
	}
	c.agreed()
	own := func() (n int) {
		calls, err := c.Store.Executions(t.Context(), store.Filter{Service: "default", Limit: 10})
		c.Must(err)
		for _, call := range calls {
			a, err := c.Store.Agreement(t.Context(), "default", call.AgreementID)
			c.Must(err)
			if a.Assurance == pat.Fresh {
				n++
			}
		}
		return n
	}
	if lamps, failure := c.sends(c.message("two", true)); lamps != "2" || own() != 1 {
		t.Errorf("got %q %s, %d calls under the agent's own agreement; want 1", lamps, failure, own())
	}
	if lamps, failure := c.sends(c.message("three", false)); lamps != "3" || own() != 1 {
		t.Errorf("got %q %s, %d calls under the agent's own agreement; want 1", lamps, failure, own())
	}
}

// TestImpliedIsRefused has the operator restrict the agent, its agreement or the configuration. The messages are then refused.
func TestImpliedIsRefused(t *testing.T) {
	t.Parallel()
	issuance := func(c *uagentsCaller) *pat.Issuer { return c.Directory.Current().Service("default").Issuance }
	for name, row := range map[string]struct {
		more  string
		first bool // the agent has called before
		act   func(t *testing.T, c *uagentsCaller)
		want  string // one of these texts, separated by |
	}{
		"blocked": {first: true, act: func(_ *testing.T, c *uagentsCaller) {
			c.Must(issuance(c).Revoke(c.Context(), pat.Revocation{Kind: pat.RevokedAgent, Subject: string(c.key.Address())}))
		}, want: "blocked"},
		"revoked": {first: true, act: func(_ *testing.T, c *uagentsCaller) {
			c.Must(issuance(c).Revoke(c.Context(), pat.Revocation{Kind: pat.RevokedAgreement, Subject: string(c.agreements()[0].ID)}))
		}, want: "revoked"},
		"allowlist": {more: "pat: {admission: allowlist, allow: [{id: other, key: AwArAfD6gpE1G1HzN7N_Lr8h18p7g9VUnpbERXzI66E}]}\n", want: "admi"},
		"turned off": {first: true, act: func(_ *testing.T, c *uagentsCaller) {
			c.Write("uimgate.yaml", strings.Replace(c.Settings, "agreement: implied", "agreement: required", 1))
			c.Reload()
		}, want: "UIMAgree|must expire"},
		"forged": {act: func(t *testing.T, c *uagentsCaller) {
			t.Helper()
			e := c.message("one", true)
			e.Sender = c.shop
			if a := c.submit(http.MethodPost, c.text(e)); a.Status != http.StatusBadRequest || len(c.agreements()) != 0 {
				t.Errorf("got %d %s, %d agreements", a.Status, a.Body, len(c.agreements()))
			}
		}},
		"too large": {act: func(t *testing.T, c *uagentsCaller) {
			t.Helper()
			if _, failure := c.sends(c.message(strings.Repeat("x", agreement.MaxBytes), true)); !strings.Contains(failure, "too large") {
				t.Errorf("got %s", failure)
			}
		}},
		"does not fit": {act: func(t *testing.T, c *uagentsCaller) {
			t.Helper()
			e := c.unsigned("UIMSearch", `{"wish": 7}`)
			e.SchemaDigest = c.request.Digest
			if _, failure := c.sends(e.Sign(c.key)); failure == "" || len(c.agreements()) != 0 {
				t.Errorf("got %q, %d agreements", failure, len(c.agreements()))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := uagentsCalling(t, row.more)
			if row.first {
				if _, failure := c.sends(c.message("one", true)); failure != "" {
					t.Fatal(failure)
				}
			}
			before := c.calls.Load()
			if row.act != nil {
				row.act(t, c)
			}
			if row.want == "" {
				return
			}
			for _, expires := range []bool{true, false} {
				lamps, failure := c.sends(c.message("another", expires))
				known := func(text string) bool { return strings.Contains(failure, text) }
				if lamps != "" || !slices.ContainsFunc(strings.Split(row.want, "|"), known) {
					t.Errorf("got %q %q; want a text with %q", lamps, failure, row.want)
				}
			}
			if c.calls.Load() != before {
				t.Errorf("%d calls; want none", c.calls.Load()-before)
			}
		})
	}
}

// TestImpliedWaitsForApproval has an agent call while the operator must approve agents.
func TestImpliedWaitsForApproval(t *testing.T) {
	t.Parallel()
	c := uagentsCalling(t, "pat: {admission: approval}\n")
	e := c.message("one", true)
	for range 2 {
		if _, failure := c.sends(e); !strings.Contains(failure, "approve") {
			t.Errorf("got %q", failure)
		}
	}
	if list := c.agreements(); len(list) != 1 || list[0].State != pat.AgreementPending {
		t.Fatalf("got %+v, want one pending agreement", list)
	}
	c.Must(c.Directory.Current().Service("default").Issuance.Approve(t.Context(), pat.AgentID(c.key.Address())))
	if lamps, failure := c.sends(e); lamps != "1" || len(c.agreements()) != 1 {
		t.Errorf("approved: %q %s, %d agreements", lamps, failure, len(c.agreements()))
	}
}

// TestManyImpliedAgreements has many new addresses call from one client, and one new agent send many messages at once.
func TestManyImpliedAgreements(t *testing.T) {
	t.Parallel()
	c := uagentsCalling(t, "server: {issue_per_address: 5/minute, per_address: 10000/second}\n")
	made := 0
	for i := range 20 {
		c.key = keyOf(t, fmt.Sprintf("the recovery password of agent %d", i))
		lamps, failure := c.sends(c.message("one", true))
		switch {
		case lamps != "":
			made++
		case !strings.Contains(failure, "too many agreements"):
			t.Errorf("got %q", failure)
		}
	}
	if made == 0 || made > 10 {
		t.Errorf("%d of 20 new agents called; want at most 10", made)
	}
	one := uagentsCalling(t, "")
	var all sync.WaitGroup
	for i := range 8 {
		body := one.text(one.message(fmt.Sprint(i), i%2 == 0))
		all.Go(func() {
			a := one.submit(http.MethodPost, body)
			if e, err := envelope.Parse(a.Body); err != nil || e.SchemaDigest == protocol.Standard("ErrorMessage").Digest {
				t.Errorf("got %d %s, %v", a.Status, a.Body, err)
			}
		})
	}
	all.Wait()
	if list := one.agreements(); len(list) != 1 {
		t.Errorf("%d agreements; want 1", len(list))
	}
}

// TestPythonCaller runs an agent that shares no code with the gateway, does not support UIM and has no endpoint.
func TestPythonCaller(t *testing.T) {
	t.Parallel()
	c := callingAs(t, strings.Replace(uagentsSettings, "uagents: {", "uagents: {mailbox: true, "+impliedMapping, 1))
	var out, problems bytes.Buffer
	command := exec.CommandContext(t.Context(), bindtest.Python(t), "-B", "testdata/uagents/caller.py", c.URL+"/submit", string(c.shop),
		strconv.FormatInt(c.Now().Unix(), 10), lampQuery, `{"wish": "lamp"}`, c.URL)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, problems.Bytes())
	}
	var printed struct {
		Replies []struct {
			Model   envelope.ModelDigest
			Message struct{ Lamps int }
		}
	}
	c.Must(json.Unmarshal(out.Bytes(), &printed))
	response, err := protocol.NewModel([]byte(lampCount))
	c.Must(err)
	if len(printed.Replies) != 2 || printed.Replies[0].Model != response.Digest || printed.Replies[0].Message.Lamps != 1 ||
		printed.Replies[1].Model != response.Digest || printed.Replies[1].Message.Lamps != 2 {
		t.Errorf("got %s", out.Bytes())
	}
}

// dearPolicy makes a search free or not, which depends on its query.
const dearPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search:v1", "action": "execute",
     "constraint": [{"leftOperand": "purpose", "operator": "eq", "rightOperand": "lamp"}]},
    {"target": "shop.example:search:v1", "action": "execute",
     "constraint": [{"leftOperand": "purpose", "operator": "eq", "rightOperand": "gold"}],
     "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]},
    {"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`

// TestImpliedIsNeverCharged sends messages under a policy whose price depends on the call. An agent that has agreed itself is charged.
func TestImpliedIsNeverCharged(t *testing.T) {
	t.Parallel()
	text := strings.Replace(uagentsSettings, "uagents: {", "uagents: {"+impliedMapping, 1)
	g := gatetest.New(t, strings.Replace(text, gatetest.Unproved, gatetest.Unproved+", facts: {purpose: [{parameter: /query}]}", 1),
		func(g *gatetest.Gate) {
			g.Write("seed.txt", uagentsSeed+"\n")
			g.Write("policy.json", dearPolicy)
		})
	c := &uagentsCaller{uagentsPeer: &uagentsPeer{g, keyOf(t, "alice recovery password"), keyOf(t, uagentsSeed).Address()}}
	var err error
	c.request, err = protocol.NewModel([]byte(lampQuery))
	c.Must(err)
	c.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"count": %d}`, c.calls.Add(1)) }
	if lamps, failure := c.sends(c.message("lamp", true)); lamps != "1" {
		t.Errorf("a free call: %s", failure)
	}
	for _, expires := range []bool{true, false} {
		_, failure := c.sends(c.message("gold", expires))
		if !strings.Contains(failure, "has a price") || !strings.Contains(failure, "UIMAgree") {
			t.Errorf("a call with a price: %q", failure)
		}
	}
	accounts, err := c.Store.Accounts(t.Context(), store.Filter{Service: "default"})
	c.Must(err)
	if c.calls.Load() != 1 || len(accounts) != 0 {
		t.Errorf("%d calls and accounts %+v; want 1 and none", c.calls.Load(), accounts)
	}
	c.agreed()
	if lamps, failure := c.sends(c.message("gold", true)); lamps != "2" {
		t.Errorf("after an agreement: %s", failure)
	}
}

// TestInvalidImplied checks that configurations are refused in which a message cannot imply an agreement.
func TestInvalidImplied(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ model, more, want string }{
		"a price":    {strings.Replace(impliedMapping, "search:v1", "order:v1", 1), "", "models[0].intent: agreement: implied permits only calls that cost nothing"},
		"no intent":  {strings.Replace(impliedMapping, "search:v1", "find:v1", 1), "", "models[0].intent: is not an intent"},
		"fresh only": {impliedMapping, "pat: {freshness: required}\n", "models[0].agreement: pat.freshness: required"},
	} {
		c := openedAs(t, uagentsSettings)
		c.Write("uimgate.yaml", row.more+strings.Replace(c.Settings, "uagents: {", "uagents: {"+row.model, 1))
		cfg, found := config.Load(c.Path("uimgate.yaml"), config.Overrides{
			Env: func(string) (string, bool) { return "", false }, Data: c.Path("data"), Blocks: door.Blocks(c.Modules),
		})
		if cfg != nil {
			_, found = service.Load(t.Context(), cfg, c.Now)
		}
		if found.Err() == nil || !strings.Contains(found.Err().Error(), row.want) {
			t.Errorf("%s: got %v; want %s", name, found.Err(), row.want)
		}
	}
}
