package demo

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/bridge"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/quote"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// assistant runs the bridge like uimgate mcp, and acts as the assistant at the other end of its stdin and stdout.
func (t *tour) assistant(ctx context.Context, _ *agent.Client) error {
	dir, err := os.MkdirTemp(filepath.Dir(t.data), "assistant-")
	if err != nil {
		return err
	}
	b, err := t.bridge(ctx, dir)
	if err != nil {
		return err
	}
	stdin, toBridge := io.Pipe()
	fromBridge, stdout := io.Pipe()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		err := b.Serve(ctx, stdin, stdout)
		_ = stdout.CloseWithError(io.EOF) // so that no call waits for a response if the bridge ends early
		_ = stdin.Close()
		return err
	})
	talked := t.talk(bufio.NewReader(fromBridge), toBridge)
	_ = toBridge.Close()
	return errors.Join(talked, group.Wait())
}

// talk places two orders, and returns an error unless the bridge executes the first and refuses the second, which exceeds the budget.
func (t *tour) talk(from *bufio.Reader, to io.Writer) error {
	first, err := t.callTool("1", from, to)
	if err != nil {
		return err
	}
	if err := t.paid(first.charge, "the bridge"); err != nil {
		return err
	}
	second, err := t.callTool("2", from, to)
	if err != nil {
		return err
	}
	t.printf("   refused by the bridge: %s\n", second.message)
	return expect(second.reason == "BUDGET_EXCEEDED" && second.output == nil, "the budget to prevent the second order")
}

// callTool sends a call to the order tool to the bridge as one line, and reads one line as its response.
func (t *tour) callTool(id string, from *bufio.Reader, to io.Writer) (reply, error) {
	const longest = 1 << 20
	m, err := via.MCP{Client: "an assistant"}.Message(via.Call{ID: id, Tool: orderTool, Parameters: orderParameters, Header: http.Header{}})
	if err != nil {
		return reply{}, err
	}
	t.shown.body("stdin ", m.Body)
	if _, err := to.Write(append(m.Body, '\n')); err != nil {
		return reply{}, err
	}
	line, err := lines.Read(from, longest)
	if err != nil {
		return reply{}, err
	}
	t.shown.body("stdout", line)
	return readReply(id, fetch.Answer{Status: http.StatusOK, Header: http.Header{}, Body: line})
}

// bridge opens a bridge to the gateway with a new key, and accepts the policy that the tour has read.
func (t *tour) bridge(ctx context.Context, dir string) (*bridge.Bridge, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	limit, err := budget.ParseLimit(fee + "/day")
	if err != nil {
		return nil, err
	}
	o := agent.Options{Key: key, AgentID: "demo-assistant", Now: t.Now, Receipts: filepath.Join(dir, "receipts")}
	return bridge.Open(ctx, bridge.Options{
		Agent: o, Services: []string{t.gateway}, Agreements: dir, Accept: []string{t.policy.Digest}, Version: t.Version,
		Budget: budget.New(filepath.Join(dir, "spent.json"), []budget.Limit{limit}, t.Now), Outbox: filepath.Join(dir, "calls.json"),
		ReadTerms: func(ctx context.Context, policy agent.Policy, catalog *intents.Catalog) bridge.Terms {
			terms := bridge.Terms{Intents: map[string]bridge.CallTerm{}}
			who, err := keys.New(key.Public())
			if err != nil {
				return terms
			}
			for uid, q := range quote.Of(ctx, policy.Raw, catalog, quote.Agent{ID: pat.AgentID(o.AgentID), Key: who}, t.Now()) {
				terms.Intents[uid] = bridge.CallTerm(q)
			}
			return terms
		},
		AgreeCommand: func(service, digest, _ string) string {
			return fmt.Sprintf("%s agent agree %s --digest %s", t.Program, service, digest)
		},
	})
}
