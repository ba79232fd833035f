package console

import (
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/operation"
)

const (
	// The console keeps a sum over the ledger that took slowRevenue or longer, and shows it for revenueKept.
	slowRevenue = 20 * time.Millisecond
	revenueKept = time.Minute
)

// revenues keep sums over the ledger that took long, because the ledger of a month can have millions of entries.
type revenues struct {
	mu   sync.Mutex
	list map[billing.RevenueQuery]revenue
}

// A revenue is the result of a query.
type revenue struct {
	api.Page[billing.Revenue]
	at    time.Time // by the clock of the gateway
	until time.Time // by the clock of the machine
}

// get returns the kept result of a query.
func (c *revenues) get(q billing.RevenueQuery, now time.Time) (revenue, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, ok := c.list[q]
	return one, ok && now.Before(one.until)
}

// put keeps the result of a query that took long, and forgets those that are no longer shown.
func (c *revenues) put(q billing.RevenueQuery, fresh revenue, began, ended time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, one := range c.list {
		if !ended.Before(one.until) {
			delete(c.list, key)
		}
	}
	if ended.Sub(began) < slowRevenue {
		return
	}
	if c.list == nil {
		c.list = map[billing.RevenueQuery]revenue{}
	}
	fresh.until = ended.Add(revenueKept)
	c.list[q] = fresh
}

// revenue returns the revenue that a query selects, and when it was read, at most revenueKept ago.
func (r *request) revenue(q billing.RevenueQuery) (revenue, error) {
	began := time.Now() //nolint:forbidigo // measures the query by the clock of the machine
	if kept, ok := r.console.revenues.get(q, began); ok {
		return kept, nil
	}
	at := r.console.Now()
	found, err := read(r, operation.Revenue, q)
	if err != nil {
		return revenue{}, err
	}
	fresh := revenue{Page: found, at: at}
	r.console.revenues.put(q, fresh, began, time.Now()) //nolint:forbidigo // as above
	return fresh, nil
}
