package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// streams returns a gateway whose order is a stream; charge is its stream_charge.
func streams(t *testing.T, charge string) *gatetest.Gate {
	t.Helper()
	return streamsOf(t, "", charge)
}

func streamsOf(t *testing.T, settings, charge string) *gatetest.Gate {
	t.Helper()
	return gatetest.New(t, settings, func(g *gatetest.Gate) {
		g.Write("agents.json", strings.Replace(gatetest.AgentsFile, `"intent_name": "Order",`,
			`"intent_name": "Order", "stream": true, "stream_charge": "`+charge+`",`, 1))
	})
}

// sendEvent writes one server-sent event, and flushes it.
func sendEvent(w http.ResponseWriter, data string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: "+data+"\n\n")
	_ = http.NewResponseController(w).Flush()
}

const order = `{"intent_uid":"` + gatetest.Ordering + `","parameters":{"product":"lamp"}}`

// The agent receives the first event before the service sends the second one.
func TestEventsArriveOneByOne(t *testing.T) {
	t.Parallel()
	g := streams(t, "end")
	received := make(chan struct{})
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		sendEvent(w, `{"n":1}`)
		select {
		case <-received:
		case <-r.Context().Done():
		}
		sendEvent(w, `two`)
	}
	a := g.Agreed("agent-1")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/api/intents/execute", strings.NewReader(order))
	g.Must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+a.Token)
	resp, err := http.DefaultTransport.RoundTrip(r)
	g.Must(err)
	defer func() { _ = resp.Body.Close() }()
	var lines []string
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		if in.Text() != "" {
			lines = append(lines, in.Text())
		}
		if in.Text() == `data: {"n":1}` {
			close(received)
		}
	}
	if len(lines) != 6 || lines[0] != "event: event" || lines[3] != `data: "two"` || lines[4] != "event: end" {
		t.Fatalf("got %q", lines)
	}
	var end map[string]any
	g.Must(json.Unmarshal([]byte(strings.TrimPrefix(lines[5], "data: ")), &end))
	charge, _ := end["UIM-Charge"].(string)
	if receipt, _ := end["UIM-Receipt"].(string); end["complete"] != true || !strings.Contains(charge, "state=captured") || receipt == "" {
		t.Errorf("the end is %v", end)
	}
}

func TestEndsOfStreams(t *testing.T) {
	t.Parallel()
	broken := func(w http.ResponseWriter, _ *http.Request) {
		sendEvent(w, `{"n":1}`)
		panic(http.ErrAbortHandler)
	}
	lines := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, "{\"n\":1}\n\n{\"n\":2}")
	}
	endless := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	}
	plain := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }
	for name, c := range map[string]struct {
		charge   string
		upstream http.HandlerFunc
		streamed string // part of the answer to a client that accepts a stream
		whole    string // part of the answer to one that does not, or of its header UIM-Charge
		state    string
	}{
		"lines":                              {"end", lines, "event: event\ndata: {\"n\":2}\n\nevent: end\n", `{"events":[{"n":1},{"n":2}],"complete":true}`, "captured"},
		"broken, charged at the end":         {"end", broken, "event: error\ndata: {\"error\":", `"outcome":"unknown"`, "pending"},
		"broken, charged at the first event": {"first", broken, `"complete":false`, `{"events":[{"n":1}],"complete":false}`, "captured"},
		"without an end":                     {"first", endless, "RESPONSE_INVALID", "RESPONSE_INVALID", "released"},
		"an answer that is no stream":        {"end", plain, `{"ok":true}`, `{"ok":true}`, "captured"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := streams(t, c.charge)
			g.Upstream = c.upstream
			a := g.Agreed("agent-1")
			for accept, want := range map[string]string{"text/event-stream": c.streamed, "application/json": c.whole} {
				answer := g.Post("/api/intents/execute", order, "Content-Type", "application/json", "Accept", accept,
					"Authorization", "Bearer "+a.Token)
				if !bytes.Contains(answer.Body, []byte(want)) {
					t.Errorf("%s: %.500s", accept, answer.Body)
				}
				charge := answer.Header.Get("UIM-Charge")
				if charge == "" {
					charge = string(answer.Body)
				}
				if !strings.Contains(charge, c.state) {
					t.Errorf("%s: the charge is not %s: %.500s", accept, c.state, charge)
				}
			}
		})
	}
}

// A service that sends a byte and then nothing ends with the time of the call. Its outcome is unknown, unless an event was charged.
func TestASilentStreamEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ charge, sent, want, state string }{
		"after a byte, charged at the end":         {"end", "d", `"outcome":"unknown"`, "pending"},
		"after a byte, charged at the first event": {"first", "d", `"outcome":"unknown"`, "pending"},
		"after an event, charged at the end":       {"end", "data: {\"n\":1}\n\n", `"outcome":"unknown"`, "pending"},
		"after an event that is charged":           {"first", "data: {\"n\":1}\n\nd", `"complete":false`, "captured"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := streamsOf(t, `services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM, timeout: 1s}
  intents: {"`+gatetest.Ordering+`": {proof: optional}}
`, c.charge)
			g.Upstream = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, c.sent)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
			a := g.Agreed("agent-1")
			answer := g.Post("/api/intents/execute", order, "Content-Type", "application/json", "Accept", "text/event-stream",
				"Authorization", "Bearer "+a.Token)
			if !bytes.Contains(answer.Body, []byte(c.want)) || !strings.Contains(string(answer.Body)+answer.Header.Get("UIM-Charge"), c.state) {
				t.Errorf("got %d %s %s", answer.Status, answer.Header.Get("UIM-Charge"), answer.Body)
			}
		})
	}
}

// A repeated call returns the stored answer: the service is not called again.
func TestARepeatedStreamIsTheStoredAnswer(t *testing.T) {
	t.Parallel()
	g := streams(t, "end")
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { sendEvent(w, `{"n":1}`) }
	a := g.Agreed("agent-1")
	header := []string{
		"Content-Type", "application/json", "Accept", "text/event-stream", "Authorization", "Bearer " + a.Token, "Idempotency-Key", "k1",
	}
	first := g.Post("/api/intents/execute", order, header...)
	g.Upstream = func(http.ResponseWriter, *http.Request) { t.Error("the service was called again") }
	again := g.Post("/api/intents/execute", order, header...)
	if !bytes.Contains(first.Body, []byte("event: end")) || string(again.Body) != `{"events":[{"n":1}],"complete":true}` {
		t.Errorf("got %s, then %s", first.Body, again.Body)
	}
}
