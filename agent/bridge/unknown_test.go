package bridge

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// The replies of a service that was killed during a call and then restarted.
var (
	lost    = agenttest.Reply{Break: true}
	running = agenttest.Reply{Status: 409, Header: map[string]string{"Retry-After": "1"}, Body: `{"error":{"code":"CONFLICT",
	  "message":"The call with this Idempotency-Key is still in progress.",
	  "details":{"reason":"IDEMPOTENCY_IN_PROGRESS","suggestion":"Repeat the same request shortly, with the same Idempotency-Key."}}}`}
	unresolved = agenttest.Reply{Status: 409, Body: `{"error":{"code":"CONFLICT","message":"It is not known how the call ended.",
	  "details":{"reason":"OUTCOME_UNKNOWN"}}}`}
	starting = agenttest.Reply{Status: 503, Header: map[string]string{"Retry-After": "1"}, Body: `{"error":{"code":"SERVICE_UNAVAILABLE",
	  "message":"m","details":{"reason":"STORE_UNAVAILABLE","outcome":"not_sent"}}}`}
	released = agenttest.Reply{Status: 409, Header: map[string]string{"UIM-Charge": "0.01 USD; id=e; state=released"}, Body: `{"error":{
	  "code":"CONFLICT","message":"It has ended, and its answer was not kept.","details":{"reason":"OUTCOME_UNKNOWN","state":"released"}}}`}
)

func keysOf(calls []agenttest.Call) []string {
	var keys []string
	for _, c := range calls {
		if !slices.Contains(keys, c.IdempotencyKey) {
			keys = append(keys, c.IdempotencyKey)
		}
	}
	return keys
}

// The bridge repeats the request under its key for as long as the service may still be executing the call.
func TestLostResponseIsAwaited(t *testing.T) {
	t.Parallel()
	for name, replies := range map[string][]agenttest.Reply{
		"still running":            slices.Concat([]agenttest.Reply{lost}, slices.Repeat([]agenttest.Reply{running}, 60)),
		"starting":                 slices.Concat([]agenttest.Reply{lost}, slices.Repeat([]agenttest.Reply{starting}, 60)),
		"an error without outcome": slices.Concat([]agenttest.Reply{lost}, slices.Repeat([]agenttest.Reply{{Status: 502, Body: "?"}}, 60)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			h := start(t, optionsFor(t, shop))
			shop.Script(replies...)
			h.ok(orderTool, map[string]any{"query": "tea"})
			if calls := shop.Calls(); len(calls) != len(replies)+1 || len(keysOf(calls)) != 1 {
				t.Errorf("%d calls under %d keys", len(calls), len(keysOf(calls)))
			}
		})
	}
}

func TestUnavailableServiceIsAwaited(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	var sent atomic.Int64
	o.Agent.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/execute") {
				if n := sent.Add(1); n > 1 && n < 60 {
					return nil, syscall.ECONNREFUSED
				}
			}
			return next.RoundTrip(r)
		})
	}
	h := start(t, o)
	shop.Script(lost)
	h.ok(orderTool, nil)
	if calls := shop.Calls(); len(calls) != 2 || len(keysOf(calls)) != 1 {
		t.Errorf("%d calls under %d keys", len(calls), len(keysOf(calls)))
	}
}

// If the outcome stays unknown, the bridge reports that. The next call with the same arguments queries it under the same key, even after
// a restart.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := withBudget(t, optionsFor(t, shop), "0.02 USD/day")
	h := start(t, o)
	tea := map[string]any{"query": "tea"}
	shop.Script(lost, running, unresolved)
	sentence, details := h.refused(orderTool, tea, "OUTCOME_UNKNOWN")
	has(t, sentence, "Outcome unknown, do not repeat", "call the same tool with exactly the same arguments")
	key := shop.Calls()[0].IdempotencyKey
	if details["outcome"] != "unknown" || details["idempotency_key"] != key {
		t.Errorf("got %v", details)
	}
	shop.Script(unresolved)
	h.refused(orderTool, tea, "OUTCOME_UNKNOWN")
	h.ok(orderTool, map[string]any{"query": "coffee"}) // another order
	h.refused(orderTool, map[string]any{"query": "milk"}, "BUDGET_EXCEEDED")
	h.closed()

	h = start(t, o)
	answered := h.ok(orderTool, tea)
	if answered.Meta["Idempotency-Replayed"] != "true" {
		t.Errorf("got %v", answered.Meta)
	}
	has(t, text(answered, 1), "This is the outcome of the call with these arguments", "was not executed again")
	h.refused(orderTool, tea, "BUDGET_EXCEEDED") // a new order
	if keys := keysOf(shop.Calls()); len(keys) != 2 || keys[0] != key {
		t.Errorf("got %v; want length 2 and [0] %v", keys, key)
	}
}

// The bridge stops waiting for an outcome after heldFor.
func TestWaitForOutcomeEnds(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	var waited atomic.Int64
	o.Agent.Sleep = func(_ context.Context, d time.Duration) error {
		waited.Add(int64(d))
		return nil
	}
	h := start(t, o)
	shop.Script(slices.Concat([]agenttest.Reply{lost}, slices.Repeat([]agenttest.Reply{running}, 1000))...)
	sentence, _ := h.refused(orderTool, nil, "IDEMPOTENCY_IN_PROGRESS")
	has(t, sentence, "Outcome unknown, do not repeat")
	if strings.Contains(sentence, "shortly") || strings.Contains(sentence, "retried") {
		t.Error(sentence)
	}
	if d := time.Duration(waited.Load()); d < heldFor || d > heldFor+time.Minute {
		t.Errorf("the bridge waited for %v", d)
	}
}

// The bridge releases the reservation of a call once it learns that the call cost nothing.
func TestBudgetAfterOutcomeIsKnown(t *testing.T) {
	t.Parallel()
	failed := func(outcome, header string) agenttest.Reply {
		return agenttest.Reply{Status: 502, Header: map[string]string{"Idempotency-Replayed": header}, Body: `{"error":{"code":"X","message":"m",
		  "details":{"reason":"UPSTREAM_ERROR","outcome":"` + outcome + `"}}}`}
	}
	for name, test := range map[string]struct {
		watch agenttest.Reply
		free  bool
	}{
		"failed":   {failed("failed", "true"), true},
		"released": {released, true},
		"done":     {failed("done", "true"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			h := start(t, withBudget(t, optionsFor(t, shop), "0.01 USD/day"))
			shop.Script(lost, unresolved, test.watch)
			h.refused(orderTool, nil, "OUTCOME_UNKNOWN")
			if r := h.call(orderTool, nil); !r.IsError || strings.Contains(text(r, 0), "do not repeat") {
				t.Errorf("got %s", text(r, 0))
			}
			if !test.free {
				h.refused(orderTool, nil, "BUDGET_EXCEEDED")
				return
			}
			h.ok(orderTool, nil)
			if keys := keysOf(shop.Calls()); len(keys) != 2 {
				t.Errorf("%d keys", len(keys))
			}
		})
	}
}

// A refusal leaves the outcome of the lost call unknown: the bridge keeps its key.
func TestRefusalLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	h := start(t, optionsFor(t, shop))
	blocked := agenttest.Reply{Status: 403, Body: `{"error":{"code":"FORBIDDEN","message":"m","details":{"reason":"AGENT_BLOCKED"}}}`}
	shop.Script(lost, unresolved, blocked)
	h.refused(orderTool, nil, "OUTCOME_UNKNOWN")
	sentence, _ := h.refused(orderTool, nil, "AGENT_BLOCKED")
	has(t, sentence, "Outcome unknown, do not repeat")
	h.ok(orderTool, nil)
	if keys := keysOf(shop.Calls()); len(keys) != 1 {
		t.Errorf("%d keys", len(keys))
	}
}

// The bridge does not repeat a call without an idempotency key while its outcome is unknown.
func TestOutcomeCannotBeQueried(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	var sent atomic.Int64
	o.Agent.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err != nil || !strings.HasSuffix(r.URL.Path, "/execute") {
				return response, err
			}
			sent.Add(1)
			_ = response.Body.Close()
			return nil, io.ErrUnexpectedEOF
		})
	}
	h := start(t, o)
	for range 2 {
		inexact := json.RawMessage(`{"limit": 12345678901234567890}`)
		result, err := h.CallTool(t.Context(), &mcp.CallToolParams{Name: orderTool, Arguments: inexact})
		if err != nil || !result.IsError {
			t.Fatalf("got %+v, %v", result, err)
		}
		has(t, text(result, 0), "Outcome unknown, do not repeat", "cannot be queried")
	}
	if sent.Load() != 1 {
		t.Errorf("%d calls were sent, want 1", sent.Load())
	}
}

// If the host cancels while the bridge waits for an outcome, the next call with the same arguments queries it under the same key.
func TestCancelWhileWaitingForOutcome(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	asks, wake := make(chan struct{}, 8), make(chan struct{})
	o.Agent.Sleep = func(_ context.Context, d time.Duration) error {
		if d < firstAsk { // a retry of the agent package
			return nil
		}
		asks <- struct{}{}
		<-wake
		return context.Canceled
	}
	h := start(t, o)
	shop.Script(lost, unresolvedYet, unresolvedYet, unresolvedYet, unresolvedYet)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := h.CallTool(ctx, &mcp.CallToolParams{Name: orderTool})
		answered <- err
	}()
	<-asks
	cancel()
	if err := <-answered; err == nil {
		t.Error("the call was answered")
	}
	wasLeft(t, o)
	close(wake)
	for h.call(orderTool, nil).IsError { // until the replies above are used up
	}
	if keys := keysOf(shop.Calls()); len(keys) != 1 {
		t.Errorf("%d keys", len(keys))
	}
}

// wasLeft waits until the bridge has seen that the host cancelled its call. The MCP client does not wait for that.
func wasLeft(t *testing.T, o Options) {
	t.Helper()
	for poll := time.NewTicker(time.Millisecond); ; {
		if kept, err := os.ReadFile(o.Outbox); err != nil {
			t.Fatal(err)
		} else if !strings.Contains(string(kept), `"owner"`) {
			return
		}
		select {
		case <-poll.C:
		case <-t.Context().Done():
			t.Fatal("the call still has an owner")
		}
	}
}

var unresolvedYet = agenttest.Reply{Status: 502, Body: "?"}

// Equal calls that run at the same time get separate keys.
func TestConcurrentEqualCalls(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	h := start(t, optionsFor(t, shop))
	results := make(chan *mcp.CallToolResult, 8)
	for range cap(results) {
		go func() {
			result, _ := h.CallTool(t.Context(), &mcp.CallToolParams{Name: orderTool})
			results <- result
		}()
	}
	for range cap(results) {
		if r := <-results; r == nil || r.IsError {
			t.Errorf("got %+v", r)
		}
	}
	if keys := keysOf(shop.Calls()); len(keys) != 8 {
		t.Errorf("%d keys, want 8", len(keys))
	}
}
