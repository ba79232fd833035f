package console_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/api"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestCallsOfTheLastHourAreDrawn(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleViewer)
	if page := b.page("/console/"); !strings.Contains(page, "No call was refused.") ||
		!strings.Contains(page, `aria-label="Calls per minute: 0 in`) {
		t.Errorf("before the first call: %s", page)
	}
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering)
	for range 2 {
		g.Call("/api/intents/execute", a.Token, map[string]any{"intent_uid": "shop.example:nothing:v1", "parameters": map[string]any{}})
	}
	page := b.page("/console/")
	for _, want := range []string{
		`aria-label="Calls per minute: 3 in the last hour. The highest value is 3."`,
		`aria-label="Refusals per minute: 2 in the last hour. The highest value is 2."`, `<td class="number">2</td>`,
		`<a href="/console/calls?reason=INTENT_NOT_FOUND">INTENT_NOT_FOUND</a>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the overview lacks %q: %s", want, page)
		}
	}
}

func TestLongRequestIDsAreShortInLists(t *testing.T) {
	g := newConsoleGate(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Searching, "UIM-Request-ID", "0123456789-long")
	g.Execute(a, gatetest.Searching, "UIM-Request-ID", "short")
	b := g.as(api.RoleViewer)
	page := b.page("/console/calls")
	for _, want := range []string{
		`<a href="/console/calls/0123456789-long" title="0123456789-long">01234567</a>`, `<a href="/console/calls/short">short</a>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the list lacks %q: %s", want, page)
		}
	}
	if csv := b.get("/console/calls?format=csv").body; !strings.Contains(csv, "0123456789-long") {
		t.Errorf("the download has no full id: %s", csv)
	}
}
