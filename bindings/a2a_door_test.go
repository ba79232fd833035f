package bindings_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// An rpcAnswer has the members of a JSON-RPC response that these tests check.
type rpcAnswer struct {
	Result struct {
		Task                     taskAnswer
		ID                       string
		Status                   struct{ State string }
		StatusUpdate, TaskUpdate struct{ Status struct{ State string } }
	}
	Error struct{ Code int }
}

type taskAnswer struct {
	ID     string
	Status struct {
		State   string
		Message struct{ Parts []struct{ Text string } }
	}
}

// a2aMessage returns a JSON-RPC request whose message calls an intent. more are further members of the message.
func a2aMessage(method, id, intent, parameters string, more ...string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"message":{"messageId":%q,"role":"ROLE_USER",`+
		`"parts":[{"data":{"intent_uid":%q,"parameters":%s}}]%s}}}`, method, id, intent, parameters, strings.Join(more, ""))
}

func post(g *gatetest.Gate, ctx context.Context, token, body string) *http.Request {
	g.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/a2a", strings.NewReader(body))
	g.Must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func rpc(g *gatetest.Gate, token, body string) (a rpcAnswer) {
	g.Helper()
	answer := g.Send(post(g, g.Context(), token, body))
	if err := json.Unmarshal(answer.Body, &a); err != nil {
		g.Fatalf("%d %s: %v", answer.Status, answer.Body, err)
	}
	return a
}

// a2aBlocking makes the upstream block. started receives a value for each call, and closing goOn lets the upstream answer.
func a2aBlocking(g *gatetest.Gate) (started chan struct{}, goOn chan struct{}) {
	started, goOn = make(chan struct{}, 16), make(chan struct{})
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		started <- struct{}{}
		<-goOn
		_, _ = io.WriteString(w, `{"order": "o-1"}`)
	}
	return started, goOn
}

func TestRepeatedMessageReturnsSameTask(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	started, goOn := a2aBlocking(g)
	ask := a2aMessage("SendMessage", "m1", gatetest.Ordering, `{"product":"lamp"}`)
	var first rpcAnswer
	var all sync.WaitGroup
	all.Go(func() { first = rpc(g, a.Token, ask) })
	<-started
	again := rpc(g, a.Token, ask)
	if again.Result.Task.Status.State != "TASK_STATE_WORKING" {
		t.Errorf("got %+v, want Result.Task.Status.State %q", again, "TASK_STATE_WORKING")
	}
	stream, err := http.DefaultTransport.RoundTrip(post(g, t.Context(), a.Token,
		`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"`+again.Result.Task.ID+`"}}`))
	g.Must(err)
	defer func() { _ = stream.Body.Close() }()
	events := bufio.NewScanner(stream.Body)
	if !events.Scan() || !strings.Contains(events.Text(), "TASK_STATE_WORKING") {
		t.Errorf("got %s %v", events.Text(), events.Err())
	}
	close(goOn)
	var rest strings.Builder
	for events.Scan() {
		rest.WriteString(events.Text())
	}
	if s := rest.String(); !strings.Contains(s, `"artifactUpdate"`) || !strings.Contains(s, "TASK_STATE_COMPLETED") || events.Err() != nil {
		t.Errorf("got %s %v", s, events.Err())
	}
	all.Wait()
	after := rpc(g, a.Token, ask)
	if id := again.Result.Task.ID; first.Result.Task.ID != id || after.Result.Task.ID != id ||
		after.Result.Task.Status.State != "TASK_STATE_COMPLETED" || len(started) != 0 {
		t.Errorf("%+v, %+v, %d more calls", first, after, len(started))
	}
}

func TestDisconnectDoesNotCancel(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	started, goOn := a2aBlocking(g)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := http.DefaultTransport.RoundTrip(post(g, ctx, a.Token, a2aMessage("SendStreamingMessage", "m1", gatetest.Ordering, `{"product":"x"}`)))
	g.Must(err)
	<-started
	cancel()
	_ = resp.Body.Close()
	close(goOn)
	g.Executor.Drain(t.Context()) // waits for the call to end
	task := rpc(g, a.Token, a2aMessage("SendMessage", "m1", gatetest.Ordering, `{"product":"x"}`))
	if task.Result.Task.Status.State != "TASK_STATE_COMPLETED" || len(started) != 0 {
		t.Errorf("got %+v", task)
	}
}

// A client that does not read a long response holds only its own connection.
func TestStreamWithStalledReader(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	long := `{"text":"` + strings.Repeat("long ", 900_000) + `"}`
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, long) }
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.URL, "http://"))
	g.Must(err)
	defer func() { _ = conn.Close() }()
	g.Must(post(g, t.Context(), a.Token, a2aMessage("SendStreamingMessage", "m1", gatetest.Searching, `{"query":"x"}`)).Write(conn))
	_, err = conn.Read(make([]byte, 1)) // the call has started
	g.Must(err)
	g.Executor.Drain(t.Context())
	task := rpc(g, a.Token, a2aMessage("SendMessage", "m1", gatetest.Searching, `{"query":"x"}`))
	if task.Result.Task.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("got %+v, want Result.Task.Status.State %q", task, "TASK_STATE_COMPLETED")
	}
}

func TestProofOfKeyInMetadata(t *testing.T) {
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n")
	a := g.Agreed("agent-1")
	refused := rpc(g, a.Token, a2aMessage("SendMessage", "m1", gatetest.Ordering, `{"product":"x"}`))
	if s := refused.Result.Task.Status; s.State != "TASK_STATE_REJECTED" || !strings.Contains(s.Message.Parts[0].Text, "proof of key") {
		t.Errorf("got %+v", refused)
	}
	parameters, err := strictjson.DecodeObject([]byte(`{"product":"x"}`))
	g.Must(err)
	digest, err := pat.ExecuteDigest(gatetest.Ordering, parameters)
	g.Must(err)
	proof, err := pat.SignProof(a.Key, pat.ProofBinding{Audience: "shop.example", TokenID: g.TokenID(a), Digest: digest}, g.Now())
	g.Must(err)
	proved := a2aMessage("SendMessage", "m1", gatetest.Ordering, `{"product":"x"}`,
		`,"metadata":{"https://uimprotocol.com/a2a/v1":{"proof":"`+proof+`"}}`)
	if done := rpc(g, a.Token, proved); done.Result.Task.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("got %+v, want Result.Task.Status.State %q", done, "TASK_STATE_COMPLETED")
	}
	other := strings.Replace(proved, `"m1"`, `"m2"`, 1) // the proof was already used
	if replayed := rpc(g, a.Token, other); replayed.Result.Task.Status.State != "TASK_STATE_REJECTED" {
		t.Errorf("got %+v, want Result.Task.Status.State %q", replayed, "TASK_STATE_REJECTED")
	}
}

func TestHugeRequests(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	huge := strings.Repeat("x", 1<<19)
	if got := rpc(g, a.Token, `{"jsonrpc":"2.0","id":1,"method":"`+huge+`"}`); got.Error.Code != -32601 {
		t.Errorf("got %+v, want Error.Code %v", got, -32601)
	}
	if got := rpc(g, a.Token, a2aMessage("SendMessage", huge, gatetest.Searching, `{}`)); got.Error.Code != -32602 {
		t.Errorf("got %+v, want Error.Code %v", got, -32602)
	}
	if got := rpc(g, a.Token, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"`+huge+`"}}`); got.Error.Code != -32602 {
		t.Errorf("got %+v, want Error.Code %v", got, -32602)
	}
	if answer := g.Send(post(g, t.Context(), a.Token, strings.Repeat("[", 3<<20))); answer.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d %s; want %v", answer.Status, answer.Body, http.StatusRequestEntityTooLarge)
	}
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	if got := rpc(g, a.Token, a2aMessage("SendMessage", "m", gatetest.Searching, deep)); got.Error.Code != -32700 {
		t.Errorf("got %+v, want Error.Code %v", got, -32700)
	}
}
