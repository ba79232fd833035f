package console

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/billing"
)

func TestSlowRevenueIsKeptForAMinute(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	slow, fast := billing.RevenueQuery{Service: "slow"}, billing.RevenueQuery{Service: "fast"}
	var c revenues
	c.put(slow, revenue{at: began}, began, began.Add(slowRevenue))
	c.put(fast, revenue{at: began}, began, began.Add(slowRevenue-1))
	if got, ok := c.get(slow, began.Add(revenueKept)); !ok || !got.at.Equal(began) {
		t.Errorf("within a minute: %+v, %v", got, ok)
	}
	if _, ok := c.get(fast, began); ok {
		t.Error("a fast result was kept")
	}
	later := began.Add(slowRevenue + revenueKept)
	if _, ok := c.get(slow, later); ok {
		t.Error("a result was kept for longer than a minute")
	}
	c.put(fast, revenue{}, later, later)
	if len(c.list) != 0 {
		t.Errorf("%d results are kept; want none", len(c.list))
	}
}
