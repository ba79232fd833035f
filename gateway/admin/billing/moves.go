package billing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// maxMoveReference bounds CreditMove.Reference, in bytes: with a prefix and a suffix, it is a reference in the ledger.
const maxMoveReference = 128

// A CreditMove moves the unused credit of an agent, such as that of a consent that has ended, to another agent of the service.
type CreditMove struct {
	Service   string      `json:"-" query:"service"`
	From      pat.AgentID `json:"from"`
	To        pat.AgentID `json:"to"`
	Amount    string      `json:"amount"`    // such as 3.75 EUR; a currency alone: all credit in it
	Reference string      `json:"reference"` // the operator's name for the move: with the same reference, it is made only once
	Reason    string      `json:"reason"`    // one line of at most 512 bytes
}

// A MovedCredit is credit that was moved. Amounts are exact decimals.
type MovedCredit struct {
	From      pat.AgentID `json:"from"`
	To        pat.AgentID `json:"to"`
	Amount    string      `json:"amount"`
	Currency  string      `json:"currency"`
	At        time.Time   `json:"at"`
	Reference string      `json:"reference"`
	Reason    string      `json:"reason"`
	// FromReference and ToReference are the references of two entries in the ledger, of kind reversal and of kind top-up.
	// The receipts are these entries, signed. A receipt is empty if the gateway has no key for receipts, or if the entry
	// was deleted.
	FromReference string `json:"from_reference"`
	ToReference   string `json:"to_reference"`
	FromReceipt   string `json:"from_receipt,omitempty"`
	ToReceipt     string `json:"to_receipt,omitempty"`
	Repeated      bool   `json:"repeated,omitempty"` // the move had been made before, so nothing was changed
}

// ChangedID returns the id of the changed record for the audit stream.
func (m MovedCredit) ChangedID() string { return string(m.From) }

// MoveCredit moves credit from one agent to another in one transaction: at most what the agent has paid in and not used, without amounts
// that are held. Both agents must exist. Errors: pat.ErrNotFound, *store.MoveError, store.ErrReferenceUsed, money.ErrAmount.
func (o *Operations) MoveCredit(ctx context.Context, s *service.Service, m CreditMove) (_ MovedCredit, err error) {
	move := store.CreditMove{Service: s.ID, From: m.From, To: m.To, Reference: m.Reference, Reason: m.Reason}
	switch {
	case strings.TrimSpace(m.Reference) == "" || len(m.Reference) > maxMoveReference || !api.Printable(m.Reference):
		return MovedCredit{}, api.WrongMember("reference", fmt.Sprintf("must be one line of 1 to %d bytes", maxMoveReference))
	case strings.TrimSpace(m.Reason) == "" || len(m.Reason) > api.MaxText || !api.Printable(m.Reason):
		return MovedCredit{}, api.WrongMember("reason", fmt.Sprintf("must be one line of 1 to %d bytes", api.MaxText))
	case m.From == m.To:
		return MovedCredit{}, api.WrongMember("to", "must not be the same agent as from")
	}
	if move.Amount, err = amountOrAll(m.Amount); err != nil {
		return MovedCredit{}, err
	}
	for _, agent := range []pat.AgentID{m.From, m.To} {
		if _, err := o.Store.Agent(ctx, s.ID, agent); err != nil {
			return MovedCredit{}, err
		}
	}
	made, repeated, err := o.Store.MoveCredit(ctx, move)
	if err != nil {
		return MovedCredit{}, err
	}
	out := MovedCredit{
		From: made.From, To: made.To, Amount: made.Amount.Decimal(), Currency: made.Amount.Currency, At: made.At.UTC(),
		Reference: made.Reference, Reason: made.Reason, Repeated: repeated,
	}
	out.FromReference, out.ToReference = made.References()
	if out.FromReceipt, err = o.topUpReceipt(ctx, s.ID, made.From, out.FromReference); err != nil {
		return MovedCredit{}, err
	}
	out.ToReceipt, err = o.topUpReceipt(ctx, s.ID, made.To, out.ToReference)
	return out, err
}

// amountOrAll reads an amount above zero, or a currency, which means all. The error wraps money.ErrAmount.
func amountOrAll(text string) (money.Amount, error) {
	if one, err := money.Parse("1 " + text); err == nil {
		return money.Amount{Currency: one.Currency}, nil
	}
	amount, err := money.Parse(text)
	if err == nil && amount.Nano <= 0 {
		err = fmt.Errorf("moving %s: %w", amount, money.ErrAmount)
	}
	return amount, err
}

// topUpReceipt returns the signed entry of a top-up or a reversal, or an empty string if there is no key for receipts or the entry was
// deleted.
func (o *Operations) topUpReceipt(ctx context.Context, service string, agent pat.AgentID, reference string) (string, error) {
	if o.Receipts == nil {
		return "", nil
	}
	entry, err := o.Store.TopUpEntry(ctx, service, agent, reference)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return o.Receipts.Receipt(ctx, entry.Bytes)
}

// MoveRefusal returns the refusal of a move, or nil for other errors.
func MoveRefusal(err error) *reason.Refusal {
	short, ok := errors.AsType[*store.MoveError](err)
	if !ok {
		return nil
	}
	return reason.AlreadySettled.Refusal("The agent has "+short.Left.String()+" of unused credit.").With("left", short.Left.Decimal()).
		With("suggestion", "uimgate usage accounts shows the balance. An amount that is held for calls cannot be moved.").Because(err)
}
