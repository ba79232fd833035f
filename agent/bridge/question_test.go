package bridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent/bridge/confirm"
	"github.com/uimgate/uimgate/internal/money"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// ownersCode is the code whose digest is in confirm/testdata/code.json.
const ownersCode = "correct horse"

var revisions = []string{"2025-11-25", "2026-07-28"}

// asking returns the options of a bridge that asks its owner about calls that cost more than an amount.
func asking(t *testing.T, o Options, above ...string) Options {
	t.Helper()
	text, err := os.ReadFile("confirm/testdata/code.json")
	if err != nil {
		t.Fatal(err)
	}
	code := filepath.Join(t.TempDir(), "confirm.json")
	if err := os.WriteFile(code, text, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Confirm = confirm.New(confirm.Options{CodePath: code, Now: o.Agent.Now})
	for _, text := range above {
		amount, err := money.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		o.ConfirmAbove = append(o.ConfirmAbove, amount)
	}
	return o
}

// press answers the question on a page as a browser does, and returns the page that follows.
func press(t *testing.T, address, decision, code string) (status int, page string) {
	t.Helper()
	return received(t)(http.PostForm(address, url.Values{"decision": {decision}, "code": {code}}))
}

// received returns a function that reads a response.
func received(t *testing.T) func(*http.Response, error) (status int, page string) {
	t.Helper()
	return func(resp *http.Response, err error) (int, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
}

func read(t *testing.T, address string) string {
	t.Helper()
	_, page := received(t)(http.Get(address))
	return page
}

// A person is the owner of the agent in front of a host that opens pages.
type person struct {
	t      *testing.T
	action string // what the host reports
	do     func(address string)

	mu        sync.Mutex
	asked     []*mcp.ElicitParams
	completed chan string
}

// with starts a bridge for a host of this person.
func (p *person) with(o Options, revision string) *host {
	p.completed = make(chan string, 100)
	return startAs(p.t, o, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			p.mu.Lock()
			p.asked = append(p.asked, r.Params)
			p.mu.Unlock()
			if p.do != nil {
				p.do(r.Params.URL)
			}
			return &mcp.ElicitResult{Action: p.action}, nil
		},
		ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) {
			p.completed <- r.Params.ElicitationID
		},
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
}

func orders(shop *agenttest.Service) (n int) {
	for _, c := range shop.Calls() {
		if c.UID == agenttest.Order {
			n++
		}
	}
	return n
}

func TestOwnerConfirmsACall(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			p := &person{t: t, action: "accept"}
			p.do = func(address string) {
				has(t, read(t, address), agenttest.Order, "up to 0.01 USD", " of 1.00 USD/day is spent", "a \\u202e lamp", shop.URL)
				if status, _ := press(t, address, "confirm", ownersCode); status != http.StatusOK {
					t.Errorf("confirming: status %d", status)
				}
			}
			h := p.with(asking(t, optionsFor(t, shop), "0.009 USD"), revision)
			h.ok(searchTool, nil)
			h.ok(orderTool, map[string]any{"query": "a \u202e lamp"})
			if n := orders(shop); n != 1 || len(p.asked) != 1 {
				t.Fatalf("%d orders, %d questions; want one of each", n, len(p.asked))
			}
			asked := p.asked[0]
			if asked.Mode != "url" || !strings.Contains(asked.Message, "0.01 USD") || !strings.HasPrefix(asked.URL, "http://127.0.0.1:") {
				t.Errorf("got %+v", asked)
			}
			if revision == revisions[0] {
				if id := <-p.completed; id != asked.ElicitationID {
					t.Errorf("completed %q, want %q", id, asked.ElicitationID)
				}
			}
			h.ok(orderTool, map[string]any{"query": "a \u202e lamp"}) // each call needs its own confirmation
			if len(p.asked) != 2 || p.asked[1].URL == asked.URL || orders(shop) != 2 {
				t.Errorf("%d questions, %d orders", len(p.asked), orders(shop))
			}
		})
	}
}

// What counts is what the owner does on the page, and not what the host reports.
func TestHostThatLies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		action string
		do     func(t *testing.T, address string)
		reason string
	}{
		"declines": {"decline", nil, "CONFIRMATION_REFUSED"},
		"cancels":  {"cancel", nil, "CONFIRMATION_REFUSED"},
		"the owner refuses": {"accept", func(t *testing.T, address string) {
			t.Helper()
			press(t, address, "refuse", "")
		}, "CONFIRMATION_REFUSED"},
		"guesses the code": {"accept", func(t *testing.T, address string) {
			t.Helper()
			for n := range confirm.MaxTries {
				if status, page := press(t, address, "confirm", ownersCode+"."); status/100 == 2 || strings.Contains(page, "have confirmed") {
					t.Errorf("try %d: %d %s", n, status, page)
				}
			}
			if status, _ := press(t, address, "confirm", ownersCode); status != http.StatusGone {
				t.Errorf("the right code after too many wrong ones: %d", status)
			}
		}, "CONFIRMATION_REFUSED"},
	} {
		for _, revision := range revisions {
			t.Run(name+" "+revision, func(t *testing.T) {
				t.Parallel()
				shop := agenttest.New(t, agenttest.Canonical)
				p := &person{t: t, action: test.action}
				if test.do != nil {
					p.do = func(address string) { test.do(t, address) }
				}
				h := p.with(asking(t, optionsFor(t, shop)), revision)
				h.refused(orderTool, nil, test.reason)
				if n := orders(shop); n != 0 {
					t.Errorf("%d orders", n)
				}
			})
		}
	}
}

// The host accepts, but the owner does not answer on the page. The bridge waits until the host gives up, and makes no call.
func TestHostAcceptsWithoutTheOwner(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			ctx, cancel := context.WithCancel(t.Context())
			p := &person{t: t, action: "accept", do: func(string) { time.AfterFunc(100*time.Millisecond, cancel) }}
			h := p.with(asking(t, optionsFor(t, shop)), revision)
			if _, err := h.CallTool(ctx, &mcp.CallToolParams{Name: orderTool}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			h.ok(searchTool, nil)
			if n := orders(shop); n != 0 {
				t.Errorf("%d orders", n)
			}
			// The page is still open. After a confirmation, the next identical call is made without another question.
			press(t, p.asked[0].URL, "confirm", ownersCode)
			h.ok(orderTool, nil)
			if n := orders(shop); n != 1 || len(p.asked) != 1 {
				t.Errorf("%d orders, %d questions", n, len(p.asked))
			}
		})
	}
}

func TestHostWithoutPages(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	h := start(t, asking(t, optionsFor(t, shop)))
	sentence, details := h.refused(orderTool, map[string]any{"query": "a"}, "CONFIRMATION_REQUIRED")
	address, _ := details["confirm_url"].(string)
	has(t, sentence, address, "exactly the same arguments")
	if _, again := h.refused(orderTool, map[string]any{"query": "a"}, "CONFIRMATION_REQUIRED"); again["confirm_url"] != address {
		t.Errorf("the address changes: %v, %s", again, address)
	}
	_, other := h.refused(orderTool, map[string]any{"query": "b"}, "CONFIRMATION_REQUIRED")
	if other["confirm_url"] == address {
		t.Error("two calls have one page")
	}
	press(t, address, "confirm", ownersCode)
	h.refused(orderTool, map[string]any{"query": "b"}, "CONFIRMATION_REQUIRED")
	h.ok(orderTool, map[string]any{"query": "a"})
	h.refused(orderTool, map[string]any{"query": "a"}, "CONFIRMATION_REQUIRED")
	if n := orders(shop); n != 1 {
		t.Errorf("%d orders", n)
	}
	if status, page := press(t, address, "confirm", ownersCode); status != http.StatusGone {
		t.Errorf("the page of a call that was made: %d %s", status, page)
	}
}

func TestWhichCallsNeedTheOwner(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		above  []string
		terms  bool
		tool   string
		reason string // empty: the call is made
	}{
		"at the amount":            {[]string{"0.01 USD"}, true, orderTool, ""},
		"above the amount":         {[]string{"0.009999999 USD"}, true, orderTool, "CONFIRMATION_REQUIRED"},
		"another currency":         {[]string{"5 EUR"}, true, orderTool, "CONFIRMATION_REQUIRED"},
		"one of several":           {[]string{"5 EUR", "5 USD"}, true, orderTool, ""},
		"free":                     {nil, true, searchTool, ""},
		"an unknown price":         {[]string{"5 USD"}, false, orderTool, "CONFIRMATION_REQUIRED"},
		"a search, price unknown":  {[]string{"5 USD"}, false, searchTool, "CONFIRMATION_REQUIRED"},
		"any price without amount": {nil, true, orderTool, "CONFIRMATION_REQUIRED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			o := asking(t, optionsFor(t, shop), test.above...)
			if !test.terms {
				o.ReadTerms = nil
			}
			h := start(t, o)
			if test.reason == "" {
				h.ok(test.tool, nil)
				return
			}
			h.refused(test.tool, nil, test.reason)
			if n := len(shop.Calls()); n != 0 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// The budget refuses before the owner is asked.
func TestBudgetBeforeTheOwner(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := withBudget(t, optionsFor(t, shop), "0.009 USD/day")
	h := start(t, asking(t, o))
	h.refused(orderTool, nil, "BUDGET_EXCEEDED")
	h = start(t, asking(t, withBudget(t, o, "1 EUR/day")))
	h.refused(orderTool, nil, "NO_BUDGET")
}

// Of 100 identical calls, one confirmation permits one.
func TestParallelCallsOnOneConfirmation(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	h := start(t, asking(t, optionsFor(t, shop)))
	_, details := h.refused(orderTool, nil, "CONFIRMATION_REQUIRED")
	address, _ := details["confirm_url"].(string)
	press(t, address, "confirm", ownersCode)
	if made := inParallel(h, 100, nil); made != 1 || orders(shop) != 1 {
		t.Errorf("%d calls made, %d orders; want 1", made, orders(shop))
	}
}

// inParallel makes n calls of the order, and returns how many succeed. arguments may be nil.
func inParallel(h *host, n int, arguments func(int) any) int64 {
	var made atomic.Int64
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var with any
			if arguments != nil {
				with = arguments(i)
			}
			result, err := h.CallTool(h.t.Context(), &mcp.CallToolParams{Name: orderTool, Arguments: with})
			if err != nil {
				h.t.Error(err)
			} else if !result.IsError {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	return made.Load()
}

// A budget for one call admits one, whether the owner has confirmed all of them or the bridge asks about none.
func TestParallelCallsOnABudgetForOne(t *testing.T) {
	t.Parallel()
	differ := func(i int) any { return map[string]any{"limit": i} }
	shop := agenttest.New(t, agenttest.Canonical)
	p := &person{t: t, action: "accept"}
	p.do = func(address string) {
		if status, page := press(t, address, "confirm", ownersCode); status != http.StatusOK {
			t.Errorf("%d %s", status, page)
		}
	}
	h := p.with(withBudget(t, asking(t, optionsFor(t, shop)), "0.01 USD/day"), revisions[0])
	if made := inParallel(h, 12, differ); made != 1 || orders(shop) != 1 {
		t.Errorf("%d confirmed calls made, %d orders; want 1", made, orders(shop))
	}
	shop = agenttest.New(t, agenttest.Canonical)
	h = start(t, withBudget(t, optionsFor(t, shop), "0.01 USD/day"))
	if made := inParallel(h, 100, differ); made != 1 || orders(shop) != 1 {
		t.Errorf("%d calls made, %d orders; want 1", made, orders(shop))
	}
}

// If a confirmed call has an unknown outcome, its repetition needs no confirmation and costs nothing more, even in another bridge.
func TestRepetitionNeedsNoConfirmation(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := withBudget(t, optionsFor(t, shop), "0.01 USD/day")
	p := &person{t: t, action: "accept"}
	p.do = func(address string) { press(t, address, "confirm", ownersCode) }
	h := p.with(asking(t, o), revisions[0])
	shop.Script(lost, unresolved)
	if r := h.call(orderTool, nil); !r.IsError {
		t.Fatalf("got %+v", r)
	}
	h.closed()
	asked := len(p.asked)
	other := &person{t: t, action: "decline"}
	h = other.with(asking(t, o), revisions[1])
	h.ok(orderTool, nil)
	if len(keysOf(shop.Calls())) != 1 {
		t.Error("the repetition has another key")
	}
	if len(other.asked) != 0 || asked != 1 {
		t.Errorf("%d questions before, %d after", asked, len(other.asked))
	}
	h.refused(orderTool, nil, "BUDGET_EXCEEDED") // the price was spent once
}
