package bindings_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// twoEvents returns a gateway whose order is a stream of two events. The service sends the second one when goOn is closed.
func twoEvents(t *testing.T) (g *gatetest.Gate, goOn chan struct{}) {
	t.Helper()
	goOn = make(chan struct{})
	g = gatetest.New(t, "", func(g *gatetest.Gate) {
		g.Write("agents.json", strings.Replace(gatetest.AgentsFile, `"intent_name": "Order",`, `"intent_name": "Order", "stream": true,`, 1))
	})
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"n\":1}\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-goOn:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "data: {\"n\":2}\n\n")
	}
	return g, goOn
}

type update struct {
	Result struct {
		ArtifactUpdate *struct {
			Append, LastChunk bool
			Artifact          struct {
				ArtifactID string
				Parts      []struct{ Data json.RawMessage }
			}
		}
		StatusUpdate *struct{ Status struct{ State string } }
		Task         *struct{ ID string }
	}
}

func TestEventsOfTheServiceArriveOneByOne(t *testing.T) {
	t.Parallel()
	g, goOn := twoEvents(t)
	a := g.Agreed("agent-1")
	resp, err := http.DefaultTransport.RoundTrip(post(g, t.Context(), a.Token,
		a2aMessage("SendStreamingMessage", "m1", gatetest.Ordering, `{"product":"lamp"}`)))
	g.Must(err)
	defer func() { _ = resp.Body.Close() }()
	var id string
	var events, outputs, states []string
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		data, isData := strings.CutPrefix(in.Text(), "data: ")
		if !isData {
			continue
		}
		var u update
		g.Must(json.Unmarshal([]byte(data), &u))
		switch r := u.Result; {
		case r.Task != nil:
			id = r.Task.ID
		case r.StatusUpdate != nil:
			states = append(states, r.StatusUpdate.Status.State)
		case r.ArtifactUpdate.Artifact.ArtifactID == id:
			outputs = append(outputs, string(r.ArtifactUpdate.Artifact.Parts[0].Data))
		case r.ArtifactUpdate.Artifact.ArtifactID == id+"-events":
			if r.ArtifactUpdate.Append != (len(events) > 0) {
				t.Errorf("event %d has append %v", len(events)+1, r.ArtifactUpdate.Append)
			}
			if events = append(events, string(r.ArtifactUpdate.Artifact.Parts[0].Data)); len(events) == 1 {
				close(goOn)
			}
		}
	}
	if got := strings.Join(events, " "); got != `{"n":1} {"n":2}` {
		t.Errorf("the events are %s", got)
	}
	if got := strings.Join(outputs, " "); got != `{"events":[{"n":1},{"n":2}],"complete":true}` {
		t.Errorf("the output is %s", got)
	}
	if len(states) != 1 || states[0] != "TASK_STATE_COMPLETED" {
		t.Errorf("the states are %v", states)
	}
}

func TestCallGoesOnWithoutTheReaderOfItsEvents(t *testing.T) {
	t.Parallel()
	g, goOn := twoEvents(t)
	a := g.Agreed("agent-1")
	ctx, leave := context.WithCancel(t.Context())
	resp, err := http.DefaultTransport.RoundTrip(post(g, ctx, a.Token,
		a2aMessage("SendStreamingMessage", "m1", gatetest.Ordering, `{"product":"lamp"}`)))
	g.Must(err)
	in := bufio.NewScanner(resp.Body)
	for in.Scan() && !strings.Contains(in.Text(), `{"n":1}`) {
	}
	g.Must(in.Err())
	leave()
	_ = resp.Body.Close()
	close(goOn)
	g.Executor.Drain(t.Context())
	if task := rpc(g, a.Token, a2aMessage("SendMessage", "m1", gatetest.Ordering, `{"product":"lamp"}`)); task.Result.Task.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("got %+v", task)
	}
}
