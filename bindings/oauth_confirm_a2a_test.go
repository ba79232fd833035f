package bindings_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	fronttest "github.com/uimgate/uimgate/internal/test/front"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An a2aTask is a task in an A2A response.
type a2aTask struct {
	ID        string
	ContextID string
	Status    struct {
		State   string
		Message struct{ Parts []struct{ Text string } }
	}
	Artifacts []any
}

// a2a calls an A2A operation with the client's token.
func (c *confirmGate) a2a(method string, params map[string]any) (t a2aTask, code int) {
	c.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	c.Must(err)
	got := c.Post("/a2a", string(body), "Authorization", "Bearer "+c.client.Token, "Content-Type", "application/json", "A2A-Version", "1.0")
	var a struct {
		Result json.RawMessage
		Error  struct{ Code int }
	}
	c.Must(json.Unmarshal(bytes.TrimPrefix(got.Body, []byte("data: ")), &a))
	if a.Error.Code != 0 {
		return t, a.Error.Code
	}
	outer := struct{ Task *a2aTask }{&t}
	c.Must(json.Unmarshal(a.Result, &outer))
	if t.ID == "" {
		c.Must(json.Unmarshal(a.Result, &t))
	}
	return t, 0
}

// sendOrder sends the order of a product as a message. more are members of the message.
func (c *confirmGate) sendOrder(id, product string, more map[string]any) (a2aTask, int) {
	c.Helper()
	m := map[string]any{"messageId": id, "role": "ROLE_USER", "contextId": "talk", "parts": []any{map[string]any{
		"data": map[string]any{"intent_uid": gatetest.Ordering, "parameters": map[string]any{"product": product}},
	}}}
	maps.Copy(m, more)
	return c.a2a("SendMessage", map[string]any{"message": m})
}

const (
	a2aWaiting   = "TASK_STATE_INPUT_REQUIRED"
	a2aCompleted = "TASK_STATE_COMPLETED"
	a2aRejected  = "TASK_STATE_REJECTED"
)

// page returns the path of the page on which the person confirms a task.
func (c *confirmGate) pageOf(t a2aTask) string {
	c.Helper()
	for _, part := range t.Status.Message.Parts {
		if _, id, found := strings.Cut(part.Text, "/oauth/confirm?id="); found {
			id, _, _ = strings.Cut(id, " ")
			return "/oauth/confirm?id=" + id
		}
	}
	c.Fatalf("the task has no address: %+v", t)
	return ""
}

// A call that a person must confirm is a task that waits. A message with its taskId continues it once, under the same id.
func TestTaskWaitsForConfirmation(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	asked, _ := c.sendOrder("m1", "lamp", nil)
	if asked.Status.State != a2aWaiting || asked.ContextID != "talk" || asked.ID == "" {
		t.Fatalf("got %+v", asked)
	}
	for name, other := range map[string]func() (a2aTask, int){
		"the same message": func() (a2aTask, int) { return c.sendOrder("m1", "lamp", nil) },
		"another message":  func() (a2aTask, int) { return c.sendOrder("m2", "lamp", nil) },
		"with its taskId":  func() (a2aTask, int) { return c.sendOrder("m3", "lamp", map[string]any{"taskId": asked.ID}) },
		"read":             func() (a2aTask, int) { return c.a2a("GetTask", map[string]any{"id": asked.ID}) },
	} {
		if got, code := other(); got.ID != asked.ID || got.Status.State != a2aWaiting || got.ContextID != "talk" {
			t.Errorf("%s: %+v, error %d", name, got, code)
		}
	}
	if _, code := c.a2a("CancelTask", map[string]any{"id": asked.ID}); code != -32002 {
		t.Errorf("cancelled: error %d", code)
	}
	c.person.decide(c.pageOf(asked), "confirm")
	if _, code := c.sendOrder("m4", "lamp", map[string]any{"taskId": asked.ID, "contextId": "other"}); code != -32602 {
		t.Errorf("another context: error %d", code)
	}
	done, _ := c.sendOrder("m5", "another product", map[string]any{"taskId": asked.ID}) // the message does not change the call
	if done.ID != asked.ID || done.ContextID != "talk" || done.Status.State != a2aCompleted ||
		len(done.Artifacts) != 1 || c.served.Load() != 1 {
		t.Fatalf("got %+v, served %d", done, c.served.Load())
	}
	if again, _ := c.a2a("GetTask", map[string]any{"id": asked.ID}); again.Status.State != a2aCompleted {
		t.Errorf("got %+v", again)
	}
	if again, _ := c.sendOrder("m1", "lamp", nil); again.ID != asked.ID || again.Status.State != a2aCompleted {
		t.Errorf("the first message again: %+v", again)
	}
	if _, code := c.sendOrder("m6", "lamp", map[string]any{"taskId": asked.ID}); code != -32004 {
		t.Errorf("a message to a task that has ended: error %d", code)
	}
	if next, _ := c.sendOrder("m7", "lamp", nil); next.Status.State != a2aWaiting || next.ID == asked.ID || c.served.Load() != 1 {
		t.Errorf("the same order again: %+v, served %d", next, c.served.Load())
	}
}

// A confirmed task continues when its agent reads it, even through many requests at once: the call is made once.
func TestConfirmedTaskGoesOnOnce(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	asked, _ := c.sendOrder("m1", "lamp", nil)
	c.person.decide(c.pageOf(asked), "confirm")
	var all sync.WaitGroup
	var wrong atomic.Int64
	for i := range 20 {
		all.Go(func() {
			var got a2aTask
			var code int
			if i%2 == 0 {
				got, code = c.a2a("GetTask", map[string]any{"id": asked.ID})
			} else {
				got, code = c.sendOrder("m2", "lamp", map[string]any{"taskId": asked.ID})
			}
			if code == 0 && got.ID != asked.ID || code != 0 && code != -32004 {
				wrong.Add(1)
				t.Errorf("got %+v, error %d", got, code)
			}
		})
	}
	all.Wait()
	for end := (a2aTask{}); end.Status.State != a2aCompleted; { // the test times out if the task does not end
		end, _ = c.a2a("GetTask", map[string]any{"id": asked.ID})
	}
	if c.served.Load() != 1 {
		t.Errorf("served %d", c.served.Load())
	}
}

// A task ends if the person refuses the call, does not decide in time, or the client does not make the call in time. Other agents do not
// see it.
func TestWaitingTaskEnds(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	refused, _ := c.sendOrder("m1", "lamp", nil)
	c.person.decide(c.pageOf(refused), "refuse")
	late, _ := c.sendOrder("m2", "desk", nil)
	unused, _ := c.sendOrder("m3", "chair", nil)
	c.person.decide(c.pageOf(unused), "confirm")
	mine := c.client
	c.client, _, _ = c.spenderOf(c.browser(), "2", "month", "")
	for _, id := range []string{refused.ID, unused.ID, strings.ToUpper(unused.ID), "none"} {
		for _, method := range []string{"GetTask", "SubscribeToTask", "CancelTask"} {
			if _, code := c.a2a(method, map[string]any{"id": id}); code != -32001 {
				t.Errorf("another agent's %s: error %d", method, code)
			}
		}
		if _, code := c.sendOrder("m4", "chair", map[string]any{"taskId": id}); code != -32001 {
			t.Errorf("another agent's message: error %d", code)
		}
	}
	c.client = mine
	c.Later(10 * time.Minute)
	for name, task := range map[string]a2aTask{"refused": refused, "late": late, "unused": unused} {
		for _, read := range []func() (a2aTask, int){
			func() (a2aTask, int) { return c.a2a("GetTask", map[string]any{"id": task.ID}) },
			func() (a2aTask, int) { return c.sendOrder("m5", "lamp", map[string]any{"taskId": task.ID}) },
		} {
			if got, code := read(); got.Status.State != a2aRejected || got.ID != task.ID {
				t.Errorf("%s: %+v, error %d", name, got, code)
			}
		}
	}
	if c.served.Load() != 0 {
		t.Errorf("served %d", c.served.Load())
	}
}

// A confirmed task that is refused still waits, under the same id. It continues once the refusal no longer applies.
func TestRefusedTaskStillWaits(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	c.client, _, _ = c.spenderOf(c.person, "2", "month", "") // without credit
	asked, _ := c.sendOrder("m1", "lamp", nil)
	c.person.decide(c.pageOf(asked), "confirm")
	for name, read := range map[string]func() (a2aTask, int){
		"read":         func() (a2aTask, int) { return c.a2a("GetTask", map[string]any{"id": asked.ID}) },
		"by a message": func() (a2aTask, int) { return c.sendOrder("m2", "lamp", map[string]any{"taskId": asked.ID}) },
		"by a message that does not wait": func() (a2aTask, int) {
			return c.a2a("SendMessage", map[string]any{
				"configuration": map[string]any{"returnImmediately": true},
				"message": map[string]any{
					"messageId": "m3", "role": "ROLE_USER", "taskId": asked.ID, "parts": []any{map[string]any{"text": "go on"}},
				},
			})
		},
	} {
		got, code := read()
		parts := got.Status.Message.Parts
		if got.ID != asked.ID || got.ContextID != "talk" || got.Status.State != a2aWaiting || len(parts) == 0 ||
			!strings.Contains(parts[0].Text, "balance") {
			t.Errorf("%s: %+v, error %d", name, got, code)
		}
	}
	c.topUp(c.client, eur(1000))
	done, code := c.sendOrder("m4", "lamp", map[string]any{"taskId": asked.ID})
	if done.ID != asked.ID || done.Status.State != a2aCompleted || c.served.Load() != 1 {
		t.Errorf("got %+v, error %d, served %d", done, code, c.served.Load())
	}
}

// The stream of a confirmed task that is refused stays open, and sends the refusal once. The task continues when the agent has credit.
func TestStreamOfRefusedTaskGoesOn(t *testing.T) {
	t.Parallel()
	c := newConfirmGate(t, confirmed)
	c.client, _, _ = c.spenderOf(c.person, "2", "month", "") // without credit
	asked, _ := c.sendOrder("m1", "lamp", nil)
	c.person.decide(c.pageOf(asked), "confirm")
	body := `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"` + asked.ID + `"}}`
	r, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.URL+"/a2a", strings.NewReader(body))
	c.Must(err)
	r.Header = http.Header{"Authorization": {"Bearer " + c.client.Token}, "Content-Type": {"application/json"}, "A2a-Version": {"1.0"}}
	got, err := http.DefaultClient.Do(r)
	c.Must(err)
	defer got.Body.Close()
	var states []string
	for lines := bufio.NewScanner(got.Body); lines.Scan(); {
		var event struct {
			Result struct {
				Task, StatusUpdate *struct {
					Status struct {
						State   string
						Message struct{ Parts []struct{ Text string } }
					}
				}
			}
		}
		text, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found {
			continue
		}
		c.Must(json.Unmarshal([]byte(text), &event))
		if update := event.Result.StatusUpdate; update != nil {
			states = append(states, update.Status.State)
			if update.Status.State == a2aWaiting {
				if parts := update.Status.Message.Parts; len(parts) == 0 || !strings.Contains(parts[0].Text, "balance") {
					t.Errorf("got %s", text)
				}
				c.topUp(c.client, eur(1000))
			}
		}
	}
	if want := []string{a2aWaiting, "TASK_STATE_WORKING", a2aCompleted}; !slices.Equal(states, want) || c.served.Load() != 1 {
		t.Errorf("got %v, served %d; want %v and 1", states, c.served.Load(), want)
	}
}

// A refusal that is not about the call is an error, and leaves the task as it is.
func TestTaskWaitsWhileServiceIsStopped(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	asked, _ := c.sendOrder("m1", "lamp", nil)
	c.person.decide(c.pageOf(asked), "confirm")
	stop := pat.Stop{Service: "default", Kind: pat.StopIntent, Subject: gatetest.Ordering, At: c.Now()}
	_, err := c.Store.Stop(c.Context(), stop)
	c.Must(err)
	c.Must(c.View.Refresh(c.Context()))
	for name, read := range map[string]func() (a2aTask, int){
		"read":         func() (a2aTask, int) { return c.a2a("GetTask", map[string]any{"id": asked.ID}) },
		"by a message": func() (a2aTask, int) { return c.sendOrder("m2", "lamp", map[string]any{"taskId": asked.ID}) },
	} {
		if got, code := read(); code == 0 {
			t.Errorf("%s: %+v; want an error", name, got)
		}
	}
	_, err = c.Store.Resume(c.Context(), stop)
	c.Must(err)
	c.Must(c.View.Refresh(c.Context()))
	if done, code := c.sendOrder("m3", "lamp", map[string]any{"taskId": asked.ID}); done.ID != asked.ID || done.Status.State != a2aCompleted {
		t.Errorf("got %+v, error %d", done, code)
	}
}

// A process of an earlier release gives the record of a confirmed call an id that differs from that of its task.
func TestTaskOfCallWithOtherID(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	asked, _ := c.sendOrder("m1", "lamp", nil)
	c.person.decide(c.pageOf(asked), "confirm")
	id, err := uuid.Parse(asked.ID)
	c.Must(err)
	confirmation := base64.RawURLEncoding.EncodeToString(id[:])
	made, err := c.Store.Begin(c.Context(), store.BeginRequest{
		Execution: store.Execution{
			ID: uuid.NewString(), Service: "default", AgentID: c.client.ID, Intent: gatetest.Ordering, AgreementID: c.agreement(),
			IdempotencyKey: "a2a:m1", Fingerprint: "f", ContextID: "talk",
		},
		Nonce:      &store.Nonce{KeyID: "confirmation", ID: confirmation, Until: c.Now().Add(time.Hour)},
		Candidates: []store.Candidate{{Rule: "r"}}, Hold: time.Minute, KeyFor: time.Hour,
	})
	c.Must(err)
	c.Must(c.Store.UseConfirmation(c.Context(), "default", confirmation, made.Execution.ID))
	if got, code := c.a2a("GetTask", map[string]any{"id": asked.ID}); got.ID != asked.ID || got.Status.State != "TASK_STATE_WORKING" {
		t.Errorf("in progress: %+v, error %d", got, code)
	}
	_, err = c.Store.Settle(c.Context(), made, store.Settlement{State: store.Captured, Outcome: store.Done})
	c.Must(err)
	if got, code := c.a2a("GetTask", map[string]any{"id": asked.ID}); got.ID != asked.ID || got.Status.State != a2aCompleted {
		t.Errorf("at the end: %+v, error %d", got, code)
	}
	c.client, _, _ = c.spenderOf(c.browser(), "2", "month", "")
	if got, code := c.a2a("GetTask", map[string]any{"id": asked.ID}); code != -32001 {
		t.Errorf("another agent: %+v, error %d", got, code)
	}
	if c.served.Load() != 0 {
		t.Errorf("served %d", c.served.Load())
	}
}

// TestOfficialA2AClientConfirms uses @a2a-js/sdk: a waiting task continues by a message, by a read, and in its stream.
func TestOfficialA2AClientConfirms(t *testing.T) {
	t.Parallel()
	dir := bindtest.Node(t)
	for _, binding := range []string{"JSONRPC", "HTTP+JSON"} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			url, serve := fronttest.Public(t)
			c := newConfirmGate(t, strings.Replace(confirmed, "services:\n- {", "services:\n- {public_url: "+url+", ", 1))
			proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(c.Parse("")) }}
			serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/test/person" {
					proxy.ServeHTTP(w, r)
					return
				}
				address, err := io.ReadAll(r.Body)
				page := c.person.decide(c.path(string(address)), "confirm") //nolint:contextcheck // of the test
				if err != nil || !strings.Contains(string(page.Body), "You have confirmed") {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}))
			out := bindtest.Run(t, dir, "a2a-confirm.mjs", url, binding, c.client.Token, url+"/test/person")
			type task struct {
				ID        string
				Status    struct{ State int }
				Artifacts []any
			}
			var seen struct {
				Asked, Still, Continued, First, Second task
				Stream                                 []any
			}
			if err := json.Unmarshal(out, &seen); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if seen.Asked.ID == "" || len(seen.Asked.Artifacts) != 0 || seen.Still.ID != seen.Asked.ID || seen.Still.Status != seen.Asked.Status ||
				seen.Continued.ID != seen.Asked.ID || len(seen.Continued.Artifacts) != 1 || len(seen.First.Artifacts) != 1 {
				t.Errorf("by a message: %s", out)
			}
			if seen.Second.ID == seen.Asked.ID || len(seen.Second.Artifacts) != 1 {
				t.Errorf("by itself: %s", out)
			}
			stream, err := json.Marshal(seen.Stream)
			if err != nil || !strings.Contains(string(stream), "artifact") {
				t.Errorf("in a stream: %s", stream)
			}
			if c.served.Load() != 3 {
				t.Errorf("served %d", c.served.Load())
			}
		})
	}
}
