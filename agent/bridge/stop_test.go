package bridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// A call that was sent is paid for, even if the host cancels it. The host's next call with the same arguments gets its result.
func TestCancel(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := withBudget(t, optionsFor(t, shop), "0.02 USD/day")
	sent, goOn, delivered := make(chan struct{}, 8), make(chan struct{}), make(chan struct{}, 8)
	o.Agent.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/execute") {
				sent <- struct{}{}
				<-goOn
				defer func() { delivered <- struct{}{} }()
				r = r.WithContext(context.WithoutCancel(r.Context())) // it is already sent
			}
			return next.RoundTrip(r)
		})
	}
	h := start(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := h.CallTool(ctx, &mcp.CallToolParams{Name: orderTool})
		answered <- err
	}()
	<-sent
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want %v", err, context.Canceled)
	}
	wasLeft(t, o)
	close(goOn)
	<-delivered
	if again := h.ok(orderTool, nil); again.Meta["Idempotency-Replayed"] != "true" {
		t.Errorf("got %v", again.Meta)
	}
	h.ok(orderTool, map[string]any{"query": "another"})
	h.refused(orderTool, nil, "BUDGET_EXCEEDED") // the cancelled order counts
	h.closed()
	if spent, err := os.ReadFile(o.Agreements + "/spent"); err != nil || !strings.Contains(string(spent), `"nano": 20000000`) {
		t.Errorf("got %s, %v", spent, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// After a cancel the bridge sends no more calls to intents, but still sends renewals: a renewal serves all calls.
func TestRequestsAfterCancel(t *testing.T) {
	t.Parallel()
	sent := 0
	g := gated(nil)(roundTripper(func(*http.Request) (*http.Response, error) {
		sent++
		return &http.Response{Body: http.NoBody}, nil
	}))
	host, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx := context.WithValue(t.Context(), toolCallKey{}, &toolCall{host: host})
	for n, key := range []string{"", "key", "", "key"} {
		if n == 2 {
			cancel()
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://shop.example", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", key)
		if _, err := g.RoundTrip(r); errors.Is(err, context.Canceled) != (n == 3) {
			t.Errorf("request %d: %v", n, err)
		}
	}
	if sent != 3 {
		t.Errorf("%d requests were sent, want 3", sent)
	}
}

// The bridge waits for a call that arrives during shutdown, or does not make it.
func TestCallsDuringShutdown(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	for range 30 {
		b, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		toBridge, fromHost := io.Pipe()
		toHost, fromBridge := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := b.Serve(ctx, toBridge, fromBridge)
			_, _ = fromBridge.Close(), toBridge.Close()
			ended <- err
		}()
		client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
		session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: toHost, Writer: fromHost}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() { _, _ = session.CallTool(t.Context(), &mcp.CallToolParams{Name: searchTool}) })
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		calls.Wait()
	}
}

// held makes o block each call before it is sent. sent receives a value for each call, and closing goOn releases them all.
func held(o *Options) (sent, goOn chan struct{}) {
	sent, goOn = make(chan struct{}, 8), make(chan struct{})
	o.Agent.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/execute") {
				sent <- struct{}{}
				<-goOn
			}
			return next.RoundTrip(r)
		})
	}
	return sent, goOn
}
