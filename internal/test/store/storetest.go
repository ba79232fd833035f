// Package storetest is the test suite for engines of package store and of the stores of package pat. It tries to break each promise of
// those contracts. An engine's own test is
//
//	func TestConformance(t *testing.T) { storetest.Run(t, open) }
//
// and, for the promises about killed processes, Work in a separate process and Crash in the test.
package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/logs"
)

// An Engine is a store under test, with every method that callers of engines need.
type Engine interface {
	Records
	calls
	leases
	ledgers
	listings
	upkeep
	consents
	consoles
	processes
	almanac
	uses
	requests
	chains
	Logs() *logs.Logs
}

type calls interface {
	Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error)
	Settle(ctx context.Context, a store.Admission, to store.Settlement) (store.Execution, error)
	Resolve(ctx context.Context, service, id string, to store.State) (store.Execution, error)
	Reconcile(ctx context.Context, service, id string, to store.State) (store.Execution, error)
	Execution(ctx context.Context, service, id string) (store.Execution, error)
	Executions(ctx context.Context, f store.Filter) ([]store.Execution, error)
	Calls(ctx context.Context, f store.CallFilter) ([]store.Execution, int, error)
	Call(ctx context.Context, c store.CallScope, id string) (store.Execution, error)
	KeyedCall(ctx context.Context, c store.CallScope, key string) (store.Execution, error)
}

type leases interface {
	Fits(ctx context.Context, service string, of []store.Reservation) ([]limit.Status, error)
	Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error)
	Used(service string, id pat.AgreementID) bool
}

type ledgers interface {
	TopUp(ctx context.Context, t store.TopUp) (repeated bool, err error)
	Refund(ctx context.Context, r store.Refund) (made store.Refund, repeated bool, err error)
	MoveCredit(ctx context.Context, m store.CreditMove) (made store.CreditMove, repeated bool, err error)
	Refunds(ctx context.Context, f store.RefundFilter) ([]store.Refund, error)
	Revenue(ctx context.Context, f store.RevenueFilter) ([]store.Revenue, error)
	IssueInvoice(ctx context.Context, i store.Invoice) (issued store.Invoice, repeated bool, err error)
	Invoice(ctx context.Context, service string, id pat.AgentID, month string) (store.Invoice, error)
	Invoices(ctx context.Context, f store.InvoiceFilter) ([]store.Invoice, error)
	Ledger(ctx context.Context, f store.Filter) ([]store.Entry, error)
	Accounts(ctx context.Context, f store.Filter) ([]store.Account, error)
	Statements(ctx context.Context, f store.StatementFilter) ([]store.Statement, error)
	ChargedCalls(ctx context.Context, s store.Statement) ([]store.ChargedCalls, error)
	CheckBalance(ctx context.Context) error
	Pool(ctx context.Context, service string, credit money.Amount, users int) (store.Pool, error)
	Pay(ctx context.Context, p store.Payment, most money.Amount) (store.Payment, bool, error)
	MovePayment(ctx context.Context, service, reference string, to store.PaymentMove) (store.Payment, error)
	Payment(ctx context.Context, service, reference string) (store.Payment, error)
	Payments(ctx context.Context, f store.PaymentFilter) ([]store.Payment, error)
	OpenPayment(ctx context.Context, service, agent string) (store.Payment, bool, error)
	DropPayment(ctx context.Context, service, reference string, after time.Time) error
	Affords(ctx context.Context, service string, agent pat.AgentID, charge money.Amount, billing store.Billing) error
	TopUpEntry(ctx context.Context, service string, agent pat.AgentID, reference string) (store.LedgerEntry, error)
	DuePayments(ctx context.Context, by time.Time, limit int) ([]store.Payment, error)
}

type listings interface {
	Agents(ctx context.Context, f store.AgentFilter) ([]pat.Agent, error)
	Backlog(ctx context.Context, service string) (store.Backlog, error)
	NameAgent(ctx context.Context, service string, id pat.AgentID, name string) error
	AgentNames(ctx context.Context, service string, ids []pat.AgentID) (map[pat.AgentID]string, error)
	SetBuyer(ctx context.Context, service string, id pat.AgentID, b *store.Buyer) error
	Buyer(ctx context.Context, service string, id pat.AgentID) (*store.Buyer, error)
	Holders(ctx context.Context, service string, ids []pat.AgentID) ([]pat.Agent, error)
	Agreements(ctx context.Context, f store.AgreementFilter) ([]pat.Agreement, error)
	Tokens(ctx context.Context, f store.TokenFilter) ([]store.ListedToken, error)
	OfferPolicy(ctx context.Context, p pat.PolicyDocument) error
	RecentPolicies(ctx context.Context, service string, n int) ([]pat.PolicyDocument, error)
}

type upkeep interface {
	Sweep(ctx context.Context) (int, error)
	ReplacePlans(ctx context.Context) (int, error)
	Purge(ctx context.Context) (int, error)
	MarkRestored(ctx context.Context, l store.RestoredLimits) error
	RestoredAt() time.Time
	HeldLimits() store.HeldLimits
	Ready(ctx context.Context) error
	Close() error
}

type consents interface {
	AddConsent(ctx context.Context, c store.Consent) error
	Consent(ctx context.Context, service, handle string) (store.Consent, error)
	ConsentByRefresh(ctx context.Context, service, handle string) (store.Consent, error)
	LastConsent(ctx context.Context, service, browser, client string) (store.Consent, error)
	SetCode(ctx context.Context, service, handle, code string, until time.Time) error
	UseCode(ctx context.Context, service, handle, code string) error
	Rotate(ctx context.Context, service, handle, refresh, next string) error
	AddClient(ctx context.Context, c store.Client, most int, before time.Time) error
	Client(ctx context.Context, service, id string) (store.Client, error)
	KeepClient(ctx context.Context, service, id string, until time.Time) error
	AddInvitation(ctx context.Context, i store.Invitation) error
	TakeInvitation(ctx context.Context, service, code string) (store.Invitation, error)
	AskConfirmation(ctx context.Context, c store.Confirmation, most int) (store.Confirmation, error)
	Confirmation(ctx context.Context, service, id string) (store.Confirmation, error)
	NewestConfirmation(ctx context.Context, service, agent, binding string) (store.Confirmation, error)
	DecideConfirmation(ctx context.Context, service, id, token, record string, until time.Time) error
	MissConfirmation(ctx context.Context, service, id string, most int) error
	RecentConfirmations(ctx context.Context, service, agent string, since time.Time) (map[string]store.ConfirmationState, error)
	SetBudget(ctx context.Context, service string, id pat.AgreementID, number int, b pat.SignedBudget) error
	Budgets(ctx context.Context, service string, id pat.AgreementID) ([]pat.SignedBudget, error)
	Budget(ctx context.Context, service string, id pat.AgreementID) (record string, number int, err error)
	UseConfirmation(ctx context.Context, service, id, execution string) error
	ConsentOf(ctx context.Context, service string, agreement pat.AgreementID) (store.Consent, error)
	ConsentsOf(ctx context.Context, service, browser string, limit int) ([]store.Consent, error)
}

type uses interface {
	NoteUses(ctx context.Context, uses []store.IntentUse) error
	Uses(ctx context.Context, service string, since time.Time) ([]store.IntentUse, error)
}

type almanac interface {
	Register(ctx context.Context, r store.Registration, most store.RegistrationBounds) error
	SetActive(ctx context.Context, service, address string, active bool, signed time.Time) error
	Registration(ctx context.Context, service, address string) (store.Registration, error)
	Registrations(ctx context.Context, service, protocol, after string, limit int) ([]store.Registration, error)
}

type requests interface {
	IndexRequests(ctx context.Context, list []store.IndexedRequest) error
	RequestsByID(ctx context.Context, id string) ([]store.IndexedRequest, error)
	Requests(ctx context.Context, f store.RequestFilter) ([]store.IndexedRequest, store.RequestCursor, error)
}

// Records is the part of an engine that stores agreements, PATs and keys.
type Records interface {
	pat.IssuerStore
	keys.Store
	pat.ViewStore
	Policy(ctx context.Context, service, digest string) (pat.PolicyDocument, error)
	Stop(ctx context.Context, stop pat.Stop) (pat.Stop, error)
	Resume(ctx context.Context, stop pat.Stop) (pat.Stop, error)
	Stops(ctx context.Context) ([]pat.Stop, error)
}

// LedgerKept is how long an engine under test keeps the ledger.
const LedgerKept = 400 * 24 * time.Hour

// An Opener opens the state in a directory, which is empty at first. The engine keeps the ledger for LedgerKept. The suite closes each
// engine, and may open the same place twice at a time.
type Opener func(t *testing.T, place string, now func() time.Time) Engine

// A Clock is a clock that tests set.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a Clock set to now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock. A negative duration moves it back.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// start is a moment inside a slot of every period, not at an edge.
var start = time.Date(2026, 3, 14, 15, 9, 26, 535_897_932, time.UTC)

// A suite is one open engine with its clock.
type suite struct {
	Engine
	*testing.T
	clock *Clock
	place string
	open  Opener
	ids   atomic.Int64 // scenarios may make requests concurrently
}

// each runs scenarios concurrently, each on its own engine.
func each(t *testing.T, open Opener, scenarios map[string]func(*suite)) {
	t.Helper()
	for name, scenario := range scenarios {
		if leavesOut(t, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario(newSuite(t, open))
		})
	}
}

// balancedEach is each, and checks after each scenario that the ledger balances.
func balancedEach(t *testing.T, open Opener, scenarios map[string]func(*suite)) {
	t.Helper()
	balanced := map[string]func(*suite){}
	for name, scenario := range scenarios {
		balanced[name] = func(b *suite) {
			scenario(b)
			b.balanced()
		}
	}
	each(t, open, balanced)
}

func newSuite(t *testing.T, open Opener) *suite {
	t.Helper()
	b := &suite{T: t, clock: NewClock(start), place: t.TempDir(), open: open}
	b.Engine = open(t, b.place, b.clock.Now)
	t.Cleanup(func() { b.must(b.Close()) })
	return b
}

// reopen closes the engine and opens its state again.
func (b *suite) reopen() {
	b.Helper()
	b.must(b.Close())
	b.Engine = b.open(b.T, b.place, b.clock.Now)
}

// neverJumps reports whether the engine has its own clock. If the engine is opened after the test's clock was set back, that clock starts
// at the last slot. While the engine is open, it follows the test's clock.
func (b *suite) neverJumps() bool {
	_, never := b.Engine.(interface{ NeverJumps() })
	return never
}

func (b *suite) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *suite) want(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Fatalf("error %v; want %v", err, want)
	}
}

// id returns ids that grow, like UUIDv7.
func (b *suite) id() string {
	return fmt.Sprintf("01900000-0000-7000-8000-%012d", b.ids.Add(1))
}

const (
	service = "shop"
	agent   = "agent-1"
)

func usd(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: "USD"} }

func rate(id string, most int64, p limit.Period) store.Reservation {
	return store.Reservation{Principal: agent, Limit: limit.Limit{ID: id, Rate: limit.Rate{Max: most, Period: p}}}
}

// free returns a call without a charge, a key or a proof.
func (b *suite) free(limits ...store.Reservation) store.BeginRequest {
	return store.BeginRequest{
		Execution:  store.Execution{ID: b.id(), Service: service, AgentID: agent, Intent: "example.com:buy:v1", Fingerprint: "f"},
		Candidates: []store.Candidate{{Rule: "rule", Limits: limits}},
		Hold:       time.Minute, KeyFor: 24 * time.Hour,
	}
}

// keyed returns a free call with an idempotency key.
func (b *suite) keyed(key string, limits ...store.Reservation) store.BeginRequest {
	r := b.free(limits...)
	r.Execution.IdempotencyKey = key
	return r
}

// paid returns a charged call with enough credit.
func (b *suite) paid(nano int64, limits ...store.Reservation) store.BeginRequest {
	r := b.free(limits...)
	r.Candidates[0].Charge = usd(nano)
	r.Billing.Credit = usd(money.Unit)
	return r
}

func (b *suite) begin(r store.BeginRequest) store.Admission {
	b.Helper()
	admission, err := b.Begin(b.Context(), r)
	b.must(err)
	return admission
}

// refused begins a call that a limit must refuse.
func (b *suite) refused(r store.BeginRequest) store.LimitError {
	b.Helper()
	admission, err := b.Begin(b.Context(), r)
	refusal, ok := errors.AsType[*store.LimitError](err)
	if !ok {
		b.Fatalf("%v; want a LimitError", err)
	}
	if len(admission.Taken) != 0 || admission.Recorded {
		b.Fatalf("refused, yet %+v", admission)
	}
	return *refusal
}

func (b *suite) settle(admission store.Admission, to store.State, o store.Outcome) store.Execution {
	b.Helper()
	e, err := b.Settle(b.Context(), admission, store.Settlement{State: to, Outcome: o})
	b.must(err)
	return e
}

// account reads the only account of the agent.
func (b *suite) account() store.Account {
	b.Helper()
	list, err := b.Accounts(b.Context(), store.Filter{Service: service, AgentID: agent})
	b.must(err)
	if len(list) != 1 {
		b.Fatalf("accounts: %+v; want one", list)
	}
	return list[0]
}

// balanced checks that the accounts are the sums over the ledger, and that the entries of each execution form one path.
func (b *suite) balanced() {
	b.Helper()
	if err := checkLedger(b.Context(), b.Engine); err != nil {
		b.Fatal(err)
	}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha-256:" + hex.EncodeToString(sum[:])
}

// agreement returns a fresh agreement of the agent with its first key.
func (b *suite) agreement(nonce string) (pat.Agreement, pat.PolicyDocument) {
	p := pat.PolicyDocument{
		Service: service, Digest: digest("policy"), UID: "https://shop.example/policy", Bytes: []byte(`{"uid":1}`),
		FirstOffered: start,
	}
	return pat.Agreement{
		ID: pat.AgreementID(b.id()), Service: service, Issuer: "shop.example", AgentID: agent, KeyID: "key-1", PublicKey: []byte{1, 2, 3},
		PolicyUID: p.UID, PolicyDigest: p.Digest, Assurance: pat.Fresh, Form: "jws-agreement", Signed: []byte("signed bytes"),
		Signature: []byte("a.b.c"), Nonce: nonce, Scope: []string{"a:b:execute", "é\"<"}, State: pat.AgreementActive, CreatedAt: start,
	}, p
}

func (b *suite) agree(a pat.Agreement, p pat.PolicyDocument) pat.Agreement {
	b.Helper()
	got, err := b.Agree(b.Context(), pat.NewAgreement{Agreement: a, Policy: p, NonceUntil: b.clock.Now().Add(time.Hour)})
	b.must(err)
	return got
}

// token returns a PAT under an agreement.
func (b *suite) token(a pat.Agreement) pat.Token {
	now, id := b.clock.Now(), pat.TokenID(b.id())
	return pat.Token{
		ID: id, Family: id, Service: a.Service, AgreementID: a.ID, AgentID: a.AgentID, KeyID: a.KeyID, PolicyDigest: a.PolicyDigest,
		Scope: a.Scope, LimitRate: 10, LimitPeriod: 3600, Assurance: a.Assurance, SigningKeyID: "kid", IssuedAt: now,
		ExpiresAt: now.Add(time.Hour),
	}
}

func (b *suite) issue(a pat.Agreement) pat.Token {
	b.Helper()
	k := b.token(a)
	b.must(b.Issue(b.Context(), k))
	return k
}
