package billing

import (
	"context"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An Account is the balance of one agent in one currency. Amounts are exact decimals.
type Account struct {
	AgentID  pat.AgentID `json:"agent_id"`
	Currency string      `json:"currency"`
	ToppedUp string      `json:"topped_up"`
	Held     string      `json:"held"` // held or unresolved
	Captured string      `json:"captured"`
	Balance  string      `json:"balance"` // topped up minus held and captured; negative if the agent owes money
}

func showAccount(a store.Account) Account {
	balance := money.Amount{Nano: a.ToppedUp.Nano - a.Held.Nano - a.Captured.Nano, Currency: a.Currency}
	return Account{a.AgentID, a.Currency, a.ToppedUp.Decimal(), a.Held.Decimal(), a.Captured.Decimal(), balance.Decimal()}
}

// An AccountQuery selects accounts of a service.
type AccountQuery struct {
	Service string `query:"service"`
	api.PageRequest
	AgentID pat.AgentID `query:"agent_id"` // empty: all agents
}

// Accounts lists the accounts, sorted by agent and currency.
func (o *Operations) Accounts(ctx context.Context, s *service.Service, q AccountQuery) (api.Page[Account], error) {
	list, err := o.Store.Accounts(ctx, store.Filter{Service: s.ID, AgentID: q.AgentID, After: q.After, Limit: q.Max()})
	return api.PageOf(list, q.Max(), showAccount, func(a store.Account) string { return string(a.AgentID) + " " + a.Currency }), err
}

// maxReference is the maximum length of TopUp.Reference, in bytes.
const maxReference = 200

// A TopUp is a payment by an agent, or the reversal of one.
type TopUp struct {
	Service   string      `json:"-" query:"service"`
	AgentID   pat.AgentID `json:"agent_id"`
	Amount    string      `json:"amount"` // such as 10.00 EUR
	Reference string      `json:"reference,omitempty"`
	Reverse   bool        `json:"reverse,omitempty"` // subtract the amount instead of adding it
}

// Details returns the details of the change for the audit stream.
func (t TopUp) Details() map[string]string {
	return map[string]string{"amount": t.Amount, "reference": t.Reference, "reverse": api.Flag(t.Reverse)}
}

// Members implements api.Body.
func (t *TopUp) Members(m *wire.Members) error {
	t.AgentID, t.Reference, t.Amount = pat.AgentID(m.Text("agent_id", true)), m.Text("reference", false), m.Text("amount", true)
	if reverse, sent := m.Take("reverse"); sent {
		var ok bool
		if t.Reverse, ok = reverse.(bool); !ok {
			return m.Wrong("reverse", "must be true or false")
		}
	}
	return m.Done()
}

// A TopUpResult is the account after a top-up.
type TopUpResult struct {
	Account
	Repeated bool `json:"repeated,omitempty"` // the reference was used before for the same top-up: the account has not changed
}

// Details returns the details of the change for the audit stream.
func (r TopUpResult) Details() map[string]string {
	return map[string]string{"repeated": api.Flag(r.Repeated)}
}

// ChangedID returns the id of the changed record for the audit stream.
func (r TopUpResult) ChangedID() string { return string(r.AgentID) }

// TopUp adds to the balance of an agent, or subtracts from it. The agent must exist, because money for a misspelt id would be lost. A
// top-up with a reference is made only once. Errors: pat.ErrNotFound, money.ErrAmount, store.ErrReferenceUsed.
func (o *Operations) TopUp(ctx context.Context, s *service.Service, t TopUp) (TopUpResult, error) {
	if len(t.Reference) > maxReference || !api.Printable(t.Reference) {
		return TopUpResult{}, api.WrongMember("reference", fmt.Sprintf("must be one line of at most %d bytes", maxReference))
	}
	for prefix, of := range map[string]string{store.RefundPrefix: "refunds", store.MovePrefix: "moves of credit"} {
		if strings.HasPrefix(t.Reference, prefix) {
			return TopUpResult{}, api.WrongMember("reference", "must not begin with "+prefix+", because "+of+" have such references")
		}
	}
	amount, err := money.Parse(t.Amount)
	if err != nil {
		return TopUpResult{}, err
	}
	if _, err := o.Store.Agent(ctx, s.ID, t.AgentID); err != nil {
		return TopUpResult{}, err
	}
	entered := store.TopUp{Service: s.ID, AgentID: t.AgentID, Amount: amount, Reference: t.Reference, Reverse: t.Reverse}
	repeated, err := o.Store.TopUp(ctx, entered)
	if err != nil {
		return TopUpResult{}, err
	}
	list, err := o.Store.Accounts(ctx, store.Filter{Service: s.ID, AgentID: t.AgentID, Limit: api.MaxLimit})
	if err != nil {
		return TopUpResult{}, err
	}
	for _, account := range list {
		if account.Currency == amount.Currency {
			return TopUpResult{showAccount(account), repeated}, nil
		}
	}
	return TopUpResult{}, store.ErrNotFound
}
