package bindings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// The decoded values of a request are many times as large as its text, and count against the memory budget of requests. A request that
// exceeds the budget is refused, whatever its action, and each request releases its memory.
func TestRequestsUseMemoryBudget(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings, func(g *gatetest.Gate) {
		g.Memory = membudget.NewBudget(64<<10, func() { g.Metrics.Shed(reason.ShedMemory) })
	})
	a := agent(g)
	token := agrees(g, a)
	values := "[" + strings.Repeat("0,", 5000) + "0]"
	var members strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&members, `"m%d":0,`, i)
	}
	for name, body := range map[string]string{
		"values of a member":    `{"action":"uim:policy","more":` + values + `}`,
		"members of a request":  `{` + members.String() + `"action":"uim:policy"}`,
		"values of a parameter": `{"action":"uim:search","params":{"tags":` + values + `}}`,
		"parameters":            `{"action":"uim:search","params":{` + members.String() + `"query":"lamp"}}`,
		"members of a call":     `{"action":"uim:execute","params":{` + members.String() + call(gatetest.Searching, token)[1:] + `}`,
		"parameters of a call": `{"action":"uim:execute","params":` +
			strings.Replace(call(gatetest.Searching, token), `"lamp"`, values, 1) + `}`,
		"no request": `{"action":7,"of":` + values + `}`,
	} {
		expect(t, name, string(a.Say(t, wire.TypeRequest, body).Body), `"code":"overloaded"`)
	}
	expect(t, "what is not a text", string(a.Say(t, wire.TypeJSON, `{"text":`+values+`}`).Body), `"code":"overloaded"`)
	few := strings.Replace(call(gatetest.Searching, token), `"lamp"`, `"`+strings.Repeat("x", 4<<10)+`"`, 1)
	for range 20 {
		expect(t, "a call", a.Ask(t, "uim:execute", few), `"output":{"ok":true}`)
	}
}
