package agent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/fetch"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A doorStub answers an agent instead of the gateway's doors, with the given answers in turn, and records the messages.
type doorStub struct {
	mu      sync.Mutex
	answers []func(id string) *http.Response
	card    string // replaces the agent card; empty: the gateway's
	sent    []sentMessage
	leaked  []string // other hosts that received a PAT
}

type sentMessage struct {
	id, key, messageID string
}

// sentID is replaced in an answer by the id of the message.
const sentID = "SENT-ID"

func says(status int, kind, body string, header ...string) func(string) *http.Response {
	return func(id string) *http.Response {
		h := http.Header{"Content-Type": {kind}}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{
			StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(strings.ReplaceAll(body, sentID, id))), ProtoMajor: 1, ProtoMinor: 1,
		}
	}
}

func (s *doorStub) wrap(before func(http.RoundTripper) http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		next = before(next)
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if r.URL.Host != published && r.Header.Get("Authorization") != "" {
				s.leaked = append(s.leaked, r.URL.Host)
			}
			switch {
			case r.URL.Path == "/.well-known/agent-card.json" && s.card != "":
				answer := says(http.StatusOK, "application/json", s.card)("")
				answer.Request = r
				return answer, nil
			case r.URL.Path != "/mcp" && !strings.HasPrefix(r.URL.Path, "/a2a") || len(s.answers) == 0:
				return next.RoundTrip(r)
			}
			var message struct {
				ID     string
				Params struct {
					Meta    map[string]any `json:"_meta"`
					Message struct{ MessageID string }
				}
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			if err := json.NewDecoder(bytes.NewReader(body)).Decode(&message); err != nil {
				return nil, err
			}
			key, _ := message.Params.Meta["Idempotency-Key"].(string)
			if key == "" {
				key = r.Header.Get("Idempotency-Key")
			}
			s.sent = append(s.sent, sentMessage{message.ID, key, message.Params.Message.MessageID})
			answer := s.answers[0](message.ID)
			s.answers = s.answers[1:]
			if answer == nil { // the connection breaks after the request was sent
				httptrace.ContextClientTrace(r.Context()).WroteHeaders()
				return nil, io.ErrUnexpectedEOF
			}
			answer.Request = r
			return answer, nil
		})
	}
}

// withStub returns a service whose doors a doorStub replaces.
func withStub(t *testing.T, change func(*agent.Options), answers ...func(string) *http.Response) (*agent.Service, *doorStub) {
	t.Helper()
	g := gatetest.New(t, "")
	upstreamSays(g, http.StatusOK, `{"order":"o-1"}`)
	o := gateOptions(t, g)
	s := &doorStub{answers: answers}
	o.Wrap, o.MaxAttempts = s.wrap(o.Wrap), 4
	if change != nil {
		change(&o)
	}
	return agreed(t, o, "http://"+published), s
}

const (
	asJSON   = "application/json"
	response = `{"jsonrpc":"2.0","id":"` + sentID + `","result":`
	goodTool = response + `{"structuredContent":{"order":"o-1"},"content":[]}}`
	goodTask = response + `{"task":{"status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"parts":[{"data":{"order":"o-1"}}]}]}}}`
)

var order = map[string]any{"product": "lamp"}

// TestHostileDoors checks that the outcome is unknown after an unreadable response, and that the client does not repeat the call.
func TestHostileDoors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		way    agent.Via
		answer func(string) *http.Response
	}{
		"the id of another call":      {agent.ViaMCP, says(200, asJSON, strings.ReplaceAll(goodTool, sentID, "other"))},
		"two results":                 {agent.ViaMCP, says(200, "text/event-stream", strings.Repeat("data: "+goodTool+"\n\n", 2))},
		"no result":                   {agent.ViaMCP, says(200, "text/event-stream", `data: {"jsonrpc":"2.0","method":"notifications/x"}`+"\n\n")},
		"a web page":                  {agent.ViaMCP, says(200, "text/html", "<p>\x1b[31mHello</p>")},
		"nothing":                     {agent.ViaMCP, says(202, asJSON, "")},
		"a task of another call":      {agent.ViaA2A, says(200, asJSON, strings.ReplaceAll(goodTask, sentID, "other"))},
		"a message instead of a task": {agent.ViaA2A, says(200, asJSON, response+`{"message":{"parts":[{"text":"Hi"}]}}}`)},
		"a task without an end":       {agent.ViaA2A, says(200, asJSON, response+`{"task":{"status":{"state":"TASK_STATE_AUTH_REQUIRED"}}}}`)},
		"a result and an error":       {agent.ViaA2A, says(200, asJSON, strings.TrimSuffix(goodTask, "}")+`,"error":{"code":1,"message":"x"}}`)},
		"failed without a reason":     {agent.ViaA2A, says(200, asJSON, response+`{"task":{"status":{"state":"TASK_STATE_FAILED"}}}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, stub := withStub(t, nil, tt.answer, tt.answer)
			_, err := s.Execute(t.Context(), gatetest.Ordering, order, agent.ExecuteOptions{Via: tt.way})
			refused, ok := errors.AsType[*agent.Error](err)
			if !ok || refused.Outcome != "unknown" || len(stub.sent) != 1 || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%v after %d messages; want an error with the outcome unknown after one", err, len(stub.sent))
			}
			if named := name == "failed without a reason"; errors.Is(err, agent.ErrAnswer) == named {
				t.Errorf("got %v", err)
			}
		})
	}
}

// running holds the responses while the first attempt is still in progress.
var running = map[agent.Via]string{
	agent.ViaMCP: response + `{"isError":true,"content":[{"type":"text","text":"{\"error\":{\"code\":\"CONFLICT\",\"message\":\"Wait.\",` +
		`\"details\":{\"reason\":\"IDEMPOTENCY_IN_PROGRESS\"}}}"}]}}`,
	agent.ViaA2A: response + `{"task":{"status":{"state":"TASK_STATE_WORKING"}}}}`,
}

// TestRetriesThroughADoor checks that each attempt is a new message under the same idempotency key.
func TestRetriesThroughADoor(t *testing.T) {
	t.Parallel()
	gone := func(string) *http.Response { return nil }
	busy := says(http.StatusServiceUnavailable, asJSON, `{"error":{"code":"SERVICE_UNAVAILABLE","message":"Busy."}}`, "Retry-After", "1")
	for way, good := range map[agent.Via]string{agent.ViaMCP: goodTool, agent.ViaA2A: goodTask} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			s, stub := withStub(t, nil, busy, gone, says(200, asJSON, running[way]), says(200, asJSON, good))
			got, err := s.Execute(t.Context(), gatetest.Ordering, order, agent.ExecuteOptions{Via: way})
			if err != nil || got.Attempts != 4 || len(stub.sent) != 4 {
				t.Fatalf("got %+v, %v, %+v; want no error, Attempts 4 and length 4", got, err, stub.sent)
			}
			ids := map[string]bool{}
			for _, m := range stub.sent {
				ids[m.id] = true
				if m.key == "" || m.key != got.IdempotencyKey || way == agent.ViaA2A && m.messageID != m.id {
					t.Errorf("%+v; want the key %s", m, got.IdempotencyKey)
				}
			}
			if len(ids) != 4 {
				t.Errorf("got %v, want length 4", ids)
			}
		})
	}
}

func TestDoorResponseLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2<<10)
	small := func(o *agent.Options) { o.MaxAnswer = 1 << 10 }
	for name, body := range map[string]string{
		"size of the whole response": response + `{"structuredContent":{},"content":[{"type":"text","text":"` + strings.Repeat("x", 400<<10) + `"}]}}`,
		"size of the output":         response + `{"structuredContent":{"a":"` + long + `"}}}`,
	} {
		s, stub := withStub(t, small, says(200, asJSON, body))
		_, err := s.Execute(t.Context(), gatetest.Ordering, order, agent.ExecuteOptions{Via: agent.ViaMCP})
		if failure, ok := errors.AsType[*fetch.Error](err); !ok || !errors.Is(err, fetch.ErrTooLarge) || !failure.Sent || len(stub.sent) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPATsStayWithTheService(t *testing.T) {
	t.Parallel()
	s, stub := withStub(t, nil, says(http.StatusTemporaryRedirect, asJSON, "", "Location", "http://127.0.0.1:1/mcp"))
	_, err := s.Execute(t.Context(), gatetest.Ordering, order, agent.ExecuteOptions{Via: agent.ViaMCP})
	if err == nil || !strings.Contains(err.Error(), "redirects") || len(stub.sent) != 1 || stub.leaked != nil {
		t.Errorf("got %v, %v", err, stub.leaked)
	}
	s, stub = withStub(t, nil)
	stub.card = `{"supportedInterfaces":[{"url":"http://127.0.0.1:1/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`
	_, err = s.Execute(t.Context(), gatetest.Ordering, order, agent.ExecuteOptions{Via: agent.ViaA2A})
	if !errors.Is(err, agent.ErrNoDoor) || stub.leaked != nil {
		t.Errorf("got %v, %v; want %v, nil", err, stub.leaked, agent.ErrNoDoor)
	}
}

// TestA2AOverHTTPJSON calls the gateway over HTTP+JSON, the second interface on its card.
func TestA2AOverHTTPJSON(t *testing.T) {
	t.Parallel()
	s, stub := withStub(t, nil)
	stub.card = `{"supportedInterfaces":[{"url":"http://` + published + `/a2a/v1","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`
	o := agent.ExecuteOptions{Via: agent.ViaA2A, IdempotencyKey: "order-1"}
	got, err := s.Execute(t.Context(), gatetest.Ordering, order, o)
	if err != nil || string(got.Raw) != `{"order":"o-1"}` || got.Charge == nil || got.Charge.State != "captured" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got, err = s.Execute(t.Context(), gatetest.Ordering, order, o); err != nil || !got.Replayed {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = s.Execute(t.Context(), gatetest.Ordering, map[string]any{}, agent.ExecuteOptions{Via: agent.ViaA2A})
	refused, ok := errors.AsType[*agent.Error](err)
	if !ok || !errors.Is(err, agent.ErrMissingParameter) || len(refused.Violations) != 1 || refused.Status != http.StatusBadRequest {
		t.Errorf("got %v", err)
	}
}

func TestNoSuchDoor(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+
		"doors: {mcp: {enabled: false}, a2a: {enabled: false}}}\n")
	s := agreed(t, gateOptions(t, g), "http://"+published)
	for way, want := range map[agent.Via]error{
		agent.ViaMCP: agent.ErrNoDoor, agent.ViaA2A: agent.ErrNoDoor, "carrier-pigeon": agent.ErrOptions,
	} {
		_, err := s.Execute(t.Context(), gatetest.Searching, map[string]any{"query": "lamp"}, agent.ExecuteOptions{Via: way})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", way, err, want)
		}
	}
}
