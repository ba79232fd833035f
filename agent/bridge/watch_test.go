package bridge

import (
	"context"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/money"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// watch connects a host that receives notifications of changes to the list of tools.
func watch(t *testing.T, b *Bridge) (*mcp.ClientSession, <-chan struct{}) {
	t.Helper()
	changed := make(chan struct{}, 64)
	here, there := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := b.Serve(context.WithoutCancel(t.Context()), there, there)
		_ = there.Close()
		ended <- err
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: here, Writer: here},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = here.Close()
		if err := <-ended; err != nil {
			t.Log(err)
		}
	})
	return session, changed
}

func descriptionOf(t *testing.T, session *mcp.ClientSession, name string) string {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Name == name {
			return tool.Description
		}
	}
	return ""
}

// Once a call or a refresh finds new terms, the bridge lists them and notifies the host.
func TestNewTermsAreListed(t *testing.T) {
	t.Parallel()
	for _, looks := range []bool{false, true} {
		shop := agenttest.New(t, agenttest.Canonical)
		o := optionsFor(t, shop)
		o.ReadTerms = func(_ context.Context, policy agent.Policy, _ *intents.Catalog) Terms {
			cost, words := money.Amount{Nano: money.Unit / 100, Currency: "USD"}, "Costs 0.01 USD a call."
			if strings.Contains(string(policy.Raw), "dearer") {
				cost, words = money.Amount{Nano: money.Unit / 2, Currency: "USD"}, "Costs 0.50 USD a call."
			}
			return Terms{Words: words, Intents: map[string]CallTerm{agenttest.Order: {Most: cost, Words: words}}}
		}
		b, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		session, changed := watch(t, b)
		has(t, descriptionOf(t, session, orderTool), "Costs 0.01 USD a call.")
		shop.Offer(t, `{"uid":"`+agenttest.PolicyUID+`","note":"dearer","permission":[]}`)
		if looks {
			b.refresh(t.Context(), 0)
		} else if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: orderTool}); err != nil || !result.IsError {
			t.Fatalf("got %+v, %v", result, err)
		}
		<-changed
		has(t, descriptionOf(t, session, orderTool), "Costs 0.50 USD a call.")
		b.refresh(t.Context(), 0)
		if len(changed) != 0 {
			t.Error("the server announced a list that has not changed")
		}
	}
}

// The bridge finds a service that was unreachable at the start, and notifies the host.
func TestServiceFoundLater(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	o.Services = []string{"http://" + address}
	b, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	session, changed := watch(t, b)
	has(t, session.InitializeResult().Instructions, "could not be reached")
	if output := descriptionOf(t, session, orderTool); output != "" {
		t.Errorf("got %q, want an empty string", output)
	}
	target, err := url.Parse(shop.URL)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	_ = front.Listener.Close()
	front.Listener = l
	front.Start()
	t.Cleanup(front.Close)
	<-changed // the bridge refreshes by itself
	has(t, descriptionOf(t, session, orderTool), "Orders goods")
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: orderTool}); err != nil {
		t.Error(err)
	}
}
