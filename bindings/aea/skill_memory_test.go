package aea_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea/skill"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// A decoded call takes many times the memory of its text from the budget that all requests share. The skill refuses a call that needs more
// memory than the budget has left, and a call that ends releases its memory.
func TestCallMemoryLimit(t *testing.T) {
	t.Parallel()
	s := opened(t, "", func(c *skill.Config, g *gatetest.Gate) {
		c.Memory = membudget.NewBudget(64<<10, func() { g.Metrics.Shed(reason.ShedMemory) })
	})
	a := s.agent(identity.Fetchai)
	many := fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": [%s0]}}`, gatetest.Searching, strings.Repeat("0,", 5000))
	for range 3 {
		if got := refusal(a.Calls(t, many)); got != string(reason.Overloaded) {
			t.Errorf("got %v, want %v", got, string(reason.Overloaded))
		}
	}
	few := strings.Replace(searchCall(""), `"lamp"`, `"`+strings.Repeat("x", 8<<10)+`"`, 1)
	for range 20 {
		if got := refusal(a.Calls(t, few)); got == string(reason.Overloaded) || strings.HasPrefix(got, "no refusal") {
			t.Error(got)
		}
	}
}
