package admin

import (
	"fmt"
	"strconv"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// filter reads what the listings of usage are narrowed by.
func (r *adminRequest) filter(states ...string) (store.Filter, error) {
	service, err := r.of()
	if err != nil {
		return store.Filter{}, err
	}
	after, limit := r.query.page()
	f := store.Filter{Service: service.ID, AgentID: pat.AgentID(r.query.text("agent_id")), After: after, Limit: limit}
	if len(states) > 0 {
		f.State = store.State(r.query.oneOf("state", states...))
	}
	return f, r.query.done()
}

var executionStates = []string{string(store.Held), string(store.Captured), string(store.Released), string(store.Unresolved)}

func (a *Server) accounts(r *adminRequest) (any, error) {
	f, err := r.filter()
	if err != nil {
		return nil, err
	}
	list, err := a.Operations.Accounts(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return pageOf(list, f.Limit, showAccount, func(a store.Account) string { return string(a.AgentID) + " " + a.Currency }), nil
}

func (a *Server) ledger(r *adminRequest) (any, error) {
	f, err := r.filter(executionStates...)
	if err != nil {
		return nil, err
	}
	if _, err := strconv.ParseInt(f.After, 10, 64); f.After != "" && err != nil {
		return nil, reason.MalformedRequest.Refusal("The query parameter after must be the number of an entry.").With("parameter", "after")
	}
	list, err := a.Operations.Ledger(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return pageOf(list, f.Limit, showEntry, func(e store.Entry) string { return strconv.FormatInt(e.Seq, 10) }), nil
}

func (a *Server) executions(r *adminRequest) (any, error) {
	f, err := r.filter(executionStates...)
	if err != nil {
		return nil, err
	}
	list, err := a.Operations.Executions(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return pageOf(list, f.Limit, showExecution, func(e store.Execution) string { return e.ID }), nil
}

func (a *Server) execution(r *adminRequest) (any, error) {
	service, err := r.only()
	if err != nil {
		return nil, err
	}
	e, err := a.Operations.Execution(r.Context(), service.ID, r.id)
	if err != nil {
		return nil, err
	}
	return showExecution(e), nil
}

// resolve ends a call whose outcome is not known, by the operator's word.
func (a *Server) resolve(r *adminRequest) (any, error) {
	service, err := r.only()
	if err != nil {
		return nil, err
	}
	m, err := r.body()
	if err != nil {
		return nil, err
	}
	to := store.State(m.Text("state", true))
	if err := m.Done(); err != nil {
		return nil, err
	}
	if to != store.Captured && to != store.Released {
		return nil, m.Wrong("state", "must be captured or released")
	}
	e, err := a.Operations.Resolve(r.Context(), service.ID, r.id, to)
	if err != nil {
		return nil, err
	}
	return showExecution(e), nil
}

// topUp adds to the balance of an agent that exists, or takes back: money for a misspelt id would be lost from sight.
func (a *Server) topUp(r *adminRequest) (any, error) {
	service, err := r.only()
	if err != nil {
		return nil, err
	}
	m, err := r.body()
	if err != nil {
		return nil, err
	}
	u := store.TopUp{Service: service.ID, AgentID: pat.AgentID(m.Text("agent_id", true)), Reference: m.Text("reference", false)}
	text := m.Text("amount", true)
	if reverse, sent := m.Take("reverse"); sent {
		var ok bool
		if u.Reverse, ok = reverse.(bool); !ok {
			return nil, m.Wrong("reverse", "must be true or false")
		}
	}
	if err := m.Done(); err != nil {
		return nil, err
	}
	if len(u.Reference) > maxReference || !printableText(u.Reference) {
		return nil, m.Wrong("reference", fmt.Sprintf("must be one line of at most %d bytes", maxReference))
	}
	if u.Amount, err = money.Parse(text); err != nil {
		return nil, err
	}
	if _, err := a.Agreements.Agent(r.Context(), service.ID, u.AgentID); err != nil {
		return nil, err
	}
	repeated, err := a.Operations.TopUp(r.Context(), u)
	if err != nil {
		return nil, err
	}
	r.subject = string(u.AgentID)
	list, err := a.Operations.Accounts(r.Context(), store.Filter{Service: service.ID, AgentID: u.AgentID, Limit: maxAdminPage})
	if err != nil {
		return nil, err
	}
	for _, account := range list {
		if account.Currency == u.Amount.Currency {
			return TopUp{showAccount(account), repeated}, nil
		}
	}
	return nil, store.ErrNotFound
}

// maxReference bounds the operator's word for a top-up, in bytes.
const maxReference = 200
