package bridge

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// The bridge sends no response to a request that the host cancelled, and its shutdown does not wait for one. See MCP 2026-07-28,
// basic/patterns/cancellation.
func TestCancelledRequestHasNoResponse(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := optionsFor(t, shop)
	sent, goOn := held(&o)
	b, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	toBridge, host := io.Pipe()
	answers, fromBridge := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := b.Serve(context.WithoutCancel(t.Context()), toBridge, fromBridge)
		_ = fromBridge.Close()
		ended <- err
	}()
	say := func(lines ...string) {
		t.Helper()
		if _, err := io.WriteString(host, strings.Join(lines, "\n")+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	heard := make(chan string, 16) // has room for every response
	go func() {
		for lines := bufio.NewScanner(answers); lines.Scan(); {
			heard <- lines.Text()
		}
		close(heard)
	}()
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}`)
	<-heard
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+orderTool+`","arguments":{}}}`)
	<-sent
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	wasLeft(t, o)
	close(goOn)
	say(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	_ = host.Close() // the bridge ends without a response to request 2
	var heardAll []string
	for answer := range heard {
		heardAll = append(heardAll, answer)
	}
	if len(heardAll) != 1 || !strings.Contains(heardAll[0], `"id":3`) {
		t.Errorf("got %q; want length 1 and [0] containing %q", heardAll, `"id":3`)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
