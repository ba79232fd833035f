// Package billing has the operations on money: accounts, payments, statements, invoices, refunds, and the evidence of charges.
package billing

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/receipt"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A Store is the state that the operations read and change.
type Store interface {
	api.Names
	receipt.Ledger
	Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error)
	Agreement(ctx context.Context, service string, id pat.AgreementID) (pat.Agreement, error)
	Policy(ctx context.Context, service, digest string) (pat.PolicyDocument, error)
	Accounts(ctx context.Context, f store.Filter) ([]store.Account, error)
	Execution(ctx context.Context, service, id string) (store.Execution, error)
	ChargedCalls(ctx context.Context, s store.Statement) ([]store.ChargedCalls, error)
	Entries(ctx context.Context, f store.EntryFilter) ([]store.LedgerEntry, error)
	// Entry returns the entry about a call that has the state to. If to is empty, it returns the newest entry about the call.
	Entry(ctx context.Context, service string, agent pat.AgentID, execution string, to store.State) (store.LedgerEntry, error)
	TopUp(ctx context.Context, t store.TopUp) (repeated bool, err error)
	TopUpEntry(ctx context.Context, service string, agent pat.AgentID, reference string) (store.LedgerEntry, error)
	MoveCredit(ctx context.Context, m store.CreditMove) (made store.CreditMove, repeated bool, err error)
	Payments(ctx context.Context, f store.PaymentFilter) ([]store.Payment, error)
	Payment(ctx context.Context, service, reference string) (store.Payment, error)
	MovePayment(ctx context.Context, service, reference string, to store.PaymentMove) (store.Payment, error)
	Refund(ctx context.Context, r store.Refund) (made store.Refund, repeated bool, err error)
	Refunds(ctx context.Context, f store.RefundFilter) ([]store.Refund, error)
	Revenue(ctx context.Context, f store.RevenueFilter) ([]store.Revenue, error)
	Invoice(ctx context.Context, service string, id pat.AgentID, month string) (store.Invoice, error)
	Invoices(ctx context.Context, f store.InvoiceFilter) ([]store.Invoice, error)
	IssueInvoice(ctx context.Context, i store.Invoice) (issued store.Invoice, repeated bool, err error)
	// SetBuyer sets the buyer of an agent; nil deletes it. The error wraps pat.ErrNotFound if the agent does not exist.
	SetBuyer(ctx context.Context, service string, id pat.AgentID, b *store.Buyer) error
	// Buyer returns the buyer of an agent, or nil if there is none. The error wraps pat.ErrNotFound if the agent does not exist.
	Buyer(ctx context.Context, service string, id pat.AgentID) (*store.Buyer, error)
}

// Operations carries out the operations on money. It is safe for concurrent use.
type Operations struct {
	Store    Store
	Now      func() time.Time
	Receipts *receipt.Signer // nil: Evidence and Receipt return an error
	Logs     Logs            // nil: Evidence has no proofs of the log
}
