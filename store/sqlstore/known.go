package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/journal"
)

// known is what a writer knows of a database that nobody else writes to: as its last transaction left it. So a call of an agent that
// called lately reads nothing.
type known struct {
	version  int64 // of the database, as others have changed it
	counters map[counterKey]counterRow
	accounts map[accountKey]account

	// begun has the executions that this writer began and that nobody has changed since.
	begun map[string]struct{}
	// pending is what the journal has and the tables do not, where read is set; else nobody knows.
	pending journal.Pending
	read    bool
	newest  string // no execution in the table has a higher id
}

// mostKnown bounds the counters and the accounts: then the writer begins anew.
const mostKnown = 8 << 10

// mostBegun bounds the executions that a writer knows to be under way.
const mostBegun = 32 << 10

// selectVersion changes with every transaction of another connection, and with none of this one:
// https://sqlite.org/pragma.html#pragma_data_version
const selectVersion = "PRAGMA data_version"

// forget makes the writer read everything again.
func (k *known) forget() { *k = known{} }

// begin starts a transaction, and forgets what others may have changed before it. From then on nobody else writes.
func (k *known) begin(ctx context.Context, w *writer) error {
	var version int64
	err := w.send(ctx, []command{
		{query: w.s.dialect.begin},
		{query: selectVersion, row: func(scan scan) error { return scan(&version) }},
	})
	if version != k.version {
		k.forget()
	}
	k.version = version
	return err
}

// learn keeps what a transaction has read and written, once it is committed.
func (k *known) learn(counters map[counterKey]*counter, accounts map[accountKey]*cachedAccount) {
	if k.counters == nil || len(k.counters) > mostKnown || len(k.accounts) > mostKnown {
		k.counters, k.accounts = make(map[counterKey]counterRow, len(counters)), make(map[accountKey]account, len(accounts))
	}
	for key, c := range counters {
		if c.found {
			k.counters[key] = c.was
		}
	}
	for key, a := range accounts {
		if a.found {
			k.accounts[key] = a.was
		}
	}
}

// counter returns a counter that need not be read.
func (k *known) counter(key counterKey) (counterRow, bool) {
	if c, found := k.counters[key]; found {
		return c, true
	}
	c, found := k.pending.Counters[key.journaled()]
	return counterRow{slot: c.Slot, counts: c.Counts, dispatch: c.Dispatch, dispatchSlot: c.DispatchSlot}, found
}

// account returns an account that need not be read.
func (k *known) account(key accountKey) (account, bool) {
	if a, found := k.accounts[key]; found {
		return a, true
	}
	a, found := k.pending.Accounts[key.journaled()]
	return account{accountKey: key, toppedUp: a.ToppedUp, held: a.Held, captured: a.Captured, pooled: a.Pooled}, found
}

func (k counterKey) journaled() journal.CounterKey {
	return journal.CounterKey{Service: k.service, AgentID: k.agentID, LimitID: k.limitID, Period: k.period}
}

func (k accountKey) journaled() journal.AccountKey {
	return journal.AccountKey{Service: k.service, AgentID: k.agentID, Currency: k.currency}
}

// A transaction of calls of which nothing else has to be read or written is one row of the journal: what it changes is written into the
// tables later, together with what follows, and with the row gone in the same transaction. In between the tables are as
// they were. So whatever reads or changes them has what is pending written first: operations that are no calls, in their transaction, but
// for those that do not need these tables (Store.aside);
// calls that read more than counters and accounts, in theirs; readers, by waiting for a transaction that does it.
//
// What the writer has of it in memory is what the journal has as long as nobody else has written and no transaction has failed, of which
// one never knows whether it was committed; else the journal is read.

const (
	mostPending = 1024    // rows to be written
	mostRecords = 4 << 10 // of transactions that wrote little
	longPending = time.Second
)

var errMisfit = errors.New("charges that are not yet in their tables do not fit them: " +
	"undo what somebody changed there by SQL, or take the state back to a backup")

const (
	insertRecord  = "INSERT INTO journal (effects) VALUES (?)"
	selectRecords = "SELECT effects FROM journal WHERE id > 0 ORDER BY id"
	selectRecord  = "SELECT 1 FROM journal WHERE id > 0 LIMIT 1"
	deleteRecords = "DELETE FROM journal"
	selectLedger  = "SELECT n FROM sequences WHERE name = 'ledger'"
	selectNewest  = "SELECT COALESCE(MAX(id), '') FROM executions"
	selectThere   = "SELECT 1 FROM executions WHERE id = ?"
)

// behind reports whether the tables may not have everything.
func (k *known) behind() bool { return !k.read || !k.pending.Empty() }

// readJournal reads what is pending, inside a transaction.
func (w *writer) readJournal(ctx context.Context) error {
	k := &w.known
	k.pending = journal.Pending{}
	err := w.send(ctx, []command{
		{query: selectRecords, row: func(scan scan) error { return addRecord(&k.pending, scan) }},
		{query: selectNewest, row: func(scan scan) error { return scan(&k.newest) }},
	})
	k.read = err == nil
	return err
}

// addRecord adds a row of the journal.
func addRecord(p *journal.Pending, scan scan) error {
	var effects []byte
	if err := scan(&effects); err != nil {
		return err
	}
	r, err := journal.Decode(effects)
	if err != nil {
		return fmt.Errorf("charges that are not yet in their tables: %w", err)
	}
	p.Add(r)
	return nil
}

// catchUp writes what is pending into the tables where the operations of a transaction read them, or where it is time.
func (t *tx) catchUp(ctx context.Context, n rowSet) error {
	w, k := t.w, &t.w.known
	if t.aside {
		return nil // what is known of the journal, or that nothing is, stays as it is
	}
	due := t.ownStatements || len(n.keys) > 0 || len(n.executions) > 0 || k.pending.Size() > mostPending || k.pending.Records > mostRecords
	if !k.read {
		due = true
		if err := w.readJournal(ctx); err != nil {
			return err
		}
	}
	t.plain = w.s.dialect.journals && !t.ownStatements && len(n.keys) == 0 && len(n.executions) == 0 && len(n.answers) == 0
	for _, e := range n.presumed {
		if _, sure := k.begun[e.ID]; !sure {
			t.plain = false
		}
	}
	if !due || k.pending.Empty() {
		return nil
	}
	t.shared = t.shared || t.ownStatements // where an operation fails this is committed
	return t.apply(ctx)
}

// findBegun looks whether executions that are about to begin are there already: that must not wait.
func (t *tx) findBegun(n rowSet) (list []command) {
	for _, id := range n.begins {
		if t.w.known.pending.Began(id) {
			t.plain = false
		} else if id <= t.w.known.newest {
			list = append(list, command{query: selectThere, args: []any{id}, row: func(scan scan) error {
				t.plain = false
				return scan(new(int64))
			}})
		}
	}
	return list
}

// apply writes what is pending into the tables. The transaction has to be committed then.
func (t *tx) apply(ctx context.Context) error {
	t.applied = true
	p := &t.w.known.pending
	begins := make([]began, len(p.Begun))
	for i, e := range p.Begun {
		begins[i] = began{Execution: e}
	}
	list := writeExecutions(&t.w.joiner, begins)
	moves := make([]line, len(p.Moved))
	for i, m := range p.Moved {
		moves[i] = line{m.To, m.From, m.To.State, byAgent}
	}
	list = append(list, writeMoves(moves)...)
	var rows []command
	for _, c := range slices.SortedFunc(maps.Values(p.Counters), compareCounters) {
		rows = append(rows, upsertCounter(c))
	}
	for _, a := range slices.SortedFunc(maps.Values(p.Accounts), compareAccounts) {
		rows = append(rows, upsertAccount(a))
	}
	list = append(list, together(rows)...)
	for _, pool := range p.Pools {
		list = append(list, upsertPool(pool))
	}
	for a, at := range p.Used {
		list = append(list, command{query: markUsed, args: []any{nanos(at), a.Service, a.ID}})
	}
	lines := make([]line, len(p.Lines))
	for i, l := range p.Lines {
		lines[i] = lineOf(l)
	}
	var last int64
	err := t.w.send(ctx, []command{
		{query: bumpLedger, args: []any{len(lines)}},
		{query: selectLedger, row: func(scan scan) error { return scan(&last) }},
	})
	if err != nil {
		return err
	}
	list = append(list, writeLines(&t.w.joiner, insertNumber, lines, func(i int) int64 { return last - int64(len(lines)-1-i) })...)
	err = t.w.send(ctx, append(list, command{query: deleteRecords}))
	if err != nil && (errors.Is(err, errUnchanged) || t.w.s.dialect.constraint(err)) {
		return fmt.Errorf("%w: %w", errMisfit, err)
	}
	return err
}

func lineOf(l journal.Line) line { return line{l.Execution, l.From, l.Execution.State, byAgent} }

func compareCounters(a, b journal.Counter) int {
	return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.AgentID, b.AgentID), strings.Compare(a.LimitID, b.LimitID),
		strings.Compare(string(a.Period), string(b.Period)))
}

func compareAccounts(a, b journal.Account) int {
	return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.AgentID, b.AgentID), strings.Compare(a.Currency, b.Currency))
}

// record returns what a transaction of calls changed, if that is all it did beside taking nonces; nil: it is to be written into the
// tables.
func (t *tx) record() *journal.Record {
	if !t.plain || len(t.answers.added) > 0 || len(t.lines) != len(t.begun)+len(t.moves) {
		return nil
	}
	r := &journal.Record{At: t.now}
	for _, l := range t.lines {
		r.Lines = append(r.Lines, journal.Line{Execution: l.Execution, From: l.from})
	}
	for k, c := range t.counters {
		if c.dirty {
			r.Counters = append(r.Counters, keepCounter(k, c, c.Encode()))
		}
	}
	for k, a := range t.accounts {
		if a.dirty {
			r.Accounts = append(r.Accounts, keepAccount(k, a))
		}
	}
	for k := range t.owed {
		r.Pools = append(r.Pools, t.keepPool(k))
	}
	for k := range t.used {
		r.Used = append(r.Used, journal.Agreement{Service: k.service, ID: k.id})
	}
	return r
}

// committed takes what a committed transaction has written.
func (k *known) committed(t *tx) {
	if t.applied {
		for _, e := range k.pending.Begun {
			k.newest = max(k.newest, e.ID)
		}
		k.pending = journal.Pending{}
	}
	if t.kept != nil {
		k.pending.Add(t.kept)
	}
	for _, b := range t.started {
		if t.kept == nil {
			k.newest = max(k.newest, b.ID)
		}
		if k.begun == nil || len(k.begun) > mostBegun {
			k.begun = map[string]struct{}{}
		}
		k.begun[b.ID] = struct{}{}
	}
}

// wait returns the next operation; false: there is none any more. Meanwhile it writes what has been pending for long.
func (w *writer) wait(ctx context.Context) (first *op, open bool) {
	if first, w.next = w.next, nil; first != nil {
		return first, true
	}
	for {
		var late <-chan time.Time
		if w.late != nil {
			late = w.late.C
		}
		select {
		case first, open = <-w.lane:
			return first, open
		case <-late:
			w.late = nil
			w.catchUp(ctx)
			w.schedule()
		}
	}
}

// catchUp has the tables have everything. Where that fails the journal still has it.
func (w *writer) catchUp(ctx context.Context) {
	_ = w.commit(ctx, []*op{{run: nothing, done: make(chan struct{})}})
}

// schedule sees to it that what is pending is not so for long.
func (w *writer) schedule() {
	behind := w.s.dialect.sole && w.known.behind()
	switch {
	case behind && w.late == nil:
		w.late = time.NewTimer(longPending)
	case !behind && w.late != nil:
		w.late.Stop()
		w.late = nil
	}
}

// nothing is an operation that only has what is pending written.
func nothing(context.Context, *tx) error { return nil }

// caughtUp has the tables have everything that was committed before.
func (s *Store) caughtUp(ctx context.Context) error {
	if !s.dialect.sole || len(s.lanes) == 0 {
		return nil
	}
	pending, err := s.one(ctx, selectRecord, nil, new(int64))
	if err == nil && pending {
		err = s.update(ctx, nothing)
	}
	return err
}

// touches reports whether a statement names what calls change.
func touches(query string) bool {
	return slices.ContainsFunc(journaled, func(what string) bool { return strings.Contains(query, what) })
}

// journaled are the tables and columns that calls change. No view and no trigger hides them, so that a statement which reads or changes
// one names it; one that only looks as if it did waits for nothing.
var journaled = []string{"executions", "ledger", "accounts", "counters", "pools", "used_at"}
