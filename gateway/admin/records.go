package admin

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A Page is one page of a listing. Next is what to send as ?after= for the page after it; empty where
// there is none.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// pageOf turns records into a page; a page that is not full is the last.
func pageOf[R, T any](records []R, limit int, show func(R) T, cursor func(R) string) Page[T] {
	p := Page[T]{Items: make([]T, 0, len(records))}
	for _, r := range records {
		p.Items = append(p.Items, show(r))
	}
	if len(records) >= limit {
		p.Next = cursor(records[len(records)-1])
	}
	return p
}

// An Agent is an agent as operators see it.
type Agent struct {
	AgentID   string          `json:"agent_id"`
	Status    pat.AgentStatus `json:"status"` // active or blocked
	Approved  bool            `json:"approved"`
	Keys      []string        `json:"keys"` // RFC 7638 thumbprints
	CreatedAt time.Time       `json:"created_at"`
	Reason    string          `json:"reason,omitempty"` // why it is blocked
}

func showAgent(a pat.Agent) Agent {
	keys := make([]string, len(a.Keys))
	for i, key := range a.Keys {
		keys[i] = string(key)
	}
	return Agent{string(a.ID), a.Status, a.Approved, keys, a.CreatedAt.UTC(), a.Reason}
}

// An Agreement is an agreement as operators see it; its evidence is in the export.
type Agreement struct {
	ID           string             `json:"id"`
	AgentID      string             `json:"agent_id"`
	KeyID        string             `json:"jkt"`
	Issuer       string             `json:"issuer"`
	PolicyUID    string             `json:"policy_uid"`
	PolicyDigest string             `json:"policy_digest"`
	Assurance    pat.Assurance      `json:"assurance"` // fresh or static
	Form         string             `json:"form"`
	Scope        []string           `json:"scope,omitempty"` // as signed; not in listings, nor where nothing was named
	State        pat.AgreementState `json:"state"`           // pending, active or revoked
	CreatedAt    time.Time          `json:"created_at"`
}

func showAgreement(a pat.Agreement) Agreement {
	return Agreement{
		ID: string(a.ID), AgentID: string(a.AgentID), KeyID: string(a.KeyID), Issuer: a.Issuer, PolicyUID: a.PolicyUID, PolicyDigest: a.PolicyDigest,
		Assurance: a.Assurance, Form: a.Form, Scope: a.Scope, State: a.State, CreatedAt: a.CreatedAt.UTC(),
	}
}

// A Policy is a policy that was offered, the one offered now among them.
type Policy struct {
	UID          string    `json:"uid"`
	Digest       string    `json:"digest"`
	Offered      bool      `json:"offered"` // now
	FirstOffered time.Time `json:"first_offered,omitzero"`
}

// The states of a PAT, as operators see them.
const (
	PATActive  = "active"
	PATRenewed = "renewed" // its last minute, after its renewal, is over
	PATRevoked = "revoked"
	PATExpired = "expired"
)

// A PAT is the record of a PAT. The PAT itself is never kept.
type PAT struct {
	ID           string        `json:"jti"`
	AgentID      string        `json:"agent_id"`
	AgreementID  string        `json:"agreement_id"`
	KeyID        string        `json:"jkt"`
	PolicyDigest string        `json:"policy_digest"`
	Assurance    pat.Assurance `json:"assurance"`
	Scope        []string      `json:"scope"`
	Limit        pat.Limit     `json:"lmt"`
	SigningKeyID string        `json:"kid"`
	State        string        `json:"state"`
	IssuedAt     time.Time     `json:"issued_at"`
	ExpiresAt    time.Time     `json:"expires_at"`
	EndsAt       time.Time     `json:"ends_at,omitzero"` // earlier, because it was renewed
	RenewedTo    string        `json:"renewed_to,omitempty"`
}

func showPAT(t store.ListedToken, now time.Time) PAT {
	state := PATActive
	switch {
	case !now.Before(t.ExpiresAt):
		state = PATExpired
	case t.Revoked:
		state = PATRevoked
	case !t.EndsAt.IsZero() && !now.Before(t.EndsAt):
		state = PATRenewed
	}
	return PAT{
		ID: string(t.ID), AgentID: string(t.AgentID), AgreementID: string(t.AgreementID), KeyID: string(t.KeyID), PolicyDigest: t.PolicyDigest, Assurance: t.Assurance,
		Scope: t.Scope, Limit: pat.Limit{Rate: t.LimitRate, Period: t.LimitPeriod}, SigningKeyID: string(t.SigningKeyID), State: state,
		IssuedAt: t.IssuedAt.UTC(), ExpiresAt: t.ExpiresAt.UTC(), EndsAt: t.EndsAt, RenewedTo: string(t.RenewedTo),
	}
}

// An Account is how one agent stands in one currency. Amounts are exact decimals.
type Account struct {
	AgentID  string `json:"agent_id"`
	Currency string `json:"currency"`
	ToppedUp string `json:"topped_up"`
	Held     string `json:"held"` // held or unresolved
	Captured string `json:"captured"`
	Balance  string `json:"balance"` // topped up less held and captured; below zero it is owed
}

func showAccount(a store.Account) Account {
	balance := money.Amount{Nano: a.ToppedUp.Nano - a.Held.Nano - a.Captured.Nano, Currency: a.Currency}
	return Account{string(a.AgentID), a.Currency, a.ToppedUp.Decimal(), a.Held.Decimal(), a.Captured.Decimal(), balance.Decimal()}
}

// A TopUp is the account after a top-up.
type TopUp struct {
	Account
	Repeated bool `json:"repeated,omitempty"` // it was made before, under the same reference: nothing was done now
}

// An Entry is one line of the ledger.
type Entry struct {
	Seq         int64       `json:"seq"`
	At          time.Time   `json:"at"`
	AgentID     string      `json:"agent_id"`
	Amount      string      `json:"amount"`
	Currency    string      `json:"currency"`
	From        store.State `json:"from,omitempty"`
	To          store.State `json:"to,omitempty"` // empty: a top-up
	By          string      `json:"by"`           // agent, sweeper or operator
	ExecutionID string      `json:"execution_id,omitempty"`
	Intent      string      `json:"intent,omitempty"`
	Rule        string      `json:"rule,omitempty"`
	Reference   string      `json:"reference,omitempty"` // of a top-up
}

func showEntry(e store.Entry) Entry {
	return Entry{
		Seq: e.Seq, At: e.At.UTC(), AgentID: string(e.AgentID), Amount: e.Amount.Decimal(), Currency: e.Amount.Currency, From: e.From, To: e.To,
		By: e.By, ExecutionID: e.ExecutionID, Intent: e.Intent, Rule: e.Rule, Reference: e.Reference,
	}
}

// An Execution is the record of one call. What was answered to the agent is not in it, only its status.
type Execution struct {
	ID             string        `json:"id"`
	AgentID        string        `json:"agent_id"`
	Intent         string        `json:"intent"`
	State          store.State   `json:"state"`
	Outcome        store.Outcome `json:"outcome,omitempty"`
	Amount         string        `json:"amount"` // 0.00: free
	Currency       string        `json:"currency,omitempty"`
	Rule           string        `json:"rule,omitempty"`
	AgreementID    string        `json:"agreement_id"`
	TokenID        string        `json:"jti"`
	PolicyDigest   string        `json:"policy_digest"`
	IdempotencyKey string        `json:"idempotency_key,omitempty"`
	AnswerStatus   int           `json:"answer_status,omitempty"`
	AnswerReason   string        `json:"answer_reason,omitempty"`
	BegunAt        time.Time     `json:"begun_at"`
	Deadline       time.Time     `json:"deadline"`
	SettledAt      time.Time     `json:"settled_at,omitzero"`
}

func showExecution(e store.Execution) Execution {
	out := Execution{
		ID: e.ID, AgentID: string(e.AgentID), Intent: e.Intent, State: e.State, Outcome: e.Outcome, Amount: e.Charge.Decimal(), Currency: e.Charge.Currency,
		Rule: e.Rule, AgreementID: string(e.AgreementID), TokenID: string(e.TokenID), PolicyDigest: e.PolicyDigest, IdempotencyKey: e.IdempotencyKey,
		BegunAt: e.BegunAt.UTC(), Deadline: e.Deadline.UTC(), SettledAt: e.SettledAt,
	}
	if e.Answer != nil {
		out.AnswerStatus, out.AnswerReason = http.StatusOK, string(e.Answer.Reason)
		if e.Answer.Reason != "" {
			out.AnswerStatus = (&reason.Refusal{Reason: e.Answer.Reason, Code: e.Answer.Code}).Status()
		}
	}
	return out
}

// A Key is the public half of a key that signs PATs, of any process on this store.
type Key struct {
	ID        string          `json:"kid"`
	Algorithm string          `json:"alg"`
	Signing   bool            `json:"signing"` // this process signs with it
	CreatedAt time.Time       `json:"created_at"`
	NotAfter  time.Time       `json:"not_after,omitzero"` // when the last PAT it signed has ended
	JWK       json.RawMessage `json:"jwk"`
}

func showKey(k pat.SigningKey, current pat.KeyID) Key {
	return Key{string(k.ID), k.Algorithm, k.ID == current, k.CreatedAt.UTC(), k.NotAfter, k.JWK}
}
