package examples_test

import (
	"errors"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/examples"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The statements of the README about counting are correct. The test reserves the decisions of the policy in the real store, as the gateway
// does, and makes calls in the given order until one is refused. Each row has the number of admitted calls at each price.
func TestPoliciesCountAsDocumented(t *testing.T) {
	type row struct {
		intent string
		calls  int // attempted
		prices map[string]int
		full   string // the limit that refused the last call; empty if none did
	}
	for name, rows := range map[string][]row{
		"rate-limit": {{search, 31, map[string]int{"0": 30}, "30/minute"}},
		"shared-limit": {
			{search, 60, map[string]int{"0": 60}, ""},
			{order, 41, map[string]int{"0": 40}, "100/hour"},
			{details, 1, map[string]int{}, "100/hour"},
		},
		"limit-each": {
			{search, 101, map[string]int{"0": 100}, "100/hour"},
			{order, 100, map[string]int{"0": 100}, ""},
		},
		"two-periods":    {{search, 11, map[string]int{"0": 10}, "10/minute"}},
		"lifetime-quota": {{order, 6, map[string]int{"0": 5}, "5/lifetime"}},
		"price-steps":    {{order, 1001, map[string]int{"0.02 EUR": 100, "0.05 EUR": 900}, "1000/month"}},
		"reference-form": {
			{search, 401, map[string]int{"0": 400}, "400/hour"},
			{order, 101, map[string]int{"0.05 EUR": 100}, "100/hour"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := examples.Files.ReadFile("policies/" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			p, problems := odrl.Publish(t.Context(), document, world(t, policies[name].needs))
			if p == nil {
				t.Fatal(problems)
			}
			now := noon(t)
			s, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlstore.Options{Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			for i, r := range rows {
				prices, full := map[string]int{}, ""
				for call := range r.calls {
					admission, err := s.Begin(t.Context(), reservation(t, p, r.intent, strconv.Itoa(i)+"-"+strconv.Itoa(call)))
					if refused, ok := errors.AsType[*store.LimitError](err); ok {
						full = refused.String()
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					prices[admission.Execution.Charge.String()]++
				}
				if diff := cmp.Diff(r.prices, prices); diff != "" || full != r.full {
					t.Errorf("%s: refused by %q, want %q; prices (-want +got):\n%s", r.intent, full, r.full, diff)
				}
			}
		})
	}
}

// reservation returns the request of the gateway to the store for one permitted call.
func reservation(t *testing.T, p *odrl.Policy, intent, id string) store.BeginRequest {
	t.Helper()
	d, err := p.Decide(t.Context(), odrl.Request{AgentID: "agent-1", KeyID: "key-1", Intent: intent, Now: noon(t)})
	if err != nil || !d.Permit {
		t.Fatalf("got %+v, %v", d, err)
	}
	r := store.BeginRequest{
		Execution: store.Execution{ID: id, Service: "default", AgentID: "agent-1", Intent: intent, AgreementID: "agreement-1", Rule: d.Rule},
		Billing:   store.Billing{Credit: money.Amount{Nano: 1000 * money.Unit, Currency: "EUR"}},
		Hold:      time.Minute,
	}
	for _, c := range d.Candidates {
		r.Candidates = append(r.Candidates, store.Candidate{Rule: c.Rule, Charge: c.Charge, Limits: reservations(c.Limits)})
	}
	return r
}

func reservations(limits []limit.Limit) []store.Reservation {
	var list []store.Reservation
	for _, l := range limits {
		list = append(list, store.Reservation{Principal: "agent-1", Limit: l})
	}
	return list
}
