package bindings_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A toolAnswer is the response to an MCP message.
type toolAnswer struct {
	Result struct {
		ResultType    string
		IsError       bool
		RequestState  string
		InputRequests map[string]struct {
			Method string
			Params map[string]string
		}
		Content []struct{ Text string }
	}
	Error struct {
		Code int
		Data struct{ Elicitations []map[string]string }
	}
}

// message sends an MCP message with the client's token, and returns the response with its session id.
func (c *confirmGate) message(method string, params map[string]any, header ...string) (a toolAnswer, session string) {
	c.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	c.Must(err)
	got := c.Post("/mcp", string(body), append([]string{
		"Authorization", "Bearer " + c.client.Token, "Content-Type", "application/json", "Accept", "application/json, text/event-stream",
	}, header...)...)
	if got.Status != http.StatusOK {
		c.Fatalf("%d %s", got.Status, got.Body)
	}
	c.Must(json.Unmarshal(got.Body, &a))
	return a, got.Header.Get("Mcp-Session-Id")
}

// order calls the order tool as a client of 2026-07-28 with these capabilities. more are members of params.
func (c *confirmGate) order(capabilities map[string]any, more map[string]any) toolAnswer {
	c.Helper()
	params := map[string]any{
		"name": "order_v1", "arguments": map[string]any{"product": "lamp"},
		"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": capabilities,
		},
	}
	maps.Copy(params, more)
	a, _ := c.message("tools/call", params, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "order_v1")
	return a
}

var urlMode = map[string]any{"elicitation": map[string]any{"url": map[string]any{}}}

func (c *confirmGate) path(address string) string {
	c.Helper()
	u, err := url.Parse(address)
	c.Must(err)
	return u.RequestURI()
}

// A client of 2026-07-28 asks the person to open the page, and then repeats the same call. The client's own answer confirms nothing.
func TestConfirmationByInputRequired(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	asked := c.order(urlMode, nil).Result
	input := asked.InputRequests["confirm"]
	if asked.ResultType != "input_required" || asked.RequestState == "" ||
		input.Method != "elicitation/create" || input.Params["mode"] != "url" ||
		!strings.Contains(input.Params["message"], "0.25 EUR") {
		t.Fatalf("got %+v", asked)
	}
	answered := func(action string) map[string]any {
		return map[string]any{
			"requestState": asked.RequestState, "inputResponses": map[string]any{"confirm": map[string]any{"action": action}},
		}
	}
	if again := c.order(urlMode, answered("accept")).Result; again.ResultType != "input_required" || again.RequestState != asked.RequestState {
		t.Errorf("accepted, but not confirmed on the page: %+v", again)
	}
	if left := c.order(urlMode, answered("decline")).Result; !left.IsError || !strings.Contains(left.Content[1].Text, "CONFIRMATION_REQUIRED") {
		t.Errorf("declined: %+v", left)
	}
	c.person.decide(c.path(input.Params["url"]), "confirm")
	other := answered("accept")
	other["arguments"] = map[string]any{"product": "desk"}
	if got := c.order(urlMode, other).Result; got.ResultType != "input_required" || got.RequestState == asked.RequestState {
		t.Errorf("other parameters: %+v", got)
	}
	if done := c.order(urlMode, answered("accept")).Result; done.ResultType != "complete" || done.IsError || c.served.Load() != 1 {
		t.Errorf("confirmed: %+v", done)
	}
	if again := c.order(urlMode, answered("accept")).Result; again.ResultType != "input_required" || c.served.Load() != 1 {
		t.Errorf("repeated: %+v", again)
	}
}

// A client that does not open addresses gets the address as text for the person, and repeats the call afterwards.
func TestConfirmationWithoutURLMode(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	for name, capabilities := range map[string]map[string]any{
		"nothing declared": {}, "forms alone": {"elicitation": map[string]any{}}, "no object": {"elicitation": map[string]any{"url": true}},
	} {
		got := c.order(capabilities, nil).Result
		if !got.IsError || !strings.Contains(got.Content[0].Text, "/oauth/confirm?id=") ||
			strings.Contains(got.Content[0].Text, "UIM-Confirmation") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	asked := c.asks(c.Execute(c.client, gatetest.Ordering))
	if page := c.person.decide(asked.URL, "confirm"); tokenField.Match(page.Body) {
		t.Error("the page shows a token, although an MCP client asked first")
	}
	if done := c.order(map[string]any{}, nil).Result; done.IsError || c.served.Load() != 1 {
		t.Errorf("got %+v", done)
	}
}

// A client of 2025-11-25 that declared URL mode when it initialized gets the error for it, and others a tool error.
func TestConfirmationByURLElicitation(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	call := map[string]any{"name": "order_v1", "arguments": map[string]any{"product": "lamp"}}
	initialize := func(capabilities map[string]any) string {
		_, session := c.message("initialize", map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": map[string]any{"name": "test", "version": "1"},
		})
		return session
	}
	if session := initialize(map[string]any{}); session != "" {
		t.Errorf("a session without URL mode: %q", session)
	}
	plain, _ := c.message("tools/call", call, "MCP-Protocol-Version", "2025-11-25")
	if !plain.Result.IsError || !strings.Contains(plain.Result.Content[0].Text, "/oauth/confirm?id=") {
		t.Errorf("without URL mode: %+v", plain)
	}
	session := []string{"MCP-Protocol-Version", "2025-11-25", "Mcp-Session-Id", initialize(urlMode)}
	asked, _ := c.message("tools/call", call, session...)
	if asked.Error.Code != -32042 || len(asked.Error.Data.Elicitations) != 1 {
		t.Fatalf("got %+v", asked)
	}
	elicitation := asked.Error.Data.Elicitations[0]
	if elicitation["mode"] != "url" || elicitation["elicitationId"] == "" || elicitation["message"] == "" {
		t.Errorf("got %+v", elicitation)
	}
	c.person.decide(c.path(elicitation["url"]), "confirm")
	done, _ := c.message("tools/call", call, session...)
	if done.Error.Code != 0 || done.Result.IsError || c.served.Load() != 1 {
		t.Errorf("confirmed: %+v", done)
	}
	if again, _ := c.message("tools/call", call, session...); again.Error.Code != -32042 || c.served.Load() != 1 {
		t.Errorf("repeated: %+v", again)
	}
}

// A client without a valid PAT, or that does not open addresses, gets no stream of notices, and no challenge. A PAT has at most four.
func TestNoticesAreForClientsThatOpenAddresses(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	open := func(header ...string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+"/mcp", nil)
		c.Must(err)
		r.Header.Set("Accept", "text/event-stream")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		c.Must(err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer.StatusCode
	}
	const session, mine = "Mcp-Session-Id", "url.ABC"
	for name, header := range map[string][]string{
		"no PAT": {session, mine}, "an invalid PAT": {session, mine, "Authorization", "Bearer x"},
		"no session":     {"Authorization", "Bearer " + c.client.Token},
		"another format": {session, mine, "Authorization", "Bearer " + c.client.Token, "Accept", "application/json"},
	} {
		if got := open(header...); got != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", name, got)
		}
	}
	for n := range 5 {
		want := http.StatusOK
		if n == 4 {
			want = http.StatusMethodNotAllowed
		}
		if got := open(session, mine, "Authorization", "Bearer "+c.client.Token); got != want {
			t.Errorf("stream %d: %d, want %d", n+1, got, want)
		}
	}
}

// A stream has a notification for each call that the person decides on, even if the person decides at once, or before the client opens the
// stream.
func TestEachDecisionIsNotified(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	var want []string
	decide := func(product, decision string) {
		asked := c.asks(c.Call("/api/intents/execute", c.client.Token, map[string]any{
			"intent_uid": gatetest.Ordering, "parameters": map[string]any{"product": product},
		}))
		c.person.decide(asked.URL, decision)
		want = append(want, asked.Confirmation)
	}
	decide("before the stream", "confirm")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a stream without the notifications would never end
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/mcp", nil)
	c.Must(err)
	for name, value := range map[string]string{
		"Accept": "text/event-stream", "Mcp-Session-Id": "url.ABC", "Authorization": "Bearer " + c.client.Token,
	} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	c.Must(err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	for n := range 4 {
		decide(fmt.Sprint("during the stream ", n), []string{"confirm", "refuse"}[n%2])
	}
	events, got := bufio.NewScanner(answer.Body), map[string]bool{}
	for len(got) < len(want) && events.Scan() {
		var event struct {
			Method string
			Params struct{ ElicitationID string }
		}
		if data, isData := strings.CutPrefix(events.Text(), "data: "); isData {
			c.Must(json.Unmarshal([]byte(data), &event))
			if event.Method != "notifications/elicitation/complete" || !slices.Contains(want, event.Params.ElicitationID) ||
				got[event.Params.ElicitationID] {
				t.Errorf("event %+v; decided on %v", event, want)
			}
			got[event.Params.ElicitationID] = true
		}
	}
	if len(got) < len(want) {
		t.Errorf("%d notifications, want %d: %v", len(got), len(want), events.Err())
	}
}
