package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// openTools returns the upstream for an MCP server, and a request for its tool try.
func openTools(tb testing.TB, cfg upstream.Config, safe bool) (*upstream.Upstream, *upstream.PreparedRequest) {
	tb.Helper()
	cfg.MCP = &upstream.MCP{Sessions: 1}
	u := open(tb, cfg)
	r, err := u.Route(upstream.Endpoint{
		IntentUID: "shop.example:try:v1", URL: "https://shop.example/tools/try", Parameters: []string{"price", "q"}, Unsafe: !safe,
	})
	if err != nil {
		tb.Fatal(err)
	}
	p, violations := r.Prepare(strictjson.Object{"q": "tea", "price": json.Number("12345678901234567890.10")})
	if violations != nil {
		tb.Fatalf("got %v, want nil", violations)
	}
	return u, p
}

// officialServer returns a server of the official SDK with the tool try.
func officialServer(tb testing.TB, o *sdk.StreamableHTTPOptions, handler sdk.ToolHandler) *httptest.Server {
	tb.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "try", InputSchema: json.RawMessage(`{"type":"object"}`)}, handler)
	s := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, o))
	tb.Cleanup(s.Close)
	return s
}

func TestToolsOfTheOfficialServer(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*sdk.StreamableHTTPOptions{
		"sessions and events":    {},
		"sessions":               {JSONResponse: true},
		"stateless":              {Stateless: true, JSONResponse: true},
		"stateless, with events": {Stateless: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var meta atomic.Value
			s := officialServer(t, o, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				meta.Store(fmt.Sprint(r.Params.Meta["UIM-Agent-Id"], " ", r.Params.Meta["UIM-Execution-Id"], " ", r.Extra.Header.Get("UIM-Agent-Id")))
				return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: r.Params.Arguments}, nil
			})
			u, p := openTools(t, settings(t, s.URL), false)
			for range 2 {
				answer, outcome, err := u.Call(t.Context(), p, upstream.Identity{AgentID: "a1"}, granted("e1", alive))
				if err != nil || outcome != store.Done || string(answer.JSON) != `{"price":12345678901234567890.10,"q":"tea"}` {
					t.Fatalf("got %s, %v, %v", answer.JSON, outcome, err)
				}
			}
			if got := meta.Load(); got != "a1 e1 a1" {
				t.Errorf("the server received %q", got)
			}
			list, err := u.Tools(t.Context())
			if err != nil || len(list) != 1 || list[0].Name != "try" {
				t.Errorf("got %v, %v", list, err)
			}
		})
	}
}

// rpc answers requests of MCP 2026-07-28: server/discover itself, and calls by answer.
func rpc(answer func(w http.ResponseWriter, id string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		if m.Method == "server/discover" {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}`, m.ID)
			return
		}
		answer(toolResponse{w, r.Context().Done()}, string(m.ID))
	}
}

// A toolResponse is the response to a request. gone is closed when the client of the request has disconnected.
type toolResponse struct {
	http.ResponseWriter

	gone <-chan struct{}
}

func (a toolResponse) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// silent sends nothing until the client has disconnected.
func silent(w http.ResponseWriter, _ string) {
	if a, ok := w.(toolResponse); ok {
		<-a.gone
	}
}

func TestOutcomesOfToolCalls(t *testing.T) {
	t.Parallel()
	result := func(text string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, text)
		}
	}
	events := func(end bool, texts ...string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, text := range texts {
				_, _ = fmt.Fprintf(w, "event: message\r\ndata: %s\r\n\r\n", strings.ReplaceAll(text, "ID", id))
			}
			if !end {
				panic(http.ErrAbortHandler)
			}
		}
	}
	flood := func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n"); err != nil {
				return
			}
		}
	}
	const note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	for name, c := range map[string]struct {
		answer  func(http.ResponseWriter, string)
		json    string
		outcome store.Outcome
		err     any // an error, or a pointer for errors.As; nil: none
		message string
	}{
		"structured": {answer: result(`"result":{"content":[],"structuredContent":{"n":1.50}}`), json: `{"n":1.50}`, outcome: store.Done},
		"content": {
			answer: result(`"result":{"content":[{"type":"text","text":"hi"}]}`), json: `{"content":[{"type":"text","text":"hi"}]}`, outcome: store.Done,
		},
		"a list":  {answer: result(`"result":{"content":[],"structuredContent":[1]}`), json: `{"result":[1]}`, outcome: store.Done},
		"nothing": {answer: result(`"result":{}`), json: `{}`, outcome: store.Done},
		"events": {
			answer: events(true, note, `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"n":1}}}`), json: `{"n":1}`, outcome: store.Done,
		},
		"an error of the tool": {
			answer:  result(`"result":{"isError":true,"content":[{"type":"text","text":"no <b>such</b>"},{"type":"text","text":"order"}]}`),
			outcome: store.Failed, err: new(*upstream.RejectedError), message: "no such order",
		},
		"unknown tool": {
			answer: result(`"error":{"code":-32602,"message":"Unknown tool"}`), outcome: store.Failed, err: new(*upstream.RejectedError), message: "Unknown tool",
		},
		"another error":      {answer: result(`"error":{"code":-32603,"message":"x"}`), outcome: store.Failed, err: new(*upstream.StatusError)},
		"input required":     {answer: result(`"result":{"resultType":"input_required","inputRequests":{}}`), outcome: store.Failed, err: new(*upstream.StatusError)},
		"secret in an error": {answer: result(`"result":{"isError":true,"content":[{"type":"text","text":"key sesame-1234"}]}`), outcome: store.Failed, err: new(*upstream.RejectedError)},
		"secret":             {answer: result(`"result":{"structuredContent":{"key":"sesame-1234"}}`), json: `{"key":"***********"}`, outcome: store.Done},
		"too long":           {answer: result(`"result":{"structuredContent":{"t":"` + strings.Repeat("x", 2<<20) + `"}}`), outcome: store.Done, err: new(*upstream.ResponseError)},
		"a flood":            {answer: flood, outcome: store.Unknown, err: upstream.ErrBroken},
		"too long as an event": {
			answer:  events(true, note, `{"result":{"structuredContent":{"t":"`+strings.Repeat("x", 2<<20)+`"}},"jsonrpc":"2.0","id":ID}`),
			outcome: store.Done, err: new(*upstream.ResponseError),
		},
		"another event that is too long": {
			answer:  events(true, `{"jsonrpc":"2.0","method":"notifications/message","params":{"result":"`+strings.Repeat("x", 2<<20)+`"}}`),
			outcome: store.Unknown, err: upstream.ErrBroken,
		},
		"another id":        {answer: func(w http.ResponseWriter, _ string) { result(`"result":{}`)(w, `"zz"`) }, outcome: store.Unknown, err: upstream.ErrBroken},
		"html":              {answer: func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, "<html>") }, outcome: store.Unknown, err: upstream.ErrBroken},
		"broken events":     {answer: events(false, note), outcome: store.Unknown, err: upstream.ErrBroken},
		"events that end":   {answer: events(true, note), outcome: store.Unknown, err: upstream.ErrBroken},
		"events of no JSON": {answer: events(true, "{"), outcome: store.Unknown, err: upstream.ErrBroken},
		"a server error":    {answer: func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusBadGateway) }, outcome: store.Failed, err: new(*upstream.StatusError)},
		"a server error with another encoding": {
			answer: func(w http.ResponseWriter, _ string) {
				w.Header().Set("Content-Encoding", "br")
				w.WriteHeader(http.StatusBadGateway)
				_, _ = io.WriteString(w, "x")
			},
			outcome: store.Failed, err: new(*upstream.StatusError),
		},
		"a server error with bad gzip": {
			answer: func(w http.ResponseWriter, _ string) {
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(http.StatusBadGateway)
				_, _ = io.WriteString(w, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff")
			},
			outcome: store.Failed, err: new(*upstream.StatusError),
		},
		"another encoding": {
			answer: func(w http.ResponseWriter, id string) {
				w.Header().Set("Content-Encoding", "br")
				result(`"result":{}`)(w, id)
			},
			outcome: store.Unknown, err: upstream.ErrBroken,
		},
		"busy": {
			answer:  func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusTooManyRequests) },
			outcome: store.Failed, err: new(*upstream.BusyError),
		},
		"silence": {answer: silent, outcome: store.Unknown, err: upstream.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			s := httptest.NewServer(rpc(func(w http.ResponseWriter, id string) { calls.Add(1); c.answer(w, id) }))
			t.Cleanup(s.Close)
			cfg := settings(t, s.URL)
			cfg.AuthHeaders = headers("X-Key", "sesame-1234")
			if name == "silence" {
				cfg.Timeout = time.Second
			}
			u, p := openTools(t, cfg, false)
			answer, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
			if outcome != c.outcome || c.err == nil && (err != nil || string(answer.JSON) != c.json) {
				t.Errorf("got %.200s, %v, %v; want %s, %v", answer.JSON, outcome, err, c.json, c.outcome)
			}
			switch want := c.err.(type) {
			case nil:
			case **upstream.RejectedError:
				if !errors.As(err, want) || (*want).Message != c.message {
					t.Errorf("got %v with %v; want the message %q", err, *want, c.message)
				}
			case error:
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			default:
				if !errors.As(err, want) {
					t.Errorf("got %v, want %T", err, want)
				}
			}
			if calls.Load() != 1 {
				t.Errorf("the tool was called %d times", calls.Load())
			}
		})
	}
}

// A tool without effects may be called again after a connection broke; any other may not.
func TestOnlySafeToolsAreCalledAgain(t *testing.T) {
	t.Parallel()
	for _, safe := range []bool{true, false} {
		var calls atomic.Int64
		s := httptest.NewServer(rpc(func(w http.ResponseWriter, id string) {
			if calls.Add(1) == 1 {
				panic(http.ErrAbortHandler)
			}
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
		}))
		t.Cleanup(s.Close)
		u, p := openTools(t, settings(t, s.URL), safe)
		_, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
		if safe != (outcome == store.Done) || safe != (err == nil) || calls.Load() > 1 != safe {
			t.Errorf("safe %v: got %v, %v after %d calls", safe, outcome, err, calls.Load())
		}
	}
}

// If a server no longer knows a session, it has not executed the call, so the call is sent again in a new session.
func TestAForgottenSessionIsOpenedAgain(t *testing.T) {
	t.Parallel()
	handler := func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"n": 1}}, nil
	}
	current := atomic.Pointer[httptest.Server]{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		current.Load().Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	current.Store(officialServer(t, &sdk.StreamableHTTPOptions{}, handler))
	u, p := openTools(t, settings(t, front.URL), false)
	for range 2 {
		if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil || outcome != store.Done {
			t.Fatalf("got %v, %v", outcome, err)
		}
		current.Store(officialServer(t, &sdk.StreamableHTTPOptions{}, handler)) // as after a restart
	}
}

func TestToolCallsThatAreNotSent(t *testing.T) {
	t.Parallel()
	refuse := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	for name, c := range map[string]struct {
		url string
		err any
	}{
		"no listener":  {closedPort(t), upstream.ErrUnreachable},
		"unauthorized": {refuse(http.StatusUnauthorized), new(*upstream.StatusError)},
		"not found":    {refuse(http.StatusNotFound), new(*upstream.StatusError)},
		"unavailable":  {refuse(http.StatusServiceUnavailable), new(*upstream.StatusError)},
		"silent": {serve(t, func(_ int64, c net.Conn, _ *http.Request) bool {
			_, _ = io.Copy(io.Discard, c) // until the client has disconnected
			return false
		}).URL, upstream.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, c.url)
			cfg.Timeout = time.Second
			u, p := openTools(t, cfg, false)
			_, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
			if want, isErr := c.err.(error); outcome != store.NotSent || isErr && !errors.Is(err, want) || !isErr && !errors.As(err, c.err) {
				t.Errorf("got %v, %v; want %v", outcome, err, c.err)
			}
		})
	}
}

func TestACallWithoutGrantReachesNoTool(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s := httptest.NewServer(rpc(func(http.ResponseWriter, string) { calls.Add(1) }))
	t.Cleanup(s.Close)
	u, p := openTools(t, settings(t, s.URL), false)
	asked := 0
	_, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, granted("", func() error {
		if asked++; asked > 1 { // the first time is before the session is opened
			return errors.New("ended")
		}
		return nil
	}))
	if outcome != store.NotSent || !errors.Is(err, upstream.ErrGrantEnded) || calls.Load() != 0 {
		t.Errorf("got %v, %v after %d calls", outcome, err, calls.Load())
	}
}

func TestEndpointsOfTools(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "http://127.0.0.1:9")
	cfg.MCP = &upstream.MCP{Sessions: 1}
	u := open(t, cfg)
	for _, c := range []struct {
		e  upstream.Endpoint
		ok bool
	}{
		{upstream.Endpoint{URL: "https://shop.example/tools/get-sum"}, true},
		{upstream.Endpoint{URL: "https://shop.example/base/tools/a%2Fb", Method: "post"}, true},
		{upstream.Endpoint{URL: "https://shop.example/tools/"}, false},
		{upstream.Endpoint{URL: "https://shop.example/tool/x"}, false},
		{upstream.Endpoint{URL: "https://shop.example/tools/x?y=1"}, false},
		{upstream.Endpoint{URL: "https://shop.example/tools/x", Method: "GET"}, false},
		{upstream.Endpoint{URL: "https://shop.example/tools/x", ContentType: "multipart/form-data"}, false},
		{upstream.Endpoint{URL: "https://elsewhere.example/tools/x"}, false},
		{upstream.Endpoint{URL: "https://shop.example/tools/x", Fixed: upstream.FixedValues{Query: map[string]any{"a": "b"}}}, false},
		{upstream.Endpoint{}, false},
	} {
		c.e.IntentUID = "shop.example:try:v1"
		if _, err := u.Route(c.e); (err == nil) != c.ok {
			t.Errorf("%+v: got %v", c.e.URL, err)
		}
	}
}
