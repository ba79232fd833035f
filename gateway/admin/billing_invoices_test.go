package admin_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/internal/money"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

// A chargedStore is a store in which other calls were charged.
type chargedStore struct {
	admin.Store

	charged []store.ChargedCalls
}

func (s *chargedStore) ChargedCalls(context.Context, store.Statement) ([]store.ChargedCalls, error) {
	return s.charged, nil
}

// The number of rows is bounded, and their sum is complete.
func TestInvoiceRowsAreBounded(t *testing.T) {
	var list []store.ChargedCalls
	for n := range 1500 {
		list = append(list, store.ChargedCalls{
			Intent: fmt.Sprintf("shop.example:order-%04d:v1", n), Rule: "r", Calls: 2, Price: money.Amount{Nano: money.Unit / 4, Currency: "EUR"},
		})
	}
	list = append(list, store.ChargedCalls{Intent: "a", Rule: "r", Calls: 1, Price: money.Amount{Nano: money.Unit, Currency: "USD"}})
	g := newAdminGate(t, "")
	g.Execute(g.Agreed("agent-1"), gatetest.Ordering) // makes a statement
	settings := g.settings
	settings.Store = &chargedStore{g.settings.Store, list}
	i, err := admin.Call(t.Context(), admin.New(settings), operation.Invoice, billing.InvoiceQuery{
		Record: api.Record{ID: "agent-1"}, Month: g.Now().UTC().Format("2006-01"),
	})
	g.Must(err)
	if len(i.Rows) != 1002 || i.Totals[0].Amount != "750.00" || i.Totals[0].Calls != 3000 || i.Totals[1].Amount != "1.00" {
		t.Fatalf("%d rows, %+v", len(i.Rows), i.Totals)
	}
	for n, want := range []billing.InvoiceRow{
		{Calls: 1000, Amount: "250.00", Currency: "EUR", Others: 500},
		{Calls: 1, Amount: "1.00", Currency: "USD", Others: 1},
	} {
		if got := i.Rows[1000+n]; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
