package calls

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A UsageQuery selects ledger entries or executions of a service.
type UsageQuery struct {
	Service string `query:"service"`
	api.PageRequest
	AgentID pat.AgentID `query:"agent_id"` // empty: all agents
	// State is the state of the execution, or of the ledger entry; empty: all.
	State store.State `query:"state" enum:"held,captured,released,unresolved"`
}

// filter converts a query about a service into one of the store.
func (q *UsageQuery) filter(s *service.Service) store.Filter {
	return store.Filter{Service: s.ID, AgentID: q.AgentID, State: q.State, After: q.After, Limit: q.Max()}
}

// An Entry is one line of the ledger.
type Entry struct {
	Seq         int64       `json:"seq"`
	At          time.Time   `json:"at"`
	AgentID     pat.AgentID `json:"agent_id"`
	Amount      string      `json:"amount"`
	Currency    string      `json:"currency"`
	From        store.State `json:"from,omitempty"`
	To          store.State `json:"to,omitempty"` // empty: a top-up
	By          string      `json:"by"`           // agent, sweeper, service or operator
	ExecutionID string      `json:"execution_id,omitempty"`
	Intent      string      `json:"intent,omitempty"`
	Rule        string      `json:"rule,omitempty"`
	Reference   string      `json:"reference,omitempty"` // only for a top-up
}

func showEntry(e store.Entry) Entry {
	return Entry{
		Seq: e.Seq, At: e.At.UTC(), AgentID: e.AgentID, Amount: e.Amount.Decimal(), Currency: e.Amount.Currency, From: e.From, To: e.To,
		By: e.By, ExecutionID: e.ExecutionID, Intent: e.Intent, Rule: e.Rule, Reference: e.Reference,
	}
}

// Ledger lists every change of a charge and every top-up, newest first.
func (o *Operations) Ledger(ctx context.Context, s *service.Service, q UsageQuery) (api.Page[Entry], error) {
	f := q.filter(s)
	if _, err := strconv.ParseInt(f.After, 10, 64); f.After != "" && err != nil {
		return api.Page[Entry]{}, api.WrongParameter("after", "must be the number of a ledger entry")
	}
	list, err := o.Store.Ledger(ctx, f)
	return api.PageOf(list, f.Limit, showEntry, func(e store.Entry) string { return strconv.FormatInt(e.Seq, 10) }), err
}

// An Execution is the record of one call. It has the status of the response but not its content.
type Execution struct {
	ID             string          `json:"id"`
	AgentID        pat.AgentID     `json:"agent_id"`
	Intent         string          `json:"intent"`
	State          store.State     `json:"state"`
	Outcome        store.Outcome   `json:"outcome,omitempty"`
	Amount         string          `json:"amount"` // 0.00: free
	Currency       string          `json:"currency,omitempty"`
	Rule           string          `json:"rule,omitempty"`
	AgreementID    pat.AgreementID `json:"agreement_id"`
	TokenID        pat.TokenID     `json:"jti"`
	PolicyDigest   string          `json:"policy_digest"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	AnswerStatus   int             `json:"answer_status,omitempty"`
	AnswerReason   string          `json:"answer_reason,omitempty"`
	BeganAt        time.Time       `json:"begun_at"`
	Deadline       time.Time       `json:"deadline"`
	SettledAt      time.Time       `json:"settled_at,omitzero"`
}

func showExecution(e store.Execution) Execution {
	out := Execution{
		ID: e.ID, AgentID: e.AgentID, Intent: e.Intent, State: e.State, Outcome: e.Outcome, Amount: e.Charge.Decimal(),
		Currency: e.Charge.Currency,
		Rule:     e.Rule, AgreementID: e.AgreementID, TokenID: e.TokenID, PolicyDigest: e.PolicyDigest, IdempotencyKey: e.IdempotencyKey,
		BeganAt: e.BeganAt.UTC(), Deadline: e.Deadline.UTC(), SettledAt: e.SettledAt,
	}
	if e.Answer != nil {
		out.AnswerStatus, out.AnswerReason = http.StatusOK, string(e.Answer.Reason)
		if e.Answer.Reason != "" {
			out.AnswerStatus = (&reason.Refusal{Reason: e.Answer.Reason, Code: e.Answer.Code}).Status()
		}
	}
	return out
}

// Executions lists the calls that were charged or had an idempotency key, newest first.
func (o *Operations) Executions(ctx context.Context, s *service.Service, q UsageQuery) (api.Page[Execution], error) {
	f := q.filter(s)
	list, err := o.Store.Executions(ctx, f)
	return api.PageOf(list, f.Limit, showExecution, func(e store.Execution) string { return e.ID }), err
}

// Execution returns one call.
func (o *Operations) Execution(ctx context.Context, s *service.Service, r api.Record) (Execution, error) {
	e, err := o.Store.Execution(ctx, s.ID, r.ID)
	if err != nil {
		return Execution{}, err
	}
	return showExecution(e), nil
}

// A Resolution is the operator's decision about a call of unknown outcome.
type Resolution struct {
	api.Record `json:"-"`
	State      store.State `json:"state"` // store.Captured or store.Released
}

// Details returns the details of the change for the audit stream.
func (r Resolution) Details() map[string]string { return map[string]string{"state": string(r.State)} }

// Resolve captures or releases the charge of a call of unknown outcome, as the operator decides.
func (o *Operations) Resolve(ctx context.Context, s *service.Service, r Resolution) (Execution, error) {
	if r.State != store.Captured && r.State != store.Released {
		return Execution{}, api.WrongMember("state", "must be captured or released")
	}
	e, err := o.Store.Resolve(ctx, s.ID, r.ID, r.State)
	if err != nil {
		return Execution{}, err
	}
	return showExecution(e), nil
}
