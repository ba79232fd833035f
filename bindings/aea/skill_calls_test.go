package aea_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

func TestHTTPRequests(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	token := a.Agrees(t, gatetest.Searching)
	body := []byte(fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": "lamp"}}`, gatetest.Searching))
	with := func(token string) http.Header {
		return http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	}
	for name, c := range map[string]struct {
		message protocol.HTTPMessage
		status  int
		says    string
	}{
		"a call":               {protocol.HTTPMessage{Method: "POST", URL: "http://gw.test/api/intents/execute", Header: with(token), Body: body}, 200, `{"ok":true}`},
		"lower-case method":    {protocol.HTTPMessage{Method: "post", URL: "/api/intents/execute?x", Header: with(token), Body: body}, 200, `{"ok":true}`},
		"search":               {protocol.HTTPMessage{Method: "GET", URL: "https://elsewhere/api/intents/search?query=order"}, 200, gatetest.Ordering},
		"agents.json":          {protocol.HTTPMessage{Method: "GET", URL: "/agents.json"}, 200, "shop.example"},
		"the policy":           {protocol.HTTPMessage{Method: "GET", URL: "/api/policy"}, 200, gatetest.PolicyFile},
		"no PAT":               {protocol.HTTPMessage{Method: "POST", URL: "/api/intents/execute", Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, 401, "MISSING_TOKEN"},
		"PAT of another agent": {protocol.HTTPMessage{Method: "POST", URL: "/api/intents/execute", Header: with(s.Agreed("agent-2").Token), Body: body}, 401, "INVALID_TOKEN"},
		"an unknown path":      {protocol.HTTPMessage{Method: "GET", URL: "/nowhere"}, 404, "NO_SUCH_PATH"},
		"another door":         {protocol.HTTPMessage{Method: "POST", URL: "/mcp", Header: with(token), Body: body}, 404, "NO_SUCH_PATH"},
		"an invalid method":    {protocol.HTTPMessage{Method: "GO HOME", URL: "/agents.json"}, 405, "METHOD_NOT_ALLOWED"},
		"an invalid URL":       {protocol.HTTPMessage{Method: "GET", URL: "http://[::1"}, 400, "MALFORMED_REQUEST"},
		"an opaque url":        {protocol.HTTPMessage{Method: "GET", URL: "mailto:x"}, 400, "MALFORMED_REQUEST"},
		"a long body":          {protocol.HTTPMessage{Method: "POST", URL: "/api/intents/execute", Header: with(token), Body: []byte(strings.Repeat(" ", 2<<20))}, 413, "BODY_TOO_LARGE"},
		"not JSON":             {protocol.HTTPMessage{Method: "POST", URL: "/api/intents/execute", Header: with(token), Body: []byte("x")}, 400, "MALFORMED_REQUEST"},
		"a second header":      {protocol.HTTPMessage{Method: "POST", URL: "/api/intents/execute", Header: http.Header{"Authorization": {"a", "b"}}, Body: body}, 400, "MALFORMED_REQUEST"},
		"no permission":        {protocol.HTTPMessage{Method: "POST", URL: "/api/pat/introspect", Header: with(token), Body: []byte(`{"token":"x"}`)}, 403, "INSUFFICIENT_PERMISSIONS"},
	} {
		answer := a.Requests(t, c.message)
		if answer.Status != c.status || !strings.Contains(string(answer.Body), c.says) || answer.StatusText != http.StatusText(c.status) ||
			answer.Header.Get("Content-Type") == "" || answer.Header.Get("Connection") != "" {
			t.Errorf("%s: %d %s %v %.300s", name, answer.Status, answer.StatusText, answer.Header, answer.Body)
		}
	}
}

func TestCallsInBytes(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	var calls atomic.Int64
	a := s.agent(identity.Fetchai)
	token := a.Agrees(t, gatetest.Searching)
	s.Upstream = func(w http.ResponseWriter, _ *http.Request) { calls.Add(1); fmt.Fprint(w, `{"lamps":1}`) }
	for name, c := range map[string]struct{ bytes, want string }{
		"a call":                     {searchCall(token), `{"lamps":1}`},
		"no PAT":                     {`{"intent_uid": "shop.example:search:v1", "parameters": {"query": "lamp"}}`, "MISSING_TOKEN"},
		"another's":                  {searchCall(s.Agreed("agent-2").Token), "INVALID_TOKEN"},
		"a malformed token":          {searchCall("x"), "INVALID_TOKEN"},
		"out of scope":               {strings.Replace(searchCall(token), "search", "order", 1), "SCOPE_EXCEEDED"},
		"wrong parameters":           {strings.Replace(searchCall(token), `"lamp"`, "1", 1), "INVALID_PARAMETER"},
		"no parameters":              {fmt.Sprintf(`{"intent_uid": "shop.example:search:v1", "parameters": {}, "pat": %q}`, token), "MISSING_PARAMETER"},
		"unknown intent":             {strings.Replace(searchCall(token), "search", "sell", 1), "INTENT_NOT_FOUND"},
		"an unknown member":          {fmt.Sprintf(`{"x": 1, "intent_uid": "shop.example:search:v1", "parameters": {}, "pat": %q}`, token), "MALFORMED_REQUEST"},
		"a PAT that is not a string": {`{"pat": 1}`, "MALFORMED_REQUEST"},
		"a key that is not a string": {`{"idempotency_key": {}}`, "MALFORMED_REQUEST"},
		"a key too long":             {fmt.Sprintf(`{"idempotency_key": %q, "pat": %q}`, strings.Repeat("k", 129), token), "MALFORMED_REQUEST"},
		"more than allowed":          {strings.Replace(searchCall(token), "lamp", strings.Repeat("l", 1<<20), 1), "BODY_TOO_LARGE"},
	} {
		answer := a.Calls(t, c.bytes)
		if !strings.HasPrefix(answer, `{"error":`) && answer != c.want || strings.HasPrefix(answer, `{"error":`) && refusal(answer) != c.want {
			t.Errorf("%s: %.300s", name, answer)
		}
	}
	if calls.Load() != 1 {
		t.Errorf("%d calls reached the service, want 1", calls.Load())
	}
	for name, bytes := range map[string]string{"not JSON": "hello", "a list": "[]", "nothing": "", "a duplicate member": `{"pat":"a","pat":"b"}`} {
		a.Start(t, &protocol.Default, protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte(bytes)})
		m, ok := a.Next(t).Content.(protocol.DefaultMessage)
		if !ok || m.Performative != protocol.DefaultError || m.Code != protocol.CodeInvalidMessage {
			t.Errorf("%s: %+v", name, m)
		}
	}
	s.Upstream = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	if answer := a.Calls(t, searchCall(token)); refusal(answer) != "UPSTREAM_ERROR" {
		t.Error(answer)
	}
}

// A message that is repeated after its dialogue was removed gets the same reply, and is not executed again.
func TestCallIsExecutedOnce(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	var calls atomic.Int64
	s.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"call":%d}`, calls.Add(1)) }
	a := s.agent(identity.Fetchai)
	token := a.Agrees(t, gatetest.Searching)
	request := protocol.HTTPMessage{
		Performative: protocol.HTTPRequest, Method: "POST", URL: "/api/intents/execute", Body: []byte(fmt.Sprintf(
			`{"intent_uid": %q, "parameters": {"query": "lamp"}}`, gatetest.Searching)),
		Header: http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}},
	}
	e := a.Start(t, &protocol.HTTP, request)
	first, _ := a.Next(t).Content.(protocol.HTTPMessage)
	s.line.Send(t, e)
	again := s.line.Next(t, a.Address())
	m, err := wire.DecodeMessage(again.Message)
	s.Must(err)
	c, err := protocol.HTTP.Decode(m.Content)
	s.Must(err)
	second, _ := c.(protocol.HTTPMessage)
	if string(first.Body) != `{"call":1}` || string(second.Body) != `{"call":1}` || second.Header.Get("Idempotency-Replayed") != "true" ||
		first.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("got %s %s %v", first.Body, second.Body, second.Header)
	}
	keyed := strings.Replace(searchCall(token), `"pat"`, `"idempotency_key": "mine", "pat"`, 1)
	if one, two := a.Calls(t, keyed), a.Calls(t, keyed); one != two || one != `{"call":2}` {
		t.Errorf("got %s %s", one, two)
	}
	if one, two := a.Calls(t, searchCall(token)), a.Calls(t, searchCall(token)); one != `{"call":3}` || two != `{"call":4}` {
		t.Errorf("two dialogues are two calls: %s %s; want %q, %q", one, two, `{"call":3}`, `{"call":4}`)
	}
	e = a.Start(t, &protocol.Default, protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte(searchCall(token))})
	answered := s.line.Next(t, a.Address())
	for range 2 {
		s.line.Send(t, e)
		if again := s.line.Next(t, a.Address()); !bytes.Equal(again.Message, answered.Message) || calls.Load() != 5 {
			t.Errorf("%q, and at first %q; %d calls", again.Message, answered.Message, calls.Load())
		}
	}
}

// A call may request its charge and its remaining limits with the output.
func TestReplyHasChargeAndLimits(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	token := a.Agrees(t, gatetest.Ordering)
	request := fmt.Sprintf(`{"intent_uid": %q, "parameters": {"product": "lamp"}, "accept": "application/uim+json", "pat": %q}`,
		gatetest.Ordering, token)
	var answer struct {
		Status string
		Data   map[string]any
		Meta   struct {
			Charge    struct{ ID, State string }
			RateLimit struct{ Remaining *int } `json:"rate_limit"`
		}
	}
	text := a.Calls(t, request)
	s.Must(json.Unmarshal([]byte(text), &answer))
	if answer.Status != "success" || answer.Data["ok"] != true || answer.Meta.Charge.State != "captured" || answer.Meta.Charge.ID == "" ||
		answer.Meta.RateLimit.Remaining == nil {
		t.Error(text)
	}
	if text := a.Calls(t, strings.Replace(request, "uim+json", "xml", 1)); refusal(text) != "MALFORMED_REQUEST" {
		t.Error(text)
	}
}

// If an output is too long for an envelope, the call was executed and charged nevertheless: the reply reports that.
func TestReplyTooLongForEnvelope(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	s.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"long":"%s"}`, strings.Repeat("x", 4<<20))
	}
	a := s.agent(identity.Fetchai)
	answer := a.Calls(t, searchCall(a.Agrees(t, gatetest.Searching)))
	if refusal(answer) != "RESPONSE_INVALID" || !strings.Contains(answer, `"outcome":"done"`) ||
		strings.Contains(answer, "Nothing was charged") {
		t.Errorf("got %.500s", answer)
	}
}
