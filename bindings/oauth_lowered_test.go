package bindings_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// lower returns the record of a budget of 2 EUR with another amount for one call.
func (c *confirmGate) lower(perCall int64) pat.SignedBudget {
	c.Helper()
	a, err := c.Store.Agreement(c.Context(), "default", c.agreement())
	c.Must(err)
	budget, err := a.Budget()
	c.Must(err)
	budget.PerCall = eur(perCall)
	record, err := c.Directory.Current().Service("default").Issuance.ChangeBudget(c.Context(), pat.BudgetChange{Agreement: a, Budget: *budget})
	c.Must(err)
	return record
}

// If the person changes the budget while a call waits for a place, the new budget decides the call.
func TestLoweredBudgetHoldsForWaitingCalls(t *testing.T) {
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	c := &confirmGate{}
	settings := strings.Replace(budgets, "upstream: {url: UPSTREAM}", "upstream: {url: UPSTREAM, concurrency: 2}", 1)
	c.gate = newGate(t, settings, func(g *gatetest.Gate) {
		g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
			arrived <- struct{}{}
			<-release
			_, _ = io.WriteString(w, `{"ok":true}`)
		}
	})
	c.person = c.browser()
	c.client, _, _ = c.spenderOf(c.person, "2", "month", "")
	c.topUp(c.client, eur(1000))
	record := c.lower(10)
	begun, waits := make(chan gatetest.Answer, 1), make(chan gatetest.Answer, 1)
	go func() { begun <- c.Execute(c.client, gatetest.Ordering) }()
	<-arrived
	go func() { waits <- c.Execute(c.client, gatetest.Ordering) }()
	for waiting := 0; waiting == 0; {
		runtime.Gosched()
		_, waiting = c.Directory.Current().Service("default").Upstream.UnderWay()
	}
	c.Must(c.Store.SetBudget(c.Context(), "default", c.agreement(), 1, record))
	close(release)
	if got := <-begun; got.Status != http.StatusOK {
		t.Errorf("the call that had begun: %d %s", got.Status, got.Body)
	}
	c.asks(<-waits)
}

// Only a record of the budget that the gateway signed for the consent counts.
func TestUnsignedBudgetIsRefused(t *testing.T) {
	c := newConfirmGate(t, budgets)
	record := c.lower(20)
	c.client, _, _ = c.spenderOf(c.person, "1", "month", "")
	c.topUp(c.client, eur(1000))
	header, rest, _ := strings.Cut(c.lower(20).Record, ".")
	payload, _, _ := strings.Cut(rest, ".")
	_, signature, _ := strings.Cut(strings.SplitN(record.Record, ".", 2)[1], ".")
	signed := c.lower(10)
	for number, wrong := range []string{record.Record, header + "." + payload + "." + signature, "no record"} {
		c.Must(c.Store.SetBudget(c.Context(), "default", c.agreement(), number+1, pat.SignedBudget{Record: wrong}))
		c.Refuses(c.Execute(c.client, gatetest.Ordering), http.StatusInternalServerError, "INTERNAL")
	}
	c.Must(c.Store.SetBudget(c.Context(), "default", c.agreement(), 4, signed))
	c.asks(c.Execute(c.client, gatetest.Ordering))
}
