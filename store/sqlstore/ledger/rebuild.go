package ledger

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// chainColumns are the columns that an entry is rebuilt from, and chainTables their tables.
const (
	chainColumns = `l.seq, l.at, l.service, l.agent_id, l.execution_id, l.intent, l.rule, l.amount, l.currency, l.from_state, l.to_state,
		l.actor, l.reference, l.kind, l.epoch, l.k, l.prev, l.leaf, l.salt, l.outcome, l.answer, l.answer_form, l.details,
		e.fingerprint, e.agreement_id, e.token_id, e.policy_digest, e.key_id, e.proof, e.decision`
	chainTables = " FROM ledger l LEFT JOIN executions e ON e.id = l.execution_id"
	// SelectChain reads the columns that ChainRow.Scan reads.
	SelectChain = "SELECT " + chainColumns + chainTables
)

// A ChainRow holds the columns of a ledger row that its entry is rebuilt from.
type ChainRow struct {
	Account AccountKey
	Place
	Seq      int64
	Kind     string
	From, To store.State
	Amount   int64

	at                                                  int64
	execution, intent, rule, actor, reference           string
	prev, leaf, salt                                    []byte
	outcome, answer, form, details                      string
	request, agreement, token, policy, key, proof, asks sql.NullString

	columns []any // pointers to the fields for Scan; nil before the first Scan
}

// Scan reads the columns of SelectChain, and reads the columns after them into more. A ChainRow may be used for several rows, one after
// another.
func (r *ChainRow) Scan(scan engine.Scan, more ...any) error {
	columns := r.pointers()
	if len(more) > 0 {
		columns = append(slices.Clip(columns), more...)
	}
	return r.scan(scan, columns)
}

func (r *ChainRow) scan(scan engine.Scan, columns []any) error {
	err := scan(columns...)
	r.Prev, r.Leaf = evidence.HashOf(r.prev), evidence.HashOf(r.leaf)
	return err
}

// pointers returns pointers to the fields that hold the columns of SelectChain.
func (r *ChainRow) pointers() []any {
	if r.columns == nil {
		r.columns = []any{
			&r.Seq, &r.at, &r.Account.Service, &r.Account.AgentID, &r.execution, &r.intent, &r.rule, &r.Amount, &r.Account.Currency, &r.From, &r.To,
			&r.actor, &r.reference, &r.Kind, &r.Epoch, &r.K, &r.prev, &r.leaf, &r.salt, &r.outcome, &r.answer, &r.form, &r.details,
			&r.request, &r.agreement, &r.token, &r.policy, &r.key, &r.proof, &r.asks,
		}
	}
	return r.columns
}

// Entry returns the bytes of the entry, built from the columns alone. issuer is the issuer of its epoch. The error wraps store.ErrAltered
// if their hash is not the stored one.
func (r *ChainRow) Entry(issuer string) ([]byte, error) {
	return r.Append(make([]byte, 0, entrySize), issuer)
}

// Append is like Entry, and appends the bytes to text, which must be empty.
func (r *ChainRow) Append(text []byte, issuer string) ([]byte, error) {
	switch {
	case r.Kind == kindCarry:
		text = append(text, r.details...)
		e, err := evidence.ParseEntry(text)
		if err != nil || e.Kind != evidence.KindCarry || e.K != r.K || e.Prev != r.Prev || e.Issuer != issuer || e.Epoch != r.Epoch ||
			e.Account != (evidence.Account{Agent: r.Account.AgentID, Currency: r.Account.Currency}) || !bytes.Equal(e.Salt, r.salt) ||
			engine.Nanos(e.At) != r.at {
			return nil, r.altered()
		}
	case r.Kind != "" || r.details != "": // they are not part of the entry
		return nil, r.altered()
	case r.To == "":
		e := topUpEntry(r.Place, issuer, r.Account, r.money(), engine.FromNanos(r.at), r.reference, r.salt)
		e.By = actor(r.actor)
		text = e.Append(text)
	case !r.agreement.Valid || r.reference != "" || len(r.salt) > 0: // the execution is missing, or a charge has columns of a top-up
		return nil, r.altered()
	default:
		e := r.charge(issuer)
		text = e.Append(text)
	}
	if evidence.LeafHash(text) != r.Leaf {
		return nil, r.altered()
	}
	return text, nil
}

const kindCarry = string(evidence.KindCarry)

func (r *ChainRow) money() money.Amount {
	return money.Amount{Nano: r.Amount, Currency: r.Account.Currency}
}

// charge returns the entry of a charge.
func (r *ChainRow) charge(issuer string) evidence.Entry {
	return evidence.Entry{
		Issuer: issuer, Epoch: r.Epoch, Account: evidence.Account{Agent: r.Account.AgentID, Currency: r.Account.Currency}, K: r.K, Prev: r.Prev,
		At: engine.FromNanos(r.at), Kind: evidence.KindCharge, ID: r.execution, From: string(r.From), To: string(r.To), By: actor(r.actor),
		Amount: r.money(), Intent: r.intent, Rule: r.rule, Policy: r.policy.String, Agreement: r.agreement.String, Token: r.token.String,
		KeyID: r.key.String, Request: evidence.PrefixedDigest(r.request.String), Proof: r.proof.String, Decision: r.asks.String,
		Outcome: r.outcome, Answer: r.answer, AnswerForm: r.form,
	}
}

// words returns the Words with which the texts of the charge are packed.
func (r *ChainRow) words() *Words {
	w := NewWords(r.Account.AgentID, r.intent, r.request.String, r.agreement.String, r.token.String, r.key.String)
	return &w
}

func (r *ChainRow) altered() error {
	return r.Account.Altered("entry %d", r.K)
}

// issuers reads the issuers of all epochs of a service.
func (l *Ledger) issuers(ctx context.Context, service string) (map[int64]string, error) {
	out := map[int64]string{0: service}
	err := l.db.List(ctx, "SELECT epoch, issuer FROM epochs WHERE service = ?", []any{service}, func(scan engine.Scan) error {
		var epoch int64
		var issuer string
		err := scan(&epoch, &issuer)
		out[epoch] = issuer
		return err
	})
	return out, err
}

// entries rebuilds the entries that a query with chainColumns finds. If the query also selects the text of the evidence, texts is set.
func (l *Ledger) entries(ctx context.Context, service, query string, args []any, texts bool) ([]store.LedgerEntry, error) {
	issuers, err := l.issuers(ctx, service)
	if err != nil {
		return nil, err
	}
	var rows []ChainRow
	var out []store.LedgerEntry
	err = l.db.List(ctx, query, args, func(scan engine.Scan) error {
		var r ChainRow
		var proof sql.NullString
		var asked, signed []byte
		var more []any
		if texts {
			more = []any{&proof, &asked, &signed}
		}
		if err := r.Scan(scan, more...); err != nil {
			return err
		}
		rows = append(rows, r)
		e := store.LedgerEntry{Seq: r.Seq, Epoch: r.Epoch, K: r.K, Leaf: r.Leaf}
		t, err := r.words().Texts(proof.String, asked, signed)
		if err != nil {
			return r.altered()
		}
		e.Decision, e.Proof = t.Asked, t.Proof
		out = append(out, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if out[i].Bytes, err = rows[i].Entry(issuers[rows[i].Epoch]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Entries returns entries of an account, in the order of its chain. The error wraps store.ErrAltered if a row was altered. It is a
// *store.ExpiredError if the entry after f.After was deleted.
func (l *Ledger) Entries(ctx context.Context, f store.EntryFilter) ([]store.LedgerEntry, error) {
	var q engine.Conditions
	q.Add("l.service = ? AND l.agent_id = ? AND l.currency = ? AND l.k >= 0 AND l.k > ?", f.Service, string(f.AgentID), f.Currency, f.After)
	columns, tables := chainColumns, chainTables
	if f.Evidence {
		columns += ", v.proof, v.asked, v.signed"
		tables += " LEFT JOIN evidence v ON v.seq = l.seq"
	}
	out, err := l.entries(ctx, f.Service, q.Query("SELECT "+columns+tables, "ORDER BY l.k", f.Limit), q.Args, f.Evidence)
	if err != nil || len(out) == 0 || out[0].K == f.After+1 || f.After < 0 {
		return out, err
	}
	carry, err := l.carriedBy(ctx, f.Service, f.AgentID, f.Currency)
	if err != nil {
		return nil, err
	}
	return nil, &store.ExpiredError{Carry: carry}
}

// carriedBy returns the K of the newest entry that carries the sums of an account; -1 if there is none.
func (l *Ledger) carriedBy(ctx context.Context, service string, agent pat.AgentID, currency string) (k int64, err error) {
	k = -1
	_, err = l.db.One(ctx, "SELECT carried_by FROM accounts WHERE service = ? AND agent_id = ? AND currency = ?",
		[]any{service, string(agent), currency}, &k)
	return k, err
}

// Heads returns the ends of the chains of an agent, one for each currency.
func (l *Ledger) Heads(ctx context.Context, service string, agent pat.AgentID) ([]store.Head, error) {
	return engine.All(ctx, l.db, "SELECT currency, lines, head, carried_by FROM accounts WHERE service = ? AND agent_id = ? ORDER BY currency",
		[]any{service, string(agent)}, func(scan engine.Scan) (h store.Head, err error) {
			var head []byte
			err = scan(&h.Currency, &h.K, &head, &h.Carry)
			h.K, h.Hash = h.K-1, evidence.HashOf(head)
			return h, err
		})
}

// Entry returns an entry about an execution: the one with the state to or, if that is empty, the newest. The error is store.ErrNotFound if
// there is none, and *store.ExpiredError if it was deleted. It wraps store.ErrAltered if the row of the entry was altered.
func (l *Ledger) Entry(ctx context.Context, service string, agent pat.AgentID, execution string, to store.State) (
	store.LedgerEntry, error,
) {
	var began, settled, unresolved int64
	found, err := l.db.One(ctx, "SELECT begun_at, settled_at, unresolved_at FROM executions WHERE id = ? AND service = ? AND agent_id = ?",
		[]any{execution, service, string(agent)}, &began, &settled, &unresolved)
	if err != nil {
		return store.LedgerEntry{}, err
	}
	if !found {
		return store.LedgerEntry{}, l.expired(ctx, service, agent, execution)
	}
	var q engine.Conditions // in the order of the index by time
	q.Add("l.service = ? AND l.agent_id = ? AND l.at IN (?, ?, ?) AND l.execution_id = ? AND l.k >= 0",
		service, string(agent), began, settled, unresolved, execution)
	q.Equal("l.to_state", string(to))
	// An execution has few entries. The query does not order them, because SQLite would then read the whole ledger in the order of its
	// numbers.
	out, err := l.entries(ctx, service, q.Query(SelectChain, "", 0), q.Args, false)
	switch {
	case err != nil:
		return store.LedgerEntry{}, err
	case len(out) == 0:
		return store.LedgerEntry{}, store.ErrNotFound
	}
	return slices.MaxFunc(out, func(a, b store.LedgerEntry) int { return cmp.Compare(a.Seq, b.Seq) }), nil
}

// TopUpEntry returns the entry of a top-up. The errors are those of Entry.
func (l *Ledger) TopUpEntry(ctx context.Context, service string, agent pat.AgentID, reference string) (store.LedgerEntry, error) {
	var q engine.Conditions
	q.Add("l.service = ? AND l.reference = ? AND l.reference <> '' AND l.agent_id = ? AND l.k >= 0", service, reference, string(agent))
	out, err := l.entries(ctx, service, q.Query(SelectChain, "ORDER BY l.seq DESC", 1), q.Args, false)
	switch {
	case err != nil:
		return store.LedgerEntry{}, err
	case len(out) == 0:
		return store.LedgerEntry{}, store.ErrNotFound
	}
	return out[0], nil
}

// expired returns the error for an execution without a record: *store.ExpiredError if it began before the last deleted entry of the agent.
func (l *Ledger) expired(ctx context.Context, service string, agent pat.AgentID, execution string) error {
	began, ok := timeOfID(execution)
	if !ok {
		return store.ErrNotFound
	}
	var currency string
	found, err := l.db.One(ctx, "SELECT currency FROM carried WHERE service = ? AND agent_id = ? AND until >= ? ORDER BY until LIMIT 1",
		[]any{service, string(agent), began}, &currency)
	if err != nil {
		return err
	}
	if !found {
		return store.ErrNotFound
	}
	k, err := l.carriedBy(ctx, service, agent, currency)
	if err != nil || k < 0 {
		return store.ErrNotFound
	}
	return &store.ExpiredError{Carry: k}
}

// timeOfID returns the time in an id of version 7 (RFC 9562 5.7), in nanoseconds since 1970 UTC, to the millisecond.
func timeOfID(id string) (int64, bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return 0, false
	}
	var milliseconds int64
	for _, b := range u[:6] {
		milliseconds = milliseconds<<8 | int64(b)
	}
	return time.UnixMilli(milliseconds).UnixNano(), true
}
