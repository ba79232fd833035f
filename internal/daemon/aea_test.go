package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// TestDoorOfAEA starts a process with the door, makes an agent agree and call, opens another connection by a reload, and stops the process
// while a call is in progress. The call still gets its reply. The next process has the same identity.
func TestDoorOfAEA(t *testing.T) {
	t.Parallel()
	shop := newHeldShop(`{"products":[]}`)
	opened := func(door string) string { return testConfig + "  doors: {aea: {" + door + "}}\n" }
	dir := t.TempDir()
	g := startGate(t, setup{config: opened("delegate: 127.0.0.1:0"), upstream: shop.serve, dir: dir})
	first := g.doors["aea"]
	key := aeatest.Numbered(t, 2)
	a := aeatest.NewAgent(
		aeatest.Delegate(t, first["delegate"], first["node_key"], key, identity.Fetchai), first["address"], key, identity.Fetchai)
	token := a.Agrees(t, search)
	call := fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": "lamp"}, "pat": %q}`, search, token)
	if answer := a.Calls(t, call); !strings.HasPrefix(answer, `{"products"`) {
		t.Errorf("got %q, want a text that starts with %q", answer, `{"products"`)
	}
	permitted(t, g, "aea")
	shop.endsDuring(g, func() { a.Start(t, &protocol.Default, aeatest.Text(call)) }, func() {
		if m, ok := a.Next(t).Content.(protocol.DefaultMessage); !ok || !strings.HasPrefix(string(m.Bytes), `{"products"`) {
			t.Errorf("got %+v", m)
		}
	})

	second := startGate(t, setup{config: opened("tcp: 127.0.0.1:0"), upstream: shop.serve, dir: dir}).doors["aea"]
	if second["address"] != first["address"] || second["node_key"] != first["node_key"] || second["delegate"] != "" {
		t.Errorf("%v, was %v", second, first)
	}
	a = aeatest.NewAgent(aeatest.TCP(t, second["tcp"], a.Address()), second["address"], key, identity.Fetchai)
	if answer := a.Calls(t, call); !strings.HasPrefix(answer, `{"products"`) {
		t.Errorf("got %q, want a text that starts with %q", answer, `{"products"`)
	}
}
