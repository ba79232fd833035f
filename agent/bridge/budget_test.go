package bridge

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

func jsonOf(tool *mcp.Tool) (string, error) {
	data, err := json.Marshal(tool)
	return string(data), err
}

func TestBudget(t *testing.T) {
	t.Parallel()
	broken := agenttest.Reply{Break: true}
	failed := func(outcome, charge string) agenttest.Reply {
		r := agenttest.Reply{Status: 502, Body: `{"error":{"code":"X","message":"m","details":{"reason":"UPSTREAM_ERROR","outcome":"` + outcome + `"}}}`}
		if charge != "" {
			r.Header = map[string]string{"UIM-Charge": charge}
		}
		return r
	}
	refused := agenttest.Reply{Status: 403, Body: `{"error":{"code":"X","message":"m","details":{"reason":"AGENT_BLOCKED"}}}`}
	for name, test := range map[string]struct {
		replies []agenttest.Reply // to the first order
		free    bool              // the first order costs nothing, so a second one fits the budget
	}{
		"made":                         {nil, false},
		"refused":                      {[]agenttest.Reply{refused}, true},
		"failed and released":          {[]agenttest.Reply{failed("failed", "0.01 USD; id=e; state=released")}, true},
		"failed, without a charge":     {[]agenttest.Reply{failed("failed", "")}, true},
		"unknown":                      {[]agenttest.Reply{failed("unknown", "")}, false},
		"executed, response lost":      {[]agenttest.Reply{failed("done", "0.01 USD; id=e; state=captured")}, false},
		"still held":                   {[]agenttest.Reply{failed("unknown", "0.01 USD; id=e; state=pending")}, false},
		"response lost, then refused":  {[]agenttest.Reply{broken, refused}, false},
		"response lost each time":      {[]agenttest.Reply{broken, broken, broken, broken}, false},
		"response lost, then replayed": {[]agenttest.Reply{broken}, false},
		"errors without an outcome":    {[]agenttest.Reply{{Status: 500, Body: "?"}, {Status: 500, Body: "?"}, {Status: 500, Body: "?"}, {Status: 500, Body: "?"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			h := start(t, withBudget(t, optionsFor(t, shop), "0.01 USD/day"))
			shop.Script(test.replies...)
			_ = h.call(orderTool, nil)
			if test.free {
				h.ok(orderTool, nil)
			}
			sentence, details := h.refused(orderTool, map[string]any{"query": "another order"}, "BUDGET_EXCEEDED")
			has(t, sentence, "0.01 USD of the budget of 0.01 USD/day", "--budget")
			if details["spent"] != "0.01 USD" || details["budget"] != "0.01 USD/day" || details["until"] == nil {
				t.Errorf("got %v", details)
			}
			h.ok(searchTool, nil) // free calls are still allowed
		})
	}
}

func TestWithoutABudget(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := withBudget(t, optionsFor(t, shop))
	h := start(t, o)
	sentence, _ := h.refused(orderTool, nil, "NO_BUDGET")
	has(t, sentence, "The call costs up to 0.01 USD", `--budget "5 EUR/day"`)
	has(t, instructionsOf(h), "has set no budget")
	h.ok(searchTool, nil)
	h = start(t, withBudget(t, o, "5 EUR/day"))
	sentence, _ = h.refused(orderTool, nil, "NO_BUDGET") // another currency
	has(t, sentence, "0.01 USD")
	if n := len(shop.Calls()); n != 1 {
		t.Errorf("%d calls, want only the search", n)
	}
}

// If the bridge cannot read the policy, it treats no call as free, and counts every charge of the service.
func TestUnknownPrice(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := withBudget(t, optionsFor(t, shop))
	o.ReadTerms = nil
	h := start(t, o)
	sentence, _ := h.refused(searchTool, nil, "NO_BUDGET")
	has(t, sentence, "The call is not known to be free of charge")
	h = start(t, withBudget(t, o, "0.01 USD/day"))
	h.ok(searchTool, nil)
	h.ok(orderTool, nil) // the price in agents.json does not count
	h.refused(orderTool, nil, "BUDGET_EXCEEDED")
	h.refused(searchTool, nil, "BUDGET_EXCEEDED")
	h = start(t, withBudget(t, o, "0.01 USD/hour"))
	h.refused(orderTool, nil, "BUDGET_EXCEEDED") // the charges under the daily budget count
}

// The bridge makes calls of unknown price one at a time: the next begins once the charge of the one before is known.
func TestConcurrentCallsOfUnknownPrice(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := withBudget(t, optionsFor(t, shop), "0.01 USD/day")
	o.ReadTerms = nil
	charge := func(amount string) agenttest.Reply {
		return agenttest.Reply{Status: 200, Header: map[string]string{"UIM-Charge": amount + "; id=e; state=captured"}, Body: "{}"}
	}
	shop.Script(append([]agenttest.Reply{charge("0.001 USD")}, slices.Repeat([]agenttest.Reply{charge("0.01 USD")}, 20)...)...)
	h := start(t, o)
	h.ok(searchTool, nil) // one charge does not predict the next
	results := make(chan *mcp.CallToolResult, 20)
	for range cap(results) {
		go func() {
			result, _ := h.CallTool(t.Context(), &mcp.CallToolParams{Name: searchTool})
			results <- result
		}()
	}
	for range cap(results) {
		if r := <-results; r == nil || r.IsError && !strings.Contains(text(r, 1), "BUDGET_EXCEEDED") {
			t.Errorf("got %+v", r)
		}
	}
	if n := len(shop.Calls()); n != 2 {
		t.Errorf("%d calls of 0.01 USD were made within a budget of 0.01 USD, want 1", n-1)
	}
}

// Once a service has charged more than its terms state, the bridge reserves that charge for each call, so that it keeps to the budget.
func TestChargeBeyondTheTerms(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := withBudget(t, optionsFor(t, shop), "0.02 USD/day")
	logged := make(chan string, 8)
	o.Log = func(line string) { logged <- line }
	h := start(t, o)
	charge := func(amount string) agenttest.Reply {
		return agenttest.Reply{Status: 200, Header: map[string]string{"UIM-Charge": amount + "; id=e; state=captured"}, Body: "{}"}
	}
	shop.Script(charge("0.001 BTC"), charge("0.005 USD"), charge("0.005 USD"))
	h.ok(orderTool, nil)
	select {
	case line := <-logged:
		has(t, line, "0.001 BTC", agenttest.Order, "more than its policy states")
	default:
		t.Error("nothing was logged")
	}
	h.refused(orderTool, nil, "OTHER_CURRENCY")
	for range 2 { // free under the terms
		h.ok(searchTool, nil)
	}
	h.refused(searchTool, nil, "BUDGET_EXCEEDED")
}

// A call that is not sent because the renewal of the PAT failed costs nothing, even if the response to the renewal was lost.
func TestFailedRenewal(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := withBudget(t, optionsFor(t, shop), "0.01 USD/day")
	var broken atomic.Value
	o.Agent.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if how, _ := broken.Load().(string); how == "" || err != nil || r.URL.Path != "/api/pat/renew" {
				return response, err
			} else if how == "lost" {
				_ = response.Body.Close()
				return nil, io.ErrUnexpectedEOF
			}
			response.StatusCode, response.Body = http.StatusInternalServerError, io.NopCloser(strings.NewReader("{}"))
			return response, nil
		})
	}
	h := start(t, o)
	for _, how := range []string{"lost", "failed"} {
		h.ok(searchTool, nil)
		shop.Clock.Add(24 * time.Hour)
		broken.Store(how)
		result := h.call(orderTool, nil)
		if !result.IsError {
			t.Fatalf("%s: %s", how, text(result, 0))
		}
		has(t, text(result, 0), "No call was made, because the PAT could not be renewed")
		has(t, text(result, 1), `"outcome":"not_sent"`)
		if strings.Contains(text(result, 0), "took effect") {
			t.Errorf("%s: %s", how, text(result, 0))
		}
		broken.Store("")
		shop.Clock.Add(-24 * time.Hour)
	}
	h = start(t, o)
	h.ok(orderTool, nil)
	h.refused(orderTool, nil, "BUDGET_EXCEEDED")
}
