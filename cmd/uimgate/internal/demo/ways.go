package demo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/store"
)

// fee is the price of an order in the policy.
const fee = "0.05 EUR"

// An order is a charged order: the way in which it was placed, and the charge that the service reported to the agent.
type order struct{ way, charge string }

// charged records an order, and checks its charge.
func (t *tour) charged(got agent.Result, way string) error {
	if got.Charge == nil {
		return errors.New("expected a charge")
	}
	return t.paid(got.Charge.String(), way)
}

func (t *tour) paid(charge, way string) error {
	t.orders = append(t.orders, order{way, charge})
	return expect(strings.HasPrefix(charge, fee+";") && strings.HasSuffix(charge, "state=captured"), "a charge of "+fee+", captured")
}

// otherWays places the order through the other doors, with the agent's agreement and key.
func (t *tour) otherWays(ctx context.Context, _ *agent.Client) error {
	for _, way := range []agent.Via{agent.ViaMCP, agent.ViaA2A} {
		got, err := t.service.Execute(ctx, orderUID, orderParameters, agent.ExecuteOptions{Via: way})
		if err != nil {
			return err
		}
		if err := t.charged(got, strings.ToUpper(string(way))); err != nil {
			return err
		}
	}
	return nil
}

// ledger reads the ledger as the operator, and checks that each charge that was reported to an agent occurs in it exactly once.
func (t *tour) ledger(ctx context.Context, _ *agent.Client) error {
	operator := client.New(client.Options{Socket: client.OwnSocket(ctx, t.data)})
	page, err := client.Do(ctx, operator, operation.Ledger, calls.UsageQuery{State: store.Captured})
	if err != nil {
		return err
	}
	got := map[string]bool{}
	for _, entry := range slices.Backward(page.Items) { // the newest comes first
		way := ""
		for _, o := range t.orders {
			if strings.Contains(o.charge, "id="+entry.ExecutionID+";") {
				way = o.way
			}
		}
		t.printf("   %-14s %-24s %s %s  %s\n", brief(string(entry.AgentID)), "through "+way, entry.Amount, entry.Currency, entry.ExecutionID)
		got[way] = true
	}
	orders := 6
	if t.Doors {
		orders = 3
	}
	return expect(len(t.orders) == orders && len(page.Items) == len(t.orders) && len(got) == len(t.orders) && !got[""],
		"one captured charge for each order")
}

// brief shortens an id of more than 20 bytes to its first and last 8 bytes.
func brief(id string) string {
	const most, ends = 20, 8
	if len(id) <= most {
		return id
	}
	return id[:ends] + "…" + id[len(id)-ends:]
}
