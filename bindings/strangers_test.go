package bindings_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// A peer is a client with its own address on this machine and its own connections.
type peer struct {
	*gatetest.Gate
	*http.Client
	agent *gatetest.Agent // nil: it has no PAT
}

// newPeer returns a client that connects from 127.0.high.low.
func newPeer(g *gatetest.Gate, high, low int) *peer {
	g.Helper()
	from := &net.TCPAddr{IP: net.IPv4(127, 0, byte(high), byte(low))}
	transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: from}).DialContext, MaxIdleConnsPerHost: 10_000}
	g.Cleanup(transport.CloseIdleConnections)
	return &peer{Gate: g, Client: &http.Client{Transport: transport}}
}

// do sends a request and reads the response. Status 0 means that the connection ended without a response.
func (p *peer) do(method, path string, body any, header ...string) (status int, answer []byte) {
	p.Helper()
	var from io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		p.Must(err)
		from = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(p.Context(), method, p.URL+path, from)
	p.Must(err)
	r.Header.Set("Content-Type", "application/json")
	if p.agent != nil {
		r.Header.Set("Authorization", "Bearer "+p.agent.Token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got, err := p.Do(r)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = got.Body.Close() }()
	answer, _ = io.ReadAll(got.Body)
	return got.StatusCode, answer
}

// search calls the free intent.
func (p *peer) search() (status int, answer []byte) {
	p.Helper()
	return p.do(http.MethodPost, "/api/intents/execute", map[string]any{
		"intent_uid": gatetest.Searching, "parameters": map[string]any{"query": "lamp"},
	})
}

// approved returns an agent that the operator has approved, at an address without strangers.
func approved(g *gatetest.Gate) *peer {
	g.Helper()
	p := newPeer(g, 1, 1)
	p.agent = g.Agreed("approved")
	g.Must(g.Store.SetAgent(g.Context(), pat.AgentChange{Service: "default", ID: p.agent.ID, Status: pat.AgentActive, Approved: true}))
	return p
}

// A sharedBound is a bound that all clients share.
type sharedBound struct {
	settings string // uimgate.yaml; empty: the default
	prepare  func(g *gatetest.Gate)
	agreed   bool // each stranger gets a PAT
	// fill takes as much as one stranger can get, and holds it until the test ends.
	fill func(g *gatetest.Gate, stranger *peer)
	// serves returns "" if the approved agent is served, and otherwise a description of its response.
	serves func(g *gatetest.Gate, agent *peer) string
}

// TestOneApprovedAgentIsServed checks that an approved agent is served, after one stranger, three and 32 strangers have filled a bound.
func TestOneApprovedAgentIsServed(t *testing.T) {
	t.Parallel()
	for name, bound := range sharedBounds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var prepare []func(*gatetest.Gate)
			if bound.prepare != nil {
				prepare = append(prepare, bound.prepare)
			}
			g := gatetest.New(t, bound.settings, prepare...)
			agent := approved(g)
			var peers []*peer
			for i := range 32 { // all agree before a bound is full: it may close a connection on which one of them agrees
				p := newPeer(g, 2, i+1)
				if bound.agreed {
					p.agent = g.Agreed(rand.Text())
				}
				peers = append(peers, p)
			}
			filled := 0
			for _, strangers := range []int{1, 3, 32} {
				for ; filled < strangers; filled++ {
					bound.fill(g, peers[filled])
				}
				if got := bound.serves(g, agent); got != "" {
					t.Errorf("after %d strangers, the approved agent got %s, want an empty string", strangers, got)
				}
			}
			letGo(g)
		})
	}
}

// callServes returns "" if the agent's call succeeds, and otherwise the response.
func callServes(_ *gatetest.Gate, agent *peer) string {
	agent.Helper()
	if status, answer := agent.search(); status != http.StatusOK {
		return fmt.Sprintf("%d %s", status, answer)
	}
	return ""
}

// sharedBounds has the bounds of SECURITY.md by name.
var sharedBounds = map[string]sharedBound{
	"connections": {
		settings: "server: {connections_per_address: 20, per_address: 10000/second, issue_per_address: 1000/second}\n" + oneService,
		prepare:  func(g *gatetest.Gate) { g.Connections = 60 },
		fill: func(_ *gatetest.Gate, stranger *peer) {
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { stranger.do(http.MethodGet, "/api/policy", nil) })
			}
			all.Wait()
		},
		serves: callServes,
	},
	"requests of one address": {
		settings: "server: {per_address: 5/second, issue_per_address: 1000/second}\n" + oneService,
		fill: func(_ *gatetest.Gate, stranger *peer) {
			for range 10 {
				stranger.do(http.MethodGet, "/api/policy", nil)
			}
		},
		serves: callServes,
	},
	"agreements of one address": {
		settings: "server: {per_address: 1000/second, issue_per_address: 5/minute}\n" + oneService,
		fill: func(_ *gatetest.Gate, stranger *peer) {
			for range 10 {
				stranger.do(http.MethodPost, "/api/pat/issue", map[string]any{"agent_id": "x"})
			}
		},
		serves: callServes,
	},
	"calls under way and calls that wait": {
		agreed:   true,
		settings: strings.Replace(oneService, "UPSTREAM}", "UPSTREAM, concurrency: 16, timeout: 5m}", 1),
		prepare:  hangs,
		fill: func(g *gatetest.Gate, stranger *peer) {
			for range 4 {
				go stranger.search() // ends when the gateway stops
			}
			for calls, _ := g.Directory.Current().Service("default").Upstream.UnderWay(); calls == 0; {
				calls, _ = g.Directory.Current().Service("default").Upstream.UnderWay()
			}
		},
		serves: callServes,
	},
	"streams": {
		agreed:   true,
		settings: strings.Replace(oneService, "UPSTREAM}", "UPSTREAM, timeout: 5m}", 1), // no call ends by itself
		prepare:  hangs,
		fill: func(_ *gatetest.Gate, stranger *peer) {
			task := stranger.begins()
			for range 8 {
				stranger.follows(task)
			}
		},
		serves: func(_ *gatetest.Gate, agent *peer) string {
			if first := agent.follows(agent.begins()); !strings.Contains(first, "TASK_STATE_WORKING") {
				return first
			}
			return ""
		},
	},
	"refused calls": {
		agreed: true,
		fill: func(_ *gatetest.Gate, stranger *peer) {
			for range 70 {
				stranger.do(http.MethodPost, "/api/intents/execute", map[string]any{
					"intent_uid": gatetest.Searching, "parameters": map[string]any{},
				})
			}
		},
		serves: callServes,
	},
	"agent ids that belong to others": {
		fill: func(g *gatetest.Gate, stranger *peer) {
			for range 10 {
				stranger.do(http.MethodPost, "/api/pat/issue", g.Agreement(g.Unapproved("approved")))
			}
		},
		serves: callServes,
	},
	"connections kept by agents that are not approved": {
		agreed:   true,
		settings: "server: {connections_per_address: 20, per_address: 10000/second, issue_per_address: 1000/second}\n" + oneService,
		prepare:  func(g *gatetest.Gate) { g.Connections = 60 },
		fill: func(_ *gatetest.Gate, stranger *peer) {
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { stranger.search() })
			}
			all.Wait()
		},
		serves: callServes,
	},
}

// hanging maps a gateway to the channel that releases its hanging calls when it is closed.
var hanging sync.Map

// hangs makes the upstream hang until the test ends, except for calls of the approved agent.
func hangs(g *gatetest.Gate) {
	gone := make(chan struct{})
	hanging.Store(g, gone)
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("UIM-Agent-Standing") != "approved" || r.URL.Query().Get("query") == "slow" {
			select {
			case <-gone:
			case <-r.Context().Done():
			}
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	}
}

// letGo releases the hanging calls.
func letGo(g *gatetest.Gate) {
	if gone, ok := hanging.LoadAndDelete(g); ok {
		close(gone.(chan struct{})) //nolint:forcetypeassert // the map holds only this type
		g.Executor.Drain(g.Context())
	}
}

// begins starts an A2A task whose call hangs, and returns the task's id.
func (p *peer) begins() string {
	p.Helper()
	status, answer := p.do(http.MethodPost, "/a2a", json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":`+
		`{"messageId":"m-1","role":"ROLE_USER","parts":[{"data":{"intent_uid":"shop.example:search:v1","parameters":{"query":"slow"}}}]},`+
		`"configuration":{"returnImmediately":true}}}`), "A2A-Version", "1.0")
	var reply struct {
		Result struct {
			Task struct {
				ID string `json:"id"`
			} `json:"task"`
		} `json:"result"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil || reply.Result.Task.ID == "" {
		p.Fatalf("got %d %s", status, answer)
	}
	return reply.Result.Task.ID
}

// follows opens a stream of a task until the test ends, and returns its first bytes.
func (p *peer) follows(task string) string {
	p.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.Context()))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/a2a",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"`+task+`"}}`))
	p.Must(err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "A2A-Version": "1.0", "Authorization": "Bearer " + p.agent.Token,
	} {
		r.Header.Set(name, value)
	}
	got, err := p.Do(r)
	p.Must(err)
	p.Cleanup(func() { cancel(); _ = got.Body.Close() })
	first := make([]byte, 512)
	n, _ := got.Body.Read(first)
	return string(first[:n])
}

const oneService = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " + gatetest.Unproved + "}\n"
