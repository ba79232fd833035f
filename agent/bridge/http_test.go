package bridge

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// overHTTP serves a bridge on a free port until the end of the test, and returns its host.
func overHTTP(t *testing.T, o Options) string {
	t.Helper()
	b, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.ServeHTTP(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// posting returns the HTTP request of a client that posts one message.
func posting(ctx context.Context, t *testing.T, host, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+host+Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

// Over HTTP the bridge serves only programs on this machine, in every revision of MCP.
func TestServeHTTP(t *testing.T) {
	t.Parallel()
	host := overHTTP(t, optionsFor(t, agenttest.New(t, agenttest.Canonical)))
	endpoint := "http://" + host + Path
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint},
			&mcp.ClientSessionOptions{ProtocolVersion: revision})
		if err != nil {
			t.Fatalf("%s: %v", revision, err)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: orderTool, Arguments: map[string]any{"query": revision}})
		if err != nil || result.IsError || result.Meta["UIM-Charge"] == nil {
			t.Errorf("%s: %+v, %v", revision, result, err)
		}
		_ = session.Close()
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	for name, test := range map[string]struct {
		host, origin, body string
		status             int
	}{
		"by its address":                 {host, "", list, 200},
		"as localhost":                   {"localhost" + host[strings.LastIndex(host, ":"):], "", list, 200},
		"from its own origin":            {host, "http://" + host, list, 200},
		"by a host name (DNS rebinding)": {"shop.example", "", list, 403},
		"by a name with the port":        {"shop.example" + host[strings.LastIndex(host, ":"):], "", list, 403},
		"another port":                   {"127.0.0.1:1", "", list, 403},
		"from a web page":                {host, "https://shop.example", list, 403},
		"from a web page of this host":   {host, "http://127.0.0.1:1", list, 403},
		"from a file":                    {host, "null", list, 403},
		"a batch":                        {host, "", "[" + list + "]", 400},
		"nested too deeply":              {host, "", strings.Repeat("[", 1<<20), 400},
		"too large":                      {host, "", `{"x":"` + strings.Repeat("x", maxMessage) + `"}`, 413},
	} {
		r := posting(t.Context(), t, host, test.body)
		r.Host = test.host
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode != test.status {
			t.Errorf("%s: %d, want %d", name, response.StatusCode, test.status)
		}
	}
}

// If a client disconnects during a call, its next call with the same arguments queries the outcome under the same key.
func TestClientHangsUp(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	sent, goOn := held(&o)
	host := overHTTP(t, o)
	const order = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + orderTool + `","arguments":{}}}`
	ctx, hangUp := context.WithCancel(t.Context())
	lost := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(posting(ctx, t, host, order))
		if err == nil {
			_, err = io.ReadAll(response.Body)
			_ = response.Body.Close()
		}
		lost <- err
	}()
	<-sent
	hangUp()
	if err := <-lost; err == nil {
		t.Error("the cancelled request was answered")
	}
	wasLeft(t, o)
	close(goOn)
	response, err := http.DefaultClient.Do(posting(t.Context(), t, host, order))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || len(keysOf(shop.Calls())) != 1 {
		t.Errorf("%d keys: %s, %v", len(keysOf(shop.Calls())), answer, err)
	}
}

// The bridge listens only on loopback addresses.
func TestListenAddress(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:8765": true, "127.1.2.3:80": true,
		"0.0.0.0:80": false, ":80": false, "[::]:80": false, "192.0.2.1:80": false, "localhost:80": false, "127.0.0.1": false, "": false,
	} {
		if _, err := ListenAddress(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}
