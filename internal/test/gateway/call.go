package gatetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/uimgate/uimgate/internal/reason"
)

// An Answer is an HTTP response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Send sends a request and reads the response.
func (g *Gate) Send(r *http.Request) Answer {
	g.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	g.Must(err)
	body, err := io.ReadAll(resp.Body)
	g.Must(err)
	g.Must(resp.Body.Close())
	g.mu.Lock() // the handler has read Upstream for this request, so the test may set another one, even after a broken connection
	defer g.mu.Unlock()
	return Answer{resp.StatusCode, resp.Header, body}
}

// Call posts to the public listener. header has pairs of names and values.
func (g *Gate) Call(path, token string, body any, header ...string) Answer {
	g.Helper()
	text, err := json.Marshal(body)
	g.Must(err)
	r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.URL+path, bytes.NewReader(text))
	g.Must(err)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return g.Send(r)
}

// Parse returns the URL of a path of the public listener.
func (g *Gate) Parse(path string) *url.URL {
	g.Helper()
	u, err := url.Parse(g.URL + path)
	g.Must(err)
	return u
}

// Get sends a GET request to the public listener. header has pairs of names and values.
func (g *Gate) Get(path string, header ...string) Answer {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), http.MethodGet, g.URL+path, nil)
	g.Must(err)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return g.Send(r)
}

// Execute calls Searching or Ordering. header has pairs of names and values.
func (g *Gate) Execute(a *Agent, intent string, header ...string) Answer {
	g.Helper()
	parameters := map[string]any{"query": "lamp"}
	if intent == Ordering {
		parameters = map[string]any{"product": "lamp"}
	}
	return g.Call("/api/intents/execute", a.Token, map[string]any{"intent_uid": intent, "parameters": parameters}, header...)
}

// BreakOff makes the upstream receive the call and then close the connection.
func (g *Gate) BreakOff() {
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			g.Error(err)
			return
		}
		_ = c.Close()
	}
}

// Refuses ends the test unless a response is the error envelope with the status and the reason.
func (g *Gate) Refuses(a Answer, status int, reason string) {
	g.Helper()
	var envelope struct {
		Error struct {
			Code    string         `json:"code"`
			Message string         `json:"message"`
			Details map[string]any `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(a.Body, &envelope); err != nil || a.Header.Get("Content-Type") != "application/json" {
		g.Fatalf("%d %s %q: no envelope", a.Status, a.Header.Get("Content-Type"), a.Body)
	}
	e := envelope.Error
	if a.Status != status || e.Details["reason"] != reason || e.Code == "" || e.Message == "" || e.Details["suggestion"] == "" {
		g.Fatalf("%d %.1000s; want %d %s with code, message and suggestion", a.Status, a.Body, status, reason)
	}
}

// Reason returns the reason of a refusal, or "" if the Answer is not a refusal.
func (a Answer) Reason() reason.Reason {
	var body struct {
		Error struct {
			Details struct {
				Reason reason.Reason `json:"reason"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(a.Body, &body) != nil {
		return ""
	}
	return body.Error.Details.Reason
}

// Post posts a body to the public listener as it is. header has pairs of names and values.
func (g *Gate) Post(path, body string, header ...string) Answer {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.URL+path, strings.NewReader(body))
	g.Must(err)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return g.Send(r)
}
