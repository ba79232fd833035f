package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/intents"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

func TestTools(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	h := start(t, optionsFor(t, shop))
	list, err := h.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 || list.NextCursor != "" {
		t.Fatalf("got %+v, %v; want no error, Tools of length 2 and NextCursor empty", list, err)
	}
	order, search := list.Tools[0], list.Tools[1]
	if order.Name != orderTool || search.Name != searchTool || search.Title != "Search" {
		t.Errorf("got %+v %+v; want Name %v, Name %v and Title %q", order, search, orderTool, searchTool, "Search")
	}
	has(t, order.Description, "Orders goods", "UID: "+agenttest.Order, "Costs 0.01 USD a call.")
	input, _ := search.InputSchema.(map[string]any)
	properties, _ := input["properties"].(map[string]any)
	if input["type"] != "object" || input["additionalProperties"] != false || len(properties) != 3 {
		t.Errorf("got %v", input)
	}
	if a := search.Annotations; !a.ReadOnlyHint || a.DestructiveHint == nil || *a.DestructiveHint || !*a.OpenWorldHint {
		t.Errorf("got %+v", a)
	}
	if a := order.Annotations; a.ReadOnlyHint || a.DestructiveHint != nil || a.IdempotentHint {
		t.Errorf("got %+v", a)
	}
	about, _ := order.Meta["example.shop/intent"].(map[string]any)
	if about["uid"] != agenttest.Order || about["price"] != "0.01 USD" {
		t.Errorf("got %v", order.Meta)
	}
}

func TestCallHasKeyAndProof(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	h := start(t, optionsFor(t, shop))
	for range 2 {
		result := h.ok(searchTool, map[string]any{"query": "tea"})
		if want := `{"echo":{"query":"tea"}}`; text(result, 0) != want || len(result.Content) != 1 {
			t.Errorf("got %q", text(result, 0))
		}
		output, _ := result.StructuredContent.(map[string]any)
		if output["echo"] == nil || result.Meta["UIM-Request-ID"] != "request-1" || result.Meta["RateLimit"] == nil {
			t.Errorf("got %+v", result)
		}
	}
	ordered := h.ok(agenttest.Order, map[string]any{"query": "tea"}) // by its UID
	if ordered.Meta["UIM-Charge"] != "0.01 USD; id=execution-1; state=captured" {
		t.Errorf("got %v", ordered.Meta)
	}
	seen := map[string]bool{}
	for _, c := range shop.Calls() {
		if !c.Proved || c.IdempotencyKey == "" || seen[c.IdempotencyKey] {
			t.Errorf("proved %v, key %q", c.Proved, c.IdempotencyKey)
		}
		seen[c.IdempotencyKey] = true
	}
}

// A host that sends the same Idempotency-Key again gets the result of its earlier call.
func TestKeySuppliedByHost(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	h := start(t, optionsFor(t, shop))
	for n := range 2 {
		result, err := h.CallTool(t.Context(), &mcp.CallToolParams{
			Name: orderTool, Arguments: map[string]any{"query": "tea"},
			Meta: mcp.Meta{"Idempotency-Key": "order-17", "UIM-Request-ID": "mine"},
		})
		if err != nil || result.IsError || (result.Meta["Idempotency-Replayed"] == "true") != (n == 1) {
			t.Fatalf("got %+v, %v", result, err)
		}
	}
	if c := shop.Calls()[0]; c.IdempotencyKey != "order-17" || c.Header.Get("UIM-Request-ID") != "mine" {
		t.Errorf("got %+v", c)
	}
}

func TestUnknownTool(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	h := start(t, optionsFor(t, shop))
	_, err := h.CallTool(t.Context(), &mcp.CallToolParams{Name: "serach_v1"})
	if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || wire.Code != jsonrpc.CodeInvalidParams {
		t.Fatal(err)
	}
	has(t, err.Error(), "Unknown tool: serach_v1", "did you mean search_v1?")
	if _, err := h.CallTool(t.Context(), &mcp.CallToolParams{Name: strings.Repeat("x", 1<<20)}); err == nil || len(err.Error()) > 1000 {
		t.Errorf("a long name: %.200v", err)
	}
}

func TestServiceRefusals(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	h := start(t, optionsFor(t, shop))
	shop.Script(agenttest.Reply{Status: 400, Body: `{"error":{"code":"INVALID_PARAMETER","message":"The parameters do not fit","details":{
	  "reason":"PARAMETER_OUT_OF_RANGE","suggestion":"Keep to the limits\u001b[31m","violations":[{"pointer":"/parameters/limit","message":"at most 10"}]}}}`})
	sentence, details := h.refused(searchTool, map[string]any{"limit": 99}, "PARAMETER_OUT_OF_RANGE")
	has(t, sentence, "The parameters do not fit", "/parameters/limit", "at most 10", "Keep to the limits")
	if strings.ContainsRune(sentence, 0x1b) || strings.ContainsRune(details["suggestion"].(string), 0x1b) {
		t.Error("the text contains a control character")
	}
	shop.Script(agenttest.Reply{Status: 429, Header: map[string]string{"Retry-After": "3600"}, Body: `{"error":{"code":"X","details":{"reason":"RATE_LIMIT_EXCEEDED"}}}`})
	sentence, _ = h.refused(searchTool, nil, "RATE_LIMIT_EXCEEDED")
	has(t, sentence, "after 3600 seconds")
	shop.RevokeAll()
	sentence, _ = h.refused(searchTool, nil, "REVOKED_TOKEN")
	has(t, sentence, "uimgate agent agree "+shop.URL+" --digest "+shop.Digest())
}

// The bridge signs nothing that the owner has not accepted, and shows the command to agree. Once the owner has agreed, calls succeed
// without a restart.
func TestWithoutAnAgreement(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	accepted := o.Accept
	o.Accept = []string{"sha-256:" + strings.Repeat("A", 43)}
	h := start(t, o)
	has(t, instructionsOf(h), "has not agreed to its terms yet")
	sentence, details := h.refused(searchTool, map[string]any{"query": "tea"}, "POLICY_REQUIRES_AGREEMENT")
	has(t, sentence, "Searching is free.\nAn order costs 0.01 USD.", "uimgate agent agree "+shop.URL+" --digest "+shop.Digest())
	if policy, _ := details["policy"].(map[string]any); policy["digest"] != shop.Digest() {
		t.Errorf("got %v", details)
	}
	if shop.Requests("/api/pat/issue") != 0 || len(shop.Calls()) != 0 {
		t.Fatal("the bridge agreed or called")
	}
	o.Accept = accepted
	start(t, o).ok(searchTool, nil) // stores the agreement, as uimgate agent agree does
	h.ok(searchTool, nil)
}

func instructionsOf(h *host) string {
	if r := h.InitializeResult(); r != nil {
		return r.Instructions
	}
	return ""
}

func TestChangedPolicy(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	h := start(t, o)
	h.ok(searchTool, nil)
	before := shop.Digest()
	shop.Offer(t, `{"uid":"`+agenttest.PolicyUID+`","permission":[]}`)
	for range 2 {
		sentence, details := h.refused(searchTool, nil, "POLICY_REQUIRES_AGREEMENT")
		has(t, sentence, before, shop.Digest(), "uimgate agent agree")
		if details["agreed"] != before {
			t.Errorf("got %v", details)
		}
	}
	if shop.Requests("/api/pat/issue") != 1 {
		t.Error("the changed policy was signed")
	}
	o.Accept = []string{shop.Digest()}
	start(t, o).ok(searchTool, nil)
	h.ok(searchTool, nil)
}

func TestPendingAgreement(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	shop.RequireApproval()
	o := optionsFor(t, shop)
	h := start(t, o)
	h.refused(searchTool, nil, "PENDING")
	o.Accept = nil // the pending agreement is enough, even after a restart
	again := start(t, o)
	again.refused(searchTool, nil, "PENDING")
	shop.Approve()
	again.ok(searchTool, nil)
	h.ok(searchTool, nil)
}

func TestSeveralServices(t *testing.T) {
	t.Parallel()
	one, two := agenttest.New(t, agenttest.Canonical), agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, one, two)
	logged := make(chan string, 64)
	o.Log = func(line string) { logged <- line }
	gone := agenttest.New(t, agenttest.Canonical)
	gone.Close()
	o.Services = append(o.Services, gone.URL)
	h := start(t, o)
	list, err := h.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 4 {
		t.Fatalf("got %+v, %v; want no error and Tools of length 4", list, err)
	}
	for _, tool := range list.Tools {
		if !strings.HasPrefix(tool.Name, "127-0-0-1-") || len(tool.Name) > 48 {
			t.Errorf("got %s", tool.Name)
		}
		if strings.HasSuffix(tool.Name, searchTool) {
			h.ok(tool.Name, nil)
		}
	}
	if len(one.Calls()) != 1 || len(two.Calls()) != 1 {
		t.Errorf("%d and %d calls", len(one.Calls()), len(two.Calls()))
	}
	has(t, instructionsOf(h), "could not be reached")
	has(t, <-logged, gone.URL)
	if _, err := h.CallTool(t.Context(), &mcp.CallToolParams{Name: agenttest.Search}); err == nil {
		t.Error("the bridge called a UID that two services have")
	}
	o.Services = []string{"no service"}
	if _, err := Open(t.Context(), o); !errors.Is(err, agent.ErrTarget) {
		t.Errorf("no service: %v, want %v", err, agent.ErrTarget)
	}
}

// An intent that the service adds later is listed with its terms.
func TestTermsOfNewIntent(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	o.ReadTerms = func(_ context.Context, _ agent.Policy, catalog *intents.Catalog) Terms {
		terms := Terms{Intents: map[string]CallTerm{}}
		for _, in := range catalog.Intents() {
			terms.Intents[in.UID.String()] = CallTerm{Words: "Free of charge."}
		}
		return terms
	}
	b, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	shop.SetMember("intents", []any{map[string]any{
		"intent_uid": "shop.example:new:v1", "intent_name": "New", "description": "d",
		"endpoint": map[string]any{"url": "https://shop.example/new", "method": "GET"},
	}})
	b.refresh(t.Context(), 0)
	if _, _, _, terms := b.services[0].state(); terms.Intents["shop.example:new:v1"].Words == "" {
		t.Errorf("the bridge has only the terms %v", terms.Intents)
	}
}
