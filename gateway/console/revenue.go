package console

import (
	"fmt"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/operation"
)

const (
	// If a sum over the ledger took slowRevenue or longer to compute, the console keeps it, and shows it for revenueKept.
	slowRevenue = 20 * time.Millisecond
	revenueKept = time.Minute
	maxRevenues = 1000
)

// A revenue is the result of a query, and when it was read by the clock of the gateway.
type revenue struct {
	api.Page[billing.Revenue]
	at time.Time
}

// revenue returns the revenue that a query selects, and when it was read, at most revenueKept ago. It keeps the sums that took long to
// compute, because the ledger of a month can have millions of entries.
func (r *request) revenue(q billing.RevenueQuery) (revenue, error) {
	key := fmt.Sprintf("%+v", q)
	if kept, ok := r.console.revenues.Get(key); ok {
		return kept, nil
	}
	began, at := time.Now(), r.console.Now() //nolint:forbidigo // measures the query by the clock of the machine
	found, err := read(r, operation.Revenue, q)
	if err != nil {
		return revenue{}, err
	}
	fresh := revenue{Page: found, at: at}
	if time.Since(began) >= slowRevenue {
		r.console.revenues.Set(key, fresh)
	}
	return fresh, nil
}
