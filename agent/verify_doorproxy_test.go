package agent_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"sync/atomic"
)

const (
	mcpPath = "/mcp"
	a2aPath = "/a2a"
	// envelopePath is the path for envelopes of the uAgents protocol.
	envelopePath = "/submit"
	cardPath     = "/.well-known/agent-card.json"
)

// onMessage changes the responses to one JSON-RPC method at a path.
func onMessage(path, method string, change func(*http.Response) error) func(string) http.Handler {
	return func(gateway string) http.Handler {
		next := proxy(gateway, func(r *http.Response) error {
			if r.Request.Header.Get("X-Method") != path+" "+method {
				return nil
			}
			return change(r)
		})
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path && r.Method == http.MethodPost {
				var m struct{ Method string }
				body, err := io.ReadAll(r.Body)
				if err != nil || json.Unmarshal(body, &m) != nil {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				r.Header.Set("X-Method", path+" "+m.Method)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// results changes the results of a method, and failed its errors.
func results(path, method string, change func(result map[string]any)) func(string) http.Handler {
	return onMessage(path, method, members(func(m map[string]any) {
		if result, ok := m["result"].(map[string]any); ok {
			change(result)
		}
	}))
}

func failed(path, method string, change func(failed map[string]any)) func(string) http.Handler {
	return onMessage(path, method, members(func(m map[string]any) {
		if inner, ok := m["error"].(map[string]any); ok {
			change(inner)
		}
	}))
}

func document(path string, change func(map[string]any)) func(string) http.Handler {
	return onPath(path, only(http.StatusOK, members(change)))
}

// aTool returns the one tool that verify does not call.
func aTool(list map[string]any) map[string]any {
	for _, item := range list["tools"].([]any) {
		if tool := item.(map[string]any); tool["name"] == "report_v1" {
			return tool
		}
	}
	return map[string]any{}
}

// afterwards makes one endpoint answer a meaningless error after the first revocation.
func afterwards(path string) func(string) http.Handler {
	return func(gateway string) http.Handler {
		next := passing(gateway)
		var revoked atomic.Bool
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/pat/revoke" {
				revoked.Store(true)
			}
			if r.URL.Path == path && revoked.Load() {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "Hello."}}`))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func absent(paths ...string) func(string) http.Handler {
	return instead(func(w http.ResponseWriter, r *http.Request) bool {
		return slices.Contains(paths, r.URL.Path) && fail(w, http.StatusNotFound, "NOT_FOUND", "Nothing here.")
	})
}

var left = regexp.MustCompile(`;r=\d+`)

// uncounted sets the remaining quota of each limit as if nothing had been called.
func uncounted(r *http.Response) error {
	r.Header.Set("RateLimit", left.ReplaceAllString(r.Header.Get("RateLimit"), ";r=999999"))
	return nil
}

var reasonMember = regexp.MustCompile(`"reason":"[A-Z_]+"`)

func html200(r *http.Response) error {
	replaced(r, []byte("<html>"))
	return nil
}
