package ledger

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// MoveCredit moves credit from one agent to another, in one transaction. An amount that is held for calls is not moved. repeated reports
// that the move was made before, under the same reference; nothing was changed then. Errors: *store.MoveError if the agent has less credit
// than the amount, store.ErrReferenceUsed if another move has the reference, and money.ErrAmount if the amount is invalid or the balance
// would be out of range.
func (l *Ledger) MoveCredit(ctx context.Context, m store.CreditMove) (made store.CreditMove, repeated bool, err error) {
	if m.Amount.Nano < 0 || m.Amount.Currency == "" || m.From == m.To || m.Reference == "" {
		return m, false, fmt.Errorf("moving %s: %w", m.Amount, money.ErrAmount)
	}
	salts := [2][]byte{l.Salt(), l.Salt()}
	err = l.db.Update(ctx, func(ctx context.Context, t *engine.Tx) (err error) {
		made = m
		repeated, err = l.book(t).move(ctx, &made, salts)
		return err
	})
	if err != nil {
		return m, false, err
	}
	return made, repeated, nil
}

// move makes a move. If the move was made before, move only sets m to the earlier move.
func (b *Book) move(ctx context.Context, m *store.CreditMove, salts [2][]byte) (repeated bool, err error) {
	from := AccountKey{m.Service, string(m.From), m.Amount.Currency}
	to := AccountKey{m.Service, string(m.To), m.Amount.Currency}
	// lock both accounts, in the order of all writers: concurrent moves with the same reference wait here
	for _, k := range slices.SortedFunc(slices.Values([]AccountKey{from, to}), AccountKey.Compare) {
		if _, err := b.account(ctx, k); err != nil {
			return false, err
		}
	}
	if repeated, err = moved(ctx, b.t, m); err != nil || repeated {
		return repeated, err
	}
	source, target := b.accounts[from].now, b.accounts[to].now
	left := source.ToppedUp - source.Held - source.Captured
	if m.Amount.Nano == 0 {
		m.Amount.Nano = left
	}
	switch {
	case left <= 0 || m.Amount.Nano > left:
		return false, &store.MoveError{Left: money.Amount{Nano: max(0, left), Currency: m.Amount.Currency}}
	case m.Amount.Nano > math.MaxInt64-target.ToppedUp:
		return false, fmt.Errorf("moving %s to %s: the balance would be too large: %w", m.Amount, m.To, money.ErrAmount)
	}
	m.At = engine.FromNanos(engine.Nanos(b.t.Now()))
	fewer, more := source, target
	fewer.ToppedUp -= m.Amount.Nano
	more.ToppedUp += m.Amount.Nano
	if err := b.set(source, fewer); err != nil {
		return false, err
	}
	if err := b.set(target, more); err != nil {
		return false, err
	}
	n := b.t.Run(ctx, `INSERT INTO credit_moves (service, reference, from_agent, to_agent, amount, currency, reason, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		m.Service, m.Reference, string(m.From), string(m.To), m.Amount.Nano, m.Amount.Currency, m.Reason, engine.Nanos(m.At))
	if n == 0 { // a concurrent move of other agents used the reference
		return false, store.ErrReferenceUsed
	}
	reversal, topUp := m.References()
	back := m.Amount
	back.Nano = -back.Nano
	return false, b.enterTopUps(ctx,
		topUpLine{store.TopUp{Service: m.Service, AgentID: m.From, Reference: reversal}, back, salts[0]},
		topUpLine{store.TopUp{Service: m.Service, AgentID: m.To, Reference: topUp}, m.Amount, salts[1]},
	)
}

// moved reports whether a move was made before, and sets m to it in that case.
func moved(ctx context.Context, t *engine.Tx, m *store.CreditMove) (bool, error) {
	was := store.CreditMove{Service: m.Service, Reference: m.Reference}
	if !t.Find(ctx, "SELECT from_agent, to_agent, amount, currency, reason, at FROM credit_moves WHERE service = ? AND reference = ?",
		[]any{m.Service, m.Reference}, &was.From, &was.To, &was.Amount.Nano, &was.Amount.Currency, &was.Reason, engine.Stored(&was.At)) {
		return false, nil
	}
	same := was.From == m.From && was.To == m.To && was.Amount.Currency == m.Amount.Currency
	if !same || m.Amount.Nano != 0 && was.Amount != m.Amount {
		return false, store.ErrReferenceUsed
	}
	*m = was
	t.Confirm()
	return true, nil
}
