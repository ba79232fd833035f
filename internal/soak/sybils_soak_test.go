//go:build soak && linux

package soak

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/mrp"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// sybils is the number of strangers that attack, each with its own address and its own agent.
const sybils = 32

// Many strangers take all resources that they can get, at the gateway, over streams of MCP and at the relay of the gateway: connections,
// slots for calls, agreements, messages. One approved agent is served throughout.
func TestSybilsAgainstOneApprovedAgent(t *testing.T) {
	for engine, store := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { t.Helper(); return pgtest.Start(t).Database(t) },
	} {
		t.Run(engine, func(t *testing.T) {
			w := newWorld(t)
			w.attacked = true
			dsn := store(t)
			g := newGateway(t, "a", strings.NewReplacer(
				"per_address: 1000000/second", "per_address: 200/second, connections_per_address: 64",
				"issue_per_address: 100000/minute", "issue_per_address: 200/minute",
				"timeout: "+upstreamTimeout.String(), "concurrency: 64, timeout: "+upstreamTimeout.String(),
			).Replace(w.config(dsn))+"mrp_relay: {listen: 127.0.0.1:0}\n")
			g.memory = "160MiB" // so that the strangers want more connections than there are
			w.gateways = []*gateway{g}
			if w.open = sqliteRecords(g); dsn != "" {
				w.open = func(ctx context.Context) (records, error) {
					return sqlstore.Open(ctx, dsn, sqlstore.Options{Now: time.Now})
				}
			}
			w.startAll()
			friend := w.agentNamed("friend", 2)
			w.approve(friend)
			w.over = make(chan struct{})
			for n := range sybils {
				w.sybil(g, n)
			}
			f := w.befriend(g, friend)
			least := floor{"upstream " + order: 50, "reported captured": 50, "OVERLOADED": 1}
			w.during(least, func() {})
			t.Logf("the approved agent made %d calls and %d calls over streams, and sent %d messages", f.calls.Load(), f.streams.Load(), f.messages.Load())
			if f.calls.Load() < 50 || f.streams.Load() < 20 || f.messages.Load() < 5 {
				t.Error("the approved agent was hardly served")
			}
			w.verdict(w.evidence(), least, "calls", "answers", "replies")
		})
	}
}

// tally counts the calls and messages of the approved agent.
type tally struct{ calls, streams, messages atomic.Int64 }

// befriend makes the approved agent call, and send messages to itself, until the load is over. Each refusal is an error.
func (w *world) befriend(g *gateway, a *agent) *tally {
	w.t.Helper()
	f := &tally{}
	w.worker(w.over, "friend", 50*time.Millisecond, func(ref string) {
		got := call{agent: a, token: a.token(), intent: pick([]string{details, order}), ref: ref + "." + string(effectDone)}.at(g)
		if got.Status != http.StatusOK {
			w.t.Errorf("%s: got %+v; want Status %v", ref, got, http.StatusOK)
		}
		f.calls.Add(1)
	})
	w.worker(w.over, "streaming", 200*time.Millisecond, func(ref string) {
		if answer := w.streams(w.client, g, a, ref+"."+string(effectDone)); !strings.Contains(answer, `\"serial\"`) {
			w.t.Errorf("%s: got %.300s; want a text that contains %q", ref, answer, `\"serial\"`)
		}
		f.streams.Add(1)
	})
	key, relay := w.mailbox(g, w.from("127.0.0.1"))
	w.worker(w.over, "writing", 4*time.Second, func(ref string) {
		sent, err := relay.Send(w.t.Context(), wire.Send{Recipient: key, Body: json.RawMessage(`{}`), ThreadID: "soak", IdempotencyKey: ref})
		if err == nil {
			_, err = relay.Message(w.t.Context(), sent.MessageID)
		}
		if err != nil {
			w.t.Errorf("%s: %v", ref, err)
		}
		f.messages.Add(1)
	})
	return f
}

// mailbox returns an agent of the relay with a new key, which uses the given client. It tries each request once.
func (w *world) mailbox(g *gateway, by *http.Client) (wire.Key, *mrp.Client) {
	w.t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := mrp.New(mrp.Options{
		Relay: g.addresses.Load().Beside["mrp_relay"], Key: private, AllowInsecure: true, Attempts: 1,
		Wrap: func(http.RoundTripper) http.RoundTripper { return by.Transport },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return wire.KeyOf(private), c
}

// streams makes one MCP call whose response is a stream, and returns the response or an error.
func (w *world) streams(by *http.Client, g *gateway, a *agent, ref string) string {
	body := mustJSON(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": "details_v1", "arguments": map[string]string{"ref": ref},
	}})
	r, err := http.NewRequestWithContext(context.WithoutCancel(w.t.Context()), http.MethodPost, g.url()+"/mcp", bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "text/event-stream", "MCP-Protocol-Version": "2025-11-25",
		"Authorization": "Bearer " + a.token().text,
	} {
		r.Header.Set(name, value)
	}
	answer, err := by.Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// sybil makes one stranger use all resources that it can get until the load ends: connections, calls and streams that do not end,
// agreements, and space at the relay.
func (w *world) sybil(g *gateway, n int) {
	w.t.Helper()
	address := fmt.Sprintf("127.0.2.%d", n+1)
	by := w.from(address)
	stranger := w.agentNamed(fmt.Sprintf("sybil-%d", n), 1)
	w.unapproved[stranger.id] = true
	name := func(what string) string { return fmt.Sprintf("sybil%d-%s", n, what) }
	w.worker(w.over, name("connections"), 100*time.Millisecond, func(string) { w.takesConnections(g.url(), address) })
	w.worker(w.over, name("sockets"), 100*time.Millisecond, func(string) { w.takesConnections(g.addresses.Load().Beside["mrp_relay"], address) })
	for i := range 3 {
		w.worker(w.over, name(fmt.Sprint("calls", i)), 200*time.Millisecond, func(ref string) {
			call{agent: stranger, token: stranger.token(), intent: details, ref: ref + "." + string(effectNoAnswer), by: overHTTPFrom{by}}.at(g)
		})
		w.worker(w.over, name(fmt.Sprint("streams", i)), 200*time.Millisecond, func(ref string) {
			w.streams(by, g, stranger, ref+"."+string(effectNoAnswer))
		})
	}
	w.worker(w.over, name("keys"), 200*time.Millisecond, func(string) { w.send(by, g, "/api/pat/issue", strangeKey()) })
	w.worker(w.over, name("messages"), 200*time.Millisecond, func(ref string) {
		key, relay := w.mailbox(g, by)
		for range 40 {
			if _, err := relay.Send(w.t.Context(), wire.Send{Recipient: key, Body: json.RawMessage(`{}`), ThreadID: ref}); err != nil {
				return
			}
		}
	})
}

// takesConnections opens as many connections as one address may have, sends a request on each, and holds them for a while.
func (w *world) takesConnections(url, address string) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: time.Second}
	var open []net.Conn
	for range 64 {
		c, err := dialer.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			break
		}
		_, _ = io.WriteString(c, "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
		open = append(open, c)
	}
	pause(w.over, 2*time.Second)
	for _, c := range open {
		_ = c.Close()
	}
}

// overHTTPFrom is like overHTTP, from another address of this machine.
type overHTTPFrom struct{ *http.Client }

func (overHTTPFrom) name() string { return overHTTP{}.name() }

func (o overHTTPFrom) send(c call, g *gateway) (int, http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(context.WithoutCancel(c.agent.w.t.Context()), http.MethodPost, g.url()+"/api/intents/execute",
		bytes.NewReader(c.body()))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+c.token.text)
	answer, err := o.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, text, err
}
