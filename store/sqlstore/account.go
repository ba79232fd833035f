package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/internal/journal"
)

// An account holds what one agent paid in and used in one currency, in billionths of its unit.
type account struct {
	accountKey

	toppedUp, held, captured int64 // held: held and unresolved
	// pooled means that what the account owes counts towards the pool of its service and currency.
	pooled bool
}

// owes returns what was used beyond what was paid in.
func (a account) owes() int64 { return max(0, a.held+a.captured-a.toppedUp) }

// inPool returns what the account adds to its pool.
func (a account) inPool() int64 {
	if !a.pooled {
		return 0
	}
	return a.owes()
}

// hold adds a charge, if the agent then still owes no more than it may.
func (a account) hold(charge money.Amount, b store.Billing) (account, bool) {
	used := a.held + a.captured
	if charge.Nano > math.MaxInt64-used {
		return a, false
	}
	if over := used + charge.Nano - a.toppedUp; over > ownCredit(charge.Currency, b) {
		return a, false
	}
	a.held += charge.Nano
	a.pooled = b.Unapproved
	return a, true
}

// ownCredit returns how much one agent may owe in a currency.
func ownCredit(currency string, b store.Billing) int64 {
	most := credit(currency, b)
	if !b.Unapproved || b.Newcomers.Currency == "" {
		return most
	}
	return min(most, credit(currency, store.Billing{Prepaid: b.Prepaid, Credit: b.Newcomers}))
}

// credit returns how much may be owed in a currency, by one approved agent or by all unapproved ones together.
func credit(currency string, b store.Billing) int64 {
	if b.Prepaid || b.Credit.Currency != currency {
		return 0
	}
	return max(0, b.Credit.Nano)
}

// charge returns an agent's account before and after a charge: ErrCredit if it cannot be charged.
func (t *tx) charge(ctx context.Context, service, agentID string, amount money.Amount, b store.Billing) (before, after account, err error) {
	before, err = t.account(ctx, service, agentID, amount.Currency)
	if err != nil {
		return before, after, err
	}
	after, ok := before.hold(amount, b)
	if !ok {
		return before, after, store.ErrCredit
	}
	if more := after.inPool() - before.inPool(); more > 0 {
		return before, after, t.enterPool(ctx, poolKey{service, amount.Currency}, more, credit(amount.Currency, b))
	}
	return before, after, nil
}

// read returns a statement that reads a row, as it is sent.
func (t *tx) read(list ...command) []command {
	if t.unlocked {
		return unlocked(list)
	}
	return list
}

// account returns an account; a missing one is empty.
func (t *tx) account(ctx context.Context, service, agentID, currency string) (account, error) {
	k := accountKey{service, agentID, currency}
	if t.accounts[k] == nil {
		if err := t.w.send(ctx, t.read(t.readAccount(k)...)); err != nil {
			return account{}, t.failed(err)
		}
	}
	return t.accounts[k].now, nil
}

var errBalance = errors.New("the account would fall below zero")

// setAccount changes an account, and its pool accordingly.
func (t *tx) setAccount(before, after account) error {
	if after.held < 0 || after.captured < 0 || after.toppedUp < 0 {
		if t.presumed { // what it held was given back before
			t.fatal = conflict{errUnchanged}
		}
		return unavailable(fmt.Errorf("account of %s in %s: %w", after.agentID, after.currency, errBalance))
	}
	a := t.accounts[after.accountKey]
	a.now, a.dirty = after, true
	if more := after.inPool() - before.inPool(); more != 0 {
		k := poolKey{after.service, after.currency}
		set(&t.owed, k, t.owed[k]+more)
	}
	return nil
}

// leavePool removes the accounts of an agent that was approved from the pool.
func (t *tx) leavePool(ctx context.Context, service string, id pat.AgentID) error {
	var currencies []string
	err := t.rows(ctx, "SELECT currency FROM accounts WHERE service = ? AND agent_id = ? AND pooled = 1 ORDER BY currency",
		[]any{service, id}, func(scan scan) error {
			currencies = append(currencies, "")
			return scan(&currencies[len(currencies)-1])
		})
	for _, c := range currencies {
		if err != nil {
			return err
		}
		var before account
		if before, err = t.account(ctx, service, string(id), c); err != nil {
			return err
		}
		after := before
		after.pooled = false
		err = t.setAccount(before, after)
	}
	return err
}

// A pool is what the unapproved agents of a service owe together in one currency. A part of it has faded: it is owed, but
// counts no longer.
type pool struct {
	owed, faded int64     // as they were read; faded is part of owed
	fadedAt     time.Time // up to when; the zero time: it begins with the next charge
	// charged means that something was charged since: faded and fadedAt are then to be written. The pool may have most at
	// that moment, faded included.
	charged bool
	most    int64

	storedFaded, storedAt int64 // as they were read, without what has faded
}

// fade lets a part of the pool fade up to a moment: all of a credit within store.PoolFades.
func (p *pool) fade(now time.Time, credit int64) {
	past, part := now.Sub(p.fadedAt), int64(0)
	switch {
	case p.fadedAt.IsZero(), past < 0: // the clock was set back
	case past >= store.PoolFades:
		part = credit
	default:
		part = int64(float64(credit) * (float64(past) / float64(store.PoolFades)))
	}
	p.faded, p.fadedAt = min(p.owed, p.faded+min(part, math.MaxInt64-p.faded)), now
}

// enterPool checks that more may be owed by unapproved agents, who may owe credit together: store.ErrCredit.
func (t *tx) enterPool(ctx context.Context, k poolKey, more, credit int64) error {
	if t.pools[k] == nil {
		if err := t.w.send(ctx, t.read(t.readPool(k)...)); err != nil {
			return t.failed(err)
		}
	}
	p := t.pools[k]
	p.fade(t.now, credit)
	owed := p.owed + t.owed[k]
	if counts := max(0, owed-p.faded); more > credit-counts {
		return store.ErrCredit
	}
	p.charged, p.most = true, credit+min(p.faded, math.MaxInt64-credit)
	return nil
}

const (
	selectPool   = "SELECT owed, faded, faded_at FROM pools WHERE service = ? AND currency = ? FOR UPDATE"
	chargeToPool = `INSERT INTO pools (service, currency, owed, faded, faded_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (service, currency) DO UPDATE SET owed = pools.owed + excluded.owed,
			faded = CASE WHEN excluded.faded < pools.owed THEN excluded.faded ELSE pools.owed END, faded_at = excluded.faded_at`
	chargeToPoolWithin = chargeToPool + " WHERE pools.owed + excluded.owed <= ?"
	setPool            = `INSERT INTO pools (service, currency, owed, faded, faded_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (service, currency) DO UPDATE SET owed = excluded.owed, faded = excluded.faded, faded_at = excluded.faded_at`
	addToPool = `INSERT INTO pools (service, currency, owed) VALUES (?, ?, ?)
		ON CONFLICT (service, currency) DO UPDATE SET owed = pools.owed + excluded.owed`
	// takeFromPool also takes what has faded where no more than that is left.
	takeFromPool = `UPDATE pools SET owed = owed + ?, faded = CASE WHEN faded > owed + ? THEN owed + ? ELSE faded END
		WHERE service = ? AND currency = ?`
)

// readPool returns the statement that reads a pool, if it has to be read.
func (t *tx) readPool(k poolKey) []command {
	p := new(pool)
	set(&t.pools, k, p)
	if was, found := t.w.known.pending.Pools[journal.PoolKey{Service: k.service, Currency: k.currency}]; found && !t.ownStatements {
		*p = pool{owed: was.Owed, faded: was.Faded, fadedAt: fromNanos(was.FadedAt), storedFaded: was.Faded, storedAt: was.FadedAt}
		return nil
	}
	return []command{{query: selectPool, args: []any{k.service, k.currency}, row: func(scan scan) error {
		err := scan(&p.owed, &p.storedFaded, &p.storedAt)
		p.faded, p.fadedAt = p.storedFaded, fromNanos(p.storedAt)
		return err
	}}}
}

// keepPool returns a pool as writePool would leave it.
func (t *tx) keepPool(k poolKey) journal.Pool {
	more, p := t.owed[k], t.pools[k]
	out := journal.Pool{
		PoolKey: journal.PoolKey{Service: k.service, Currency: k.currency}, Owed: p.owed + more, Faded: p.storedFaded, FadedAt: p.storedAt,
	}
	switch {
	case more < 0:
		out.Faded = min(out.Faded, out.Owed)
	case p.charged:
		out.Faded, out.FadedAt = min(p.faded, p.owed), nanos(p.fadedAt)
	}
	return out
}

// upsertPool returns the statement that writes a pool where nobody else writes.
func upsertPool(p journal.Pool) command {
	return command{query: setPool, args: []any{p.Service, p.Currency, p.Owed, p.Faded, p.FadedAt}}
}

// writePool returns the statement that changes a pool. What all unapproved agents share is not compared with what was
// read: it only has to stay within the credit.
func (t *tx) writePool(k poolKey) command {
	more, p := t.owed[k], t.pools[k]
	switch {
	case more < 0:
		return command{query: takeFromPool, args: []any{more, more, more, k.service, k.currency}, must: int(flag(t.unlocked))}
	case p == nil || !p.charged: // a top-up was taken back
		return command{query: addToPool, args: []any{k.service, k.currency, more}}
	}
	args := []any{k.service, k.currency, more, p.faded, nanos(p.fadedAt)}
	if !t.unlocked {
		return command{query: chargeToPool, args: args}
	}
	return command{query: chargeToPoolWithin, args: append(args, p.most), must: 1}
}

// The accounts minus all of their parts; any remainder is wrong.
const (
	selectUnbalanced = `SELECT service, agent_id, currency FROM (
		SELECT service, agent_id, currency, topped_up, held, captured FROM accounts
		UNION ALL SELECT service, agent_id, currency, -topped_up, 0, -captured FROM carried
		UNION ALL SELECT service, agent_id, currency, CASE WHEN from_state = '' AND to_state = '' THEN -amount ELSE 0 END,
			CASE WHEN from_state IN ('held', 'unresolved') THEN amount ELSE 0 END - ` +
		`CASE WHEN to_state IN ('held', 'unresolved') THEN amount ELSE 0 END,
			CASE WHEN from_state = 'captured' THEN amount ELSE 0 END - CASE WHEN to_state = 'captured' THEN amount ELSE 0 END
		FROM ledger) AS every
		GROUP BY service, agent_id, currency HAVING SUM(topped_up) <> 0 OR SUM(held) <> 0 OR SUM(captured) <> 0 LIMIT 1`
	selectHeldWrong = `SELECT service, agent_id, currency FROM (
		SELECT service, agent_id, currency, held FROM accounts
		UNION ALL SELECT service, agent_id, currency, -amount FROM executions WHERE amount > 0 AND state IN ('held', 'unresolved')) AS every
		GROUP BY service, agent_id, currency HAVING SUM(held) <> 0 LIMIT 1`
	selectPoolWrong = `SELECT service, '', currency FROM (
		SELECT service, currency, owed FROM pools
		UNION ALL SELECT service, currency, CASE WHEN held + captured > topped_up THEN topped_up - held - captured ELSE 0 END FROM accounts ` +
		`WHERE pooled = 1) AS every
		GROUP BY service, currency HAVING SUM(owed) <> 0 LIMIT 1`
)

// CheckBalance checks that the accounts are the sums over the ledger and what was carried forward, and that what is
// held is what executions hold. The error wraps store.ErrUnbalanced and names an account. It reads the whole ledger, as
// it is at one moment, for as long as that takes; calls go on meanwhile.
func (s *Store) CheckBalance(ctx context.Context) error {
	if err := s.caughtUp(ctx); err != nil {
		return err
	}
	reader, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return unavailable(err)
	}
	defer func() { _ = reader.Rollback() }()
	for _, q := range s.dialect.unhurried {
		if _, err := reader.ExecContext(ctx, q); err != nil {
			return unavailable(err)
		}
	}
	for _, check := range []struct{ query, what string }{
		{selectUnbalanced, "the account is not the sum over its ledger"},
		{selectHeldWrong, "what is held is not what its calls hold"},
		{selectPoolWrong, "what unapproved agents owe together is not the sum over them"},
	} {
		var service, agentID, currency string
		switch err := reader.QueryRowContext(ctx, check.query).Scan(&service, &agentID, &currency); {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return unavailable(err)
		default:
			return fmt.Errorf("service %q, agent %q, %s: %s: %w", service, agentID, currency, check.what, store.ErrUnbalanced)
		}
	}
	p, err := s.readPending(ctx, reader)
	if err != nil {
		return err
	}
	return checkPending(ctx, reader, p)
}

// readPending reads what the journal has, at the moment of a transaction; nothing where there is none.
func (s *Store) readPending(ctx context.Context, reader *sql.Tx) (*journal.Pending, error) {
	if !s.dialect.sole {
		return &journal.Pending{}, nil
	}
	rows, err := reader.QueryContext(ctx, selectRecords)
	if err != nil {
		return nil, unavailable(err)
	}
	var p journal.Pending
	err = drain(rows, func(scan scan) error { return addRecord(&p, scan) })
	switch {
	case errors.Is(err, journal.ErrDamaged):
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil:
		return nil, unavailable(err)
	}
	return &p, nil
}

// checkPending checks that what the journal has fits the tables, which are as they were before: an account becomes what the lines of its
// calls make of it, what began is not there, and what ended is as it was.
func checkPending(ctx context.Context, reader *sql.Tx, p *journal.Pending) error {
	more := map[journal.AccountKey]position{}
	for _, l := range p.Lines {
		e := l.Execution
		k := journal.AccountKey{Service: e.Service, AgentID: string(e.AgentID), Currency: e.Charge.Currency}
		sums := more[k]
		sums.move(sum{from: l.From, to: e.State, nano: e.Charge.Nano})
		more[k] = sums
	}
	for k, sums := range more {
		was := account{accountKey: accountKey{k.Service, k.AgentID, k.Currency}}
		var pooled int64
		err := reader.QueryRowContext(ctx, selectPlainAccount, k.Service, k.AgentID, k.Currency).
			Scan(&was.toppedUp, &was.held, &was.captured, &pooled)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return unavailable(err)
		}
		if is := p.Accounts[k]; is.Held != was.held+sums.held || is.Captured != was.captured+sums.captured || is.ToppedUp != was.toppedUp {
			return fmt.Errorf("service %q, agent %q, %s: the account is not the sum over what its last calls changed: %w",
				k.Service, k.AgentID, k.Currency, store.ErrUnbalanced)
		}
	}
	found := func(id string) (state store.State, err error) {
		err = reader.QueryRowContext(ctx, "SELECT state FROM executions WHERE id = ?", id).Scan(&state)
		if errors.Is(err, sql.ErrNoRows) {
			return "", nil
		}
		return state, err
	}
	for _, e := range p.Begun {
		if state, err := found(e.ID); err != nil {
			return unavailable(err)
		} else if state != "" {
			return fmt.Errorf("%w: execution %s began twice", ErrDamaged, e.ID)
		}
	}
	for _, m := range p.Moved {
		if state, err := found(m.To.ID); err != nil {
			return unavailable(err)
		} else if state != m.From {
			return fmt.Errorf("%w: execution %s is %q, and became %s from %s", ErrDamaged, m.To.ID, state, m.To.State, m.From)
		}
	}
	return nil
}
