package bindings_test

import (
	"net/http"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestOtherKeyCannotTakeAddress claims the key of an agent of the relay over REST, before that agent has agreed.
func TestOtherKeyCannotTakeAddress(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	a := agent(g)
	if _, status := g.Agree(a.ID()); status != http.StatusConflict {
		t.Errorf("a stranger agreed with the agent's key as its id: status %d, want %d", status, http.StatusConflict)
	}
	expect(t, "a call of the agent itself", a.Ask(t, "uim:execute", call(gatetest.Searching, agrees(g, a))), `"status":"ok"`)
}
