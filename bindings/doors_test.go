package bindings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// A way describes how an agent sends a call of Searching.
type way struct {
	path, body string                                         // %d in the body is the number of the call
	signed     func(token string, number int64) (body string) // replaces body if each call needs another one
	header     []string
	messages   func(number int64) (answer []byte) // replaces the HTTP request of ways without HTTP
	done       string                             // part of the answer to a successful call, and of no other
}

const (
	toolCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search_v1","arguments":{"query":"lamp"}`
	sent     = `{"message":{"messageId":"m-%d","role":"ROLE_USER","parts":[{"data":` +
		`{"intent_uid":"shop.example:search:v1","parameters":{"query":"lamp"}}}]}}`
)

// ways has the ways over HTTP that need no setup.
var ways = map[string]way{
	"HTTP": {
		path: "/api/intents/execute", done: `{"lamps":1}`,
		body: `{"intent_uid":"shop.example:search:v1","parameters":{"query":"lamp"}}`,
	},
	"HTTP, by path": {
		path: "/api/intents/execute/shop.example:search:v1", done: `{"lamps":1}`, body: `{"parameters":{"query":"lamp"}}`,
	},
	"MCP": {
		path: "/mcp", done: `"structuredContent":{"lamps":1}`,
		body: toolCall + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		header: []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "search_v1"},
	},
	"MCP, of clients with a handshake": {
		path: "/mcp", done: `"structuredContent":{"lamps":1}`, body: toolCall + `}}`,
		header: []string{"MCP-Protocol-Version", "2025-11-25"},
	},
	"A2A, JSON-RPC": {
		path: "/a2a", done: "TASK_STATE_COMPLETED", header: []string{"A2A-Version", "1.0"},
		body: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + sent + `}`,
	},
	"A2A, HTTP+JSON": {
		path: "/a2a/v1/message:send", done: "TASK_STATE_COMPLETED", header: []string{"A2A-Version", "1.0"}, body: sent,
	},
	"A2A, a stream": {
		path: "/a2a", done: "TASK_STATE_COMPLETED", header: []string{"A2A-Version", "1.0"},
		body: `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":` + strings.Replace(sent, "m-%d", "s-%d", 1) + `}`,
	},
}

// TestLimitAcrossDoors sends ten times as many calls as a limit allows, through all doors concurrently. The uAgents, and the AEA and
// MRP agents, have separate keys and therefore separate limits: each calls through its own door and all other doors, the uAgent with
// immediate and with later replies. In make test, the runs of the other two are shorter still, because only their own doors differ from
// the first run.
func TestLimitAcrossDoors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit int64
		own   func(*gatetest.Gate, *inbox) (token string, ways map[string]way)
	}{
		"uAgents": {limitInEnvelopes, inEnvelopes},
		"AEA": {limitOfMessages, func(g *gatetest.Gate, _ *inbox) (string, map[string]way) {
			token, w := inMessages(g)
			return token, map[string]way{"AEA": w}
		}},
		"MRP": {limitAtRelay, func(g *gatetest.Gate, _ *inbox) (string, map[string]way) {
			token, w := byRelay(g)
			return token, map[string]way{"MRP": w}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			throughAllDoors(t, c.limit, c.own)
		})
	}
}

// atOnce is the number of concurrent calls.
const atOnce = 280

func throughAllDoors(t *testing.T, limit int64, comes func(*gatetest.Gate, *inbox) (token string, own map[string]way)) {
	t.Helper()
	calls := 10 * limit
	in := opensInbox(t)
	settings := gatetest.RelaySettings + "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " +
		"doors: {uagents: {" + in.rules(t) + "}, aea: {tcp: '127.0.0.1:0'}, mrp: {}}}\n"
	g := gatetest.New(t, settings, func(g *gatetest.Gate) {
		g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `"action": "execute"}`,
			fmt.Sprintf(`"action": "execute", "constraint": [{"leftOperand": "count", "operator": "lteq", "rightOperand": %d}]}`, limit), 1))
	})
	var reached, done atomic.Int64
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		fmt.Fprint(w, `{"lamps":1}`)
	}
	token, own := comes(g, in)
	ways := maps.Clone(ways)
	maps.Copy(ways, own)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}
	t.Cleanup(client.CloseIdleConnections)
	var next atomic.Int64
	for name, w := range ways { // each way gets a call before the fast ways use up the limit
		if answer := w.send(g, client, token, next.Add(1)); !bytes.Contains(answer, []byte(w.done)) {
			t.Errorf("%s: %s", name, answer)
			continue
		}
		done.Add(1)
	}
	var senders sync.WaitGroup
	for _, w := range ways {
		for range atOnce / len(ways) {
			senders.Go(func() {
				for i := next.Add(1); i <= calls; i = next.Add(1) {
					if bytes.Contains(w.send(g, client, token, i), []byte(w.done)) {
						done.Add(1)
					}
				}
			})
		}
	}
	senders.Wait()
	if reached.Load() != limit || done.Load() != limit {
		t.Errorf("%d calls reached the service, %d returned its output, want %d", reached.Load(), done.Load(), limit)
	}
}

// send makes one call and returns the body of its answer.
func (w way) send(g *gatetest.Gate, client *http.Client, token string, number int64) []byte {
	if w.messages != nil {
		return w.messages(number)
	}
	answer, err := client.Do(w.request(g, token, strings.NewReader(w.numbered(token, number))))
	if err != nil {
		g.Error(err)
		return nil
	}
	defer func() { _ = answer.Body.Close() }()
	var read bytes.Buffer
	if _, err := read.ReadFrom(answer.Body); err != nil {
		g.Error(err)
	}
	return read.Bytes()
}

// seed is the seed of the agent that sends envelopes.
const seed = "alice recovery password"

// inEnvelope returns the way of signed synchronous envelopes. The PAT must belong to the agent of seed.
func inEnvelope(g *gatetest.Gate) way {
	g.Helper()
	key, err := identity.FromSeed(seed, 0)
	g.Must(err)
	target := identity.Address(g.Addresses("uagents")["address"])
	until := uint64(g.Now().Add(time.Minute).Unix())
	return way{
		path: "/submit", header: []string{"X-Uagents-Connection", "sync"}, done: string(protocol.Standard("UIMResult").Digest),
		signed: func(token string, number int64) string {
			message := fmt.Appendf(nil, `{"intent_uid":"shop.example:search:v1","parameters":{"query":"lamp"},"pat":%q}`, token)
			nonce := uint64(number)
			raw, err := json.Marshal(envelope.Envelope{
				Target: target, Session: envelope.NewSession(), SchemaDigest: protocol.Standard("UIMExecute").Digest,
				Payload: envelope.Pack(message), Expires: &until, Nonce: &nonce,
			}.Sign(key))
			if err != nil {
				g.Error(err)
			}
			return string(raw)
		},
	}
}

// numbered returns the body of one call.
func (w way) numbered(token string, number int64) string {
	if w.signed != nil {
		return w.signed(token, number)
	}
	if !strings.Contains(w.body, "%d") {
		return w.body
	}
	return fmt.Sprintf(w.body, number)
}

func (w way) request(g *gatetest.Gate, token string, body io.Reader) *http.Request {
	r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.URL+w.path, body)
	if err != nil {
		panic(err) // the paths are ours
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(w.header); i += 2 {
		r.Header.Set(w.header[i], w.header[i+1])
	}
	return r
}
