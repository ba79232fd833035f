package admin

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/gateway/receipt"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A Store is the state that operators read and change.
type Store interface {
	Evidence
	Listings
	Usage
	Ledger
	Customers
	Stops
	Replicas
	// RequestsByID returns the newest requests with an id, the oldest of them first, at most store.MostRequests.
	RequestsByID(ctx context.Context, id string) ([]store.IndexedRequest, error)
	// Requests returns requests of the index, the newest first, and the position at which the listing continues, which is zero at the end.
	Requests(ctx context.Context, f store.RequestFilter) ([]store.IndexedRequest, store.RequestCursor, error)
	// AddInvitation stores an invitation to consent.
	AddInvitation(ctx context.Context, i store.Invitation) error
	// AddConsoleLink stores a link that signs one person in to the console.
	AddConsoleLink(ctx context.Context, l store.ConsoleLink) error
	// ConsoleSession returns a session of the console, or store.ErrNotFound.
	ConsoleSession(ctx context.Context, id string) (store.ConsoleSession, error)
	// EndConsoleSession ends a session of the console. A missing session is not an error.
	EndConsoleSession(ctx context.Context, id string) error
	// Ready returns an error if the state cannot be written to within a bounded time.
	Ready(ctx context.Context) error
	// SetBack reports when the state was last found to have been set back to an earlier state, and by how much.
	SetBack() store.SetBack
	// ServerChanged reports whether the database is on another server or timeline than before.
	ServerChanged() bool
	// HeldLimits reports which limits are held back because of a restore or a step of the clock.
	HeldLimits() store.HeldLimits
}

// Evidence returns the records that belong to agreements, by service and id. The errors wrap pat.ErrNotFound if there is no such record.
type Evidence interface {
	Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error)
	Agreement(ctx context.Context, service string, id pat.AgreementID) (pat.Agreement, error)
	// Budgets returns the changed budgets of a consent, the oldest first.
	Budgets(ctx context.Context, service string, id pat.AgreementID) ([]pat.SignedBudget, error)
	Policy(ctx context.Context, service, digest string) (pat.PolicyDocument, error)
	Token(ctx context.Context, service string, jti pat.TokenID) (pat.Token, error)
}

// Listings returns pages of the records that belong to agreements.
type Listings interface {
	Agents(ctx context.Context, f store.AgentFilter) ([]pat.Agent, error)
	Backlog(ctx context.Context, service string) (store.Backlog, error)
	Holders
	Agreements(ctx context.Context, f store.AgreementFilter) ([]pat.Agreement, error)
	RecentPolicies(ctx context.Context, service string, limit int) ([]pat.PolicyDocument, error)
	Tokens(ctx context.Context, f store.TokenFilter) ([]store.ListedToken, error)
}

// Usage returns the calls, charges and balances of agents.
type Usage interface {
	Execution(ctx context.Context, service, id string) (store.Execution, error)
	Executions(ctx context.Context, f store.Filter) ([]store.Execution, error)
	Ledger(ctx context.Context, f store.Filter) ([]store.Entry, error)
	Accounts(ctx context.Context, f store.Filter) ([]store.Account, error)
	receipt.Ledger
	Refunds(ctx context.Context, f store.RefundFilter) ([]store.Refund, error)
	Revenue(ctx context.Context, f store.RevenueFilter) ([]store.Revenue, error)
	Invoice(ctx context.Context, service string, id pat.AgentID, month string) (store.Invoice, error)
	Invoices(ctx context.Context, f store.InvoiceFilter) ([]store.Invoice, error)
	TopUpEntry(ctx context.Context, service string, agent pat.AgentID, reference string) (store.LedgerEntry, error)
	Entries(ctx context.Context, f store.EntryFilter) ([]store.LedgerEntry, error)
	// Entry returns the entry about a call with this state or, if to is empty, the newest entry about the call.
	Entry(ctx context.Context, service string, agent pat.AgentID, execution string, to store.State) (store.LedgerEntry, error)
	ChargedCalls(ctx context.Context, s store.Statement) ([]store.ChargedCalls, error)
	Pool(ctx context.Context, service string, credit money.Amount, users int) (store.Pool, error)
}

// Ledger changes the charges and balances of agents as the operator decides.
type Ledger interface {
	Resolve(ctx context.Context, service, id string, to store.State) (store.Execution, error)
	TopUp(ctx context.Context, t store.TopUp) (repeated bool, err error)
	Refund(ctx context.Context, r store.Refund) (made store.Refund, repeated bool, err error)
	MoveCredit(ctx context.Context, m store.CreditMove) (made store.CreditMove, repeated bool, err error)
	IssueInvoice(ctx context.Context, i store.Invoice) (issued store.Invoice, repeated bool, err error)
	Payments(ctx context.Context, f store.PaymentFilter) ([]store.Payment, error)
	Payment(ctx context.Context, service, reference string) (store.Payment, error)
	MovePayment(ctx context.Context, service, reference string, to store.PaymentMove) (store.Payment, error)
}

// Stops stores the stops of the operator.
type Stops interface {
	// Stop records a stop, and returns its record: a stop that is already in force is not changed. The error is store.ErrFull if
	// store.MostStops others are in force.
	Stop(ctx context.Context, stop pat.Stop) (pat.Stop, error)
	// Resume ends a stop, or returns store.ErrNotFound.
	Resume(ctx context.Context, stop pat.Stop) (pat.Stop, error)
	// Stops returns the stops in force, the newest first.
	Stops(ctx context.Context) ([]pat.Stop, error)
	// EndedStops returns the stops that ended last, at most limit.
	EndedStops(ctx context.Context, limit int) ([]pat.Stop, error)
	// StopReads returns when processes read changes of stops: see pat.Stop.Change.
	StopReads(ctx context.Context, changes []int64) ([]store.StopRead, error)
}

// Replicas returns what the processes that share the store report.
type Replicas interface {
	// Processes returns the processes that have reported recently and have not ended, and how many processes have the database open.
	Processes(ctx context.Context) (list []store.Process, open int, err error)
	// Reloads returns the newest reloads, the newest first, at most limit.
	Reloads(ctx context.Context, limit int) ([]store.Reload, error)
	// CallFigures returns the figures of periods of a length that begin at or after a time, except those of one process.
	CallFigures(ctx context.Context, length time.Duration, from time.Time, except string) ([]store.CallFigures, error)
}

// Customers stores the operator's names for agents, and the customers to whom their invoices are made out.
type Customers interface {
	// NameAgent sets the name of an agent; "" removes it. The error wraps pat.ErrNotFound if there is no such agent.
	NameAgent(ctx context.Context, service string, id pat.AgentID, name string) error
	// AgentNames returns the names of the agents among ids that have one.
	AgentNames(ctx context.Context, service string, ids []pat.AgentID) (map[pat.AgentID]string, error)
	// SetBuyer sets the buyer of an agent; nil deletes it. The error wraps pat.ErrNotFound if there is no such agent.
	SetBuyer(ctx context.Context, service string, id pat.AgentID, b *store.Buyer) error
	// Buyer returns the buyer of an agent, or nil if there is none. The error wraps pat.ErrNotFound if there is no such agent.
	Buyer(ctx context.Context, service string, id pat.AgentID) (*store.Buyer, error)
}
