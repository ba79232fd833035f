package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestRevenueByMonthIsDrawn(t *testing.T) {
	one := newConsoleGate(t, "") // another gateway, because the console may keep the figures of the first page
	one.Execute(one.Agreed("agent-1"), gatetest.Ordering)
	const drawn = `<svg class="spark"`
	if page := one.as(api.RoleViewer).page("/console/money"); strings.Contains(page, drawn) {
		t.Error("one month is drawn as a line")
	}
	g := newConsoleGate(t, "")
	g.Execute(g.Agreed("agent-1"), gatetest.Ordering)
	first := g.Now()
	g.Later(40 * 24 * time.Hour)
	second := g.Agreed("agent-2")
	for range 3 {
		g.Execute(second, gatetest.Ordering)
	}
	page := g.as(api.RoleViewer).page("/console/money")
	for _, want := range []string{
		drawn, `d="M0 `, "L10 4.0", "0.75 EUR", first.Format("2006-01"), // the second month is the highest: 4 pixels below the top
		`aria-label="Revenue by month: 0.75 EUR in ` + g.Now().Format("January 2006") + `. The highest value is 0.75."`, ">0.25<", ">0.75<",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
}
