package upstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/store"
)

// sessionServer answers as a server of MCP 2025-11-25 with sessions: calls by answer. opened counts the sessions.
func sessionServer(opened *atomic.Int64, answer func(w http.ResponseWriter, id string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "server/discover":
			w.WriteHeader(http.StatusBadRequest)
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "s"+strconv.FormatInt(opened.Add(1), 10))
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, m.ID)
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			answer(w, string(m.ID))
		}
	}
}

// A tool may have had effects before the server, or the framework around it, sent a status. Only a response that the protocol defines as
// a refusal of the session proves the contrary.
func TestToolsWithEffectsAreCalledAgainOnlyWithoutTheirSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status   int
		sessions bool // the server has sessions
		safe     bool
		again    bool
	}{
		"404 without sessions":            {status: 404},
		"400 without sessions":            {status: 400},
		"404 without sessions, no effect": {status: 404, safe: true, again: true},
		"404 of a session":                {status: 404, sessions: true, again: true},
		"400 of a session":                {status: 400, sessions: true},
		"400 of a session, no effect":     {status: 400, sessions: true, safe: true, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls, opened atomic.Int64
			answer := func(w http.ResponseWriter, id string) {
				if calls.Add(1) > 1 {
					_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
					return
				}
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(c.status)
			}
			handler := rpc(answer)
			if c.sessions {
				handler = sessionServer(&opened, answer)
			}
			s := httptest.NewServer(handler)
			t.Cleanup(s.Close)
			u, p := openTools(t, settings(t, s.URL), c.safe)
			_, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
			if again := calls.Load() > 1; again != c.again || again != (outcome == store.Done) || again != (err == nil) {
				t.Errorf("got %v, %v after %d calls", outcome, err, calls.Load())
			}
			if _, _, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil || c.sessions && opened.Load() != 2 {
				t.Errorf("the next call: got %v in session %d", err, opened.Load())
			}
		})
	}
}

// The HTTP status of a response counts, whatever JSON-RPC error is in its body.
func TestAnErrorInTheBodyDoesNotHideTheStatus(t *testing.T) {
	t.Parallel()
	failing := func(calls *atomic.Int64, status int) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			if calls.Add(1) > 1 {
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
				return
			}
			w.Header().Set("Retry-After", "7")
			if status == http.StatusServiceUnavailable {
				w.Header().Del("Retry-After")
			}
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"x"}}`, id)
		}
	}
	t.Run("a session that has ended", func(t *testing.T) {
		t.Parallel()
		var calls, opened atomic.Int64
		s := httptest.NewServer(sessionServer(&opened, failing(&calls, http.StatusNotFound)))
		t.Cleanup(s.Close)
		u, p := openTools(t, settings(t, s.URL), false)
		if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil || outcome != store.Done || opened.Load() != 2 {
			t.Errorf("got %v, %v in session %d", outcome, err, opened.Load())
		}
	})
	t.Run("an upgraded server", func(t *testing.T) {
		t.Parallel()
		var calls, opened atomic.Int64
		s := httptest.NewServer(sessionServer(&opened, failing(&calls, http.StatusBadRequest)))
		t.Cleanup(s.Close)
		u, p := openTools(t, settings(t, s.URL), false)
		if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); outcome != store.Failed {
			t.Errorf("got %v, %v", outcome, err)
		}
		if _, _, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil || opened.Load() != 2 {
			t.Errorf("got %v in session %d", err, opened.Load())
		}
	})
	t.Run("a busy server", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int64
		s := httptest.NewServer(rpc(failing(&calls, http.StatusTooManyRequests)))
		t.Cleanup(s.Close)
		u, p := openTools(t, settings(t, s.URL), true)
		_, _, err := u.Call(t.Context(), p, upstream.Identity{}, live)
		if busy, ok := errors.AsType[*upstream.BusyError](err); !ok || busy.RetryAfter != 7*time.Second {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a server that restarts", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int64
		s := httptest.NewServer(rpc(failing(&calls, http.StatusServiceUnavailable)))
		t.Cleanup(s.Close)
		u, p := openTools(t, settings(t, s.URL), true)
		if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil || outcome != store.Done {
			t.Errorf("got %v, %v", outcome, err)
		}
	})
	t.Run("an access token that has ended", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int64
		var c clock
		s := httptest.NewServer(rpc(failing(&calls, http.StatusUnauthorized)))
		t.Cleanup(s.Close)
		tokens := newTokenServer(t)
		cfg := settings(t, s.URL)
		cfg.Now = c.now
		cfg.OAuth2 = config.OAuth2{TokenURL: mustURL(t, tokens.URL+"/token"), ClientID: "gate", ClientSecret: config.NewSecret(clientSecret)}
		u, p := openTools(t, cfg, true)
		calls.Store(1) // the first call has a token that the server accepts
		if _, _, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil {
			t.Fatal(err)
		}
		c.advance(time.Minute) // a newer token would not be replaced
		calls.Store(0)
		_, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
		if err != nil || outcome != store.Done || tokens.requests.Load() != 2 {
			t.Errorf("got %v, %v with token %d", outcome, err, tokens.requests.Load())
		}
	})
}

// A server may not take the refusal of its own request before it has sent the response, or may answer the refusal with a stream that stays
// open.
func TestRefusingARequestDoesNotLoseTheResponse(t *testing.T) {
	t.Parallel()
	for name, opens := range map[string]bool{"no answer": false, "a stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end, arrived := make(chan struct{}), make(chan struct{})
			refused := sync.OnceFunc(func() { close(arrived) })
			s := httptest.NewServer(rpc(func(w http.ResponseWriter, id string) {
				w.Header().Set("Content-Type", "text/event-stream")
				if id != `"s1"` {
					_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"roots/list\"}\n\n")
					_ = http.NewResponseController(w).Flush()
					<-arrived
					_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", id)
					return
				}
				refused()
				if opens {
					_ = http.NewResponseController(w).Flush()
				}
				<-end
			}))
			t.Cleanup(s.Close)
			t.Cleanup(func() { close(end) })
			u, p := openTools(t, settings(t, s.URL), false)
			if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil || outcome != store.Done {
				t.Errorf("got %v, %v", outcome, err)
			}
		})
	}
}
