package bindings_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	official "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A gateTransport sends every request to the gateway of a test, with a token.
type gateTransport struct {
	to    string
	token string
}

func (t gateTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(t.to)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Host = to.Host
	if t.token != "" {
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestOfficialGoClient uses a2a-go from the card to the task, with both bindings.
func TestOfficialGoClient(t *testing.T) {
	for _, protocol := range []official.TransportProtocol{official.TransportProtocolJSONRPC, official.TransportProtocolHTTPJSON} {
		t.Run(string(protocol), func(t *testing.T) {
			g := gatetest.New(t, "", func(g *gatetest.Gate) { g.Write("agents.json", agents) })
			g.Upstream = a2aEchoing
			hc := &http.Client{Transport: gateTransport{g.URL, g.Agreed("agent-1").Token}}
			card, err := agentcard.NewResolver(&http.Client{Transport: gateTransport{to: g.URL}}).Resolve(t.Context(), "http://127.0.0.1:8080")
			g.Must(err)
			if len(card.Skills) != 2 || len(card.Signatures) != 2 || !card.Capabilities.Streaming {
				t.Errorf("got %+v", card)
			}
			client := clientOf(g, card, protocol, hc)
			useOfficialClient(g, client)
			refusedOfficially(g, client, clientOf(g, card, protocol, &http.Client{Transport: gateTransport{to: g.URL}}))
		})
	}
}

func clientOf(g *gatetest.Gate, card *official.AgentCard, protocol official.TransportProtocol, hc *http.Client) *a2aclient.Client {
	g.Helper()
	client, err := a2aclient.NewFromCard(g.Context(), card, a2aclient.WithConfig(a2aclient.Config{
		PreferredTransports: []official.TransportProtocol{protocol},
	}), a2aclient.WithJSONRPCTransport(hc), a2aclient.WithRESTTransport(hc))
	g.Must(err)
	return client
}

// callOf returns a message that calls an intent.
func callOf(intent string, parameters map[string]any) *official.SendMessageRequest {
	m := official.NewMessage(official.MessageRoleUser, official.NewDataPart(map[string]any{"intent_uid": intent, "parameters": parameters}))
	m.ContextID = "talk"
	return &official.SendMessageRequest{Message: m}
}

func useOfficialClient(g *gatetest.Gate, client *a2aclient.Client) {
	g.Helper()
	answer, err := client.SendMessage(g.Context(), callOf(gatetest.Ordering, map[string]any{"product": "lamp"}))
	g.Must(err)
	task, ok := answer.(*official.Task)
	if !ok || task.Status.State != official.TaskStateCompleted || len(task.Artifacts) != 1 || task.Status.Timestamp == nil {
		g.Fatalf("got %+v", answer)
	}
	if data, ok := task.Artifacts[0].Parts[0].Data().(map[string]any); !ok || data["product"] != "lamp" {
		g.Errorf("got %+v", task.Artifacts[0].Parts[0])
	}
	reply, err := client.GetTask(g.Context(), &official.GetTaskRequest{ID: task.ID})
	g.Must(err)
	if reply.ID != task.ID || reply.Status.State != official.TaskStateCompleted || reply.ContextID != "talk" {
		g.Errorf("got %+v; want ID %v, Status.State %v and ContextID %q", reply, task.ID, official.TaskStateCompleted, "talk")
	}
	var seen []string
	for event, err := range client.SendStreamingMessage(g.Context(), callOf(gatetest.Searching, map[string]any{"query": "desk"})) {
		g.Must(err)
		switch e := event.(type) {
		case *official.Task:
			seen = append(seen, string(e.Status.State))
		case *official.TaskArtifactUpdateEvent:
			seen = append(seen, "artifact")
		case *official.TaskStatusUpdateEvent:
			seen = append(seen, string(e.Status.State))
		}
	}
	if got := strings.Join(seen, " "); got != "TASK_STATE_WORKING artifact TASK_STATE_COMPLETED" {
		g.Errorf("the stream has %s, want %q", got, "TASK_STATE_WORKING artifact TASK_STATE_COMPLETED")
	}
	list, err := client.ListTasks(g.Context(), &official.ListTasksRequest{ContextID: "talk", PageSize: 1})
	g.Must(err)
	if len(list.Tasks) != 1 || list.TotalSize != 2 || list.NextPageToken == "" {
		g.Errorf("got %+v", list)
	}
	next := &official.ListTasksRequest{ContextID: "talk", PageToken: list.NextPageToken, IncludeArtifacts: true}
	list, err = client.ListTasks(g.Context(), next)
	g.Must(err)
	if len(list.Tasks) != 1 || list.NextPageToken != "" || len(list.Tasks[0].Artifacts) != 1 {
		g.Errorf("got %+v; want Tasks of length 1, NextPageToken empty and Tasks[0].Artifacts of length 1", list)
	}
	text := &official.SendMessageRequest{Message: official.NewMessage(official.MessageRoleUser, official.NewTextPart("what can you order?"))}
	answer, err = client.SendMessage(g.Context(), text)
	g.Must(err)
	if m, ok := answer.(*official.Message); !ok || !strings.Contains(m.Parts[0].Text(), gatetest.Ordering) {
		g.Errorf("got %+v", answer)
	}
}

func refusedOfficially(g *gatetest.Gate, client, stranger *a2aclient.Client) {
	g.Helper()
	answer, err := client.SendMessage(g.Context(), callOf(gatetest.Ordering, map[string]any{"product": "none"}))
	g.Must(err)
	if task, ok := answer.(*official.Task); !ok || task.Status.State != official.TaskStateFailed || task.Status.Message == nil {
		g.Errorf("got %+v", answer)
	}
	_, err = client.SendMessage(g.Context(), callOf(gatetest.Ordering, map[string]any{}))
	if !errors.Is(err, official.ErrInvalidParams) {
		g.Errorf("wrong parameters: %v, want %v", err, official.ErrInvalidParams)
	}
	checkError(g, err, "MISSING_PARAMETER", "UIM-VAL-001")
	if _, err := client.GetTask(g.Context(), &official.GetTaskRequest{ID: "none"}); !errors.Is(err, official.ErrTaskNotFound) {
		g.Errorf("no task: %v, want %v", err, official.ErrTaskNotFound)
	}
	for _, err := range client.SubscribeToTask(g.Context(), &official.SubscribeToTaskRequest{ID: "none"}) {
		if !errors.Is(err, official.ErrTaskNotFound) {
			g.Errorf("subscribing to no task: %v, want %v", err, official.ErrTaskNotFound)
		}
	}
	if _, err := client.GetExtendedAgentCard(g.Context(), &official.GetExtendedAgentCardRequest{}); err == nil {
		g.Error("the gateway returned an extended card")
	}
	_, err = stranger.SendMessage(g.Context(), callOf(gatetest.Ordering, nil))
	if err == nil {
		g.Error("a client without a token got a response")
	}
	if _, read := errors.AsType[*official.Error](err); read { // with JSON-RPC the client does not read the body of a 401
		checkError(g, err, "MISSING_TOKEN", "UIM-AUT-003")
	}
}

// checkError checks the metadata of an error that the official client returned.
func checkError(g *gatetest.Gate, err error, reason, number string) {
	g.Helper()
	reply, ok := errors.AsType[*official.Error](err)
	if !ok {
		g.Fatalf("%s: the error is %v", reason, err)
	}
	metadata, _ := reply.ErrorInfo().Value["metadata"].(map[string]string)
	if metadata["reason"] != reason || metadata["uim_code"] != number || metadata["suggestion"] == "" {
		g.Errorf("%s: the client has the metadata %v", reason, metadata)
	}
}
