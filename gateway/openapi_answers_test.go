package gateway_test

import (
	"encoding/json"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// An apiDocument is the part of an OpenAPI document about responses.
type apiDocument struct {
	Paths map[string]map[string]struct {
		Timeout   int            `json:"x-timeout"`
		Timeouts  map[string]int `json:"x-timeouts"`
		Responses map[string]struct {
			Headers map[string]json.RawMessage `json:"headers"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas struct {
			Error struct {
				Properties struct {
					Error struct {
						Properties struct {
							Details struct {
								Properties map[string]json.RawMessage `json:"properties"`
							} `json:"details"`
						} `json:"properties"`
					} `json:"error"`
				} `json:"properties"`
			}
		} `json:"schemas"`
	} `json:"components"`
}

// ordinary are the header fields that any HTTP server sends, and that openapi.json does not describe.
var ordinary = []string{"Cache-Control", "Content-Length", "Content-Type", "Date", "Etag", "Vary", "X-Content-Type-Options"}

// openapi.json describes every header field and every member of an error in real responses.
func TestOpenAPIDescribesResponses(t *testing.T) {
	s := newSuccession(t)
	var doc apiDocument
	s.Must(json.Unmarshal(s.Get("/openapi.json").Body, &doc))
	a, _ := s.agreed("agent-1", s.Directory.Current().Service("default").Offer(), "")
	other, _ := s.agreed("agent-2", s.Directory.Current().Service("default").Offer(), "")
	call := func(token, intent string, parameters map[string]any, header ...string) gatetest.Answer {
		return s.Call("/api/intents/execute", token, map[string]any{"intent_uid": intent, "parameters": parameters}, header...)
	}
	lamp := map[string]any{"product": "lamp"}
	first := call(a.Token, gatetest.Ordering, lamp, "Idempotency-Key", "k")
	replay := call(a.Token, gatetest.Ordering, lamp, "Idempotency-Key", "k")
	s.Upstream = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	rejected := call(a.Token, gatetest.Ordering, lamp)
	s.Later(s.from.Add(-time.Second).Sub(s.Now()))
	old, _ := s.agreed("agent-3", s.Directory.Current().Service("default").Offer(), "")
	s.Later(time.Second)
	eager, _ := s.agreed("agent-4", s.second, "")
	for name, tt := range map[string]struct {
		answer gatetest.Answer
		want   []string // header fields that the response must have
	}{
		"an order":          {first, []string{"UIM-Charge", "RateLimit", "RateLimit-Policy", "Deprecation", "Sunset", "Link"}},
		"a replay":          {replay, []string{"Idempotency-Replayed"}},
		"a rejected order":  {rejected, []string{"UIM-Charge", "RateLimit"}},
		"another policy":    {call(old.Token, gatetest.Ordering, lamp), nil},
		"no token":          {call("", gatetest.Ordering, lamp), []string{"WWW-Authenticate"}},
		"an expired token":  {call(other.Token, gatetest.Ordering, lamp), []string{"WWW-Authenticate"}},
		"an invalid order":  {call(eager.Token, gatetest.Ordering, map[string]any{}), nil},
		"an unknown intent": {call(eager.Token, gatetest.Ordering+"0", lamp), nil},
		"a wrong method":    {s.Get("/api/pat/issue"), nil},
	} {
		response := "default"
		if tt.answer.Status == http.StatusOK {
			response = "200"
		}
		known := doc.Paths["/api/intents/execute"]["post"].Responses[response].Headers
		var names []string
		for name := range known {
			names = append(names, textproto.CanonicalMIMEHeaderKey(name))
		}
		for field := range tt.answer.Header {
			if !slices.Contains(ordinary, field) && !slices.Contains(names, field) && field != "Allow" {
				t.Errorf("%s: %d has the field %s, which openapi.json does not describe", name, tt.answer.Status, field)
			}
		}
		for _, field := range tt.want {
			if tt.answer.Header.Get(field) == "" || !slices.Contains(names, textproto.CanonicalMIMEHeaderKey(field)) {
				t.Errorf("%s: %d %v, described %v; want %s in both", name, tt.answer.Status, tt.answer.Header, names, field)
			}
		}
		var failed struct {
			Error struct{ Details map[string]any }
		}
		_ = json.Unmarshal(tt.answer.Body, &failed)
		for member := range failed.Error.Details {
			if doc.Components.Schemas.Error.Properties.Error.Properties.Details.Properties[member] == nil {
				t.Errorf("%s: details has %s, which openapi.json does not describe: %s", name, member, tt.answer.Body)
			}
		}
	}
}

func TestOpenAPIHasTimeouts(t *testing.T) {
	g := gatetest.New(t, `
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM}
  intents:
    shop.example:search:v1: {timeout: 10m}
`)
	agents := string(g.Get("/agents.json").Body)
	for _, path := range []string{"/openapi.json", "/openapi.json?per-intent"} {
		var doc apiDocument
		g.Must(json.Unmarshal(g.Get(path).Body, &doc))
		one := doc.Paths["/api/intents/execute/"+gatetest.Searching]["post"].Timeout
		all := doc.Paths["/api/intents/execute"]["post"].Timeouts[gatetest.Searching]
		if !strings.Contains(agents, `"x-timeout": 600`) || one+all != 600 {
			t.Errorf("%s: timeouts %d and %d; want 600, as in agents.json: %s", path, one, all, agents)
		}
	}
}
