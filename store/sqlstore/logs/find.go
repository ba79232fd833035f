package logs

import (
	"bytes"
	"context"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const (
	selectExecution = "SELECT agent_id, begun_at FROM executions WHERE id = ? AND service = ?"
	selectLine      = `SELECT seq, epoch, leaf, to_state FROM ledger WHERE service = ? AND agent_id = ? AND at >= ? AND execution_id = ? AND k >= 0
		ORDER BY at, seq LIMIT ?`
	selectPlace = "SELECT seq, epoch, leaf FROM ledger WHERE service = ? AND agent_id = ? AND currency = ? AND k >= 0 AND k = ?"
	mostLines   = 16 // the maximum number of lines of one execution
)

// Find returns the place of the line of an execution that has the given state, or of its newest line if state is empty. The error is
// store.ErrNotFound if the line does not exist, and store.ErrNotLogged if it is not in the log yet.
func (l *Logs) Find(ctx context.Context, service, execution string, state store.State) (store.LoggedLine, error) {
	found, err := l.line(ctx, l.read, service, execution, state)
	// Most lines are in the tables, so the journal need not be emptied. A line after this one can exist only if the charge is neither captured
	// nor released.
	if err == nil && (found.seq == 0 || state == "" && found.state != store.Captured && found.state != store.Released) {
		found, err = l.line(ctx, l.db.List, service, execution, state)
	}
	switch {
	case err != nil:
		return found.LoggedLine, err
	case found.seq == 0:
		return found.LoggedLine, store.ErrNotFound
	}
	found.Index, err = l.Index(ctx, service, found.Epoch, found.seq, found.Leaf)
	return found.LoggedLine, err
}

// FindEntry returns the place of the entry with a number in the chain of an account. The error is store.ErrNotFound if there is no such
// entry, and store.ErrNotLogged if it is not in the log yet.
func (l *Logs) FindEntry(ctx context.Context, service string, agent pat.AgentID, currency string, k int64) (store.LoggedLine, error) {
	found := line{LoggedLine: store.LoggedLine{AgentID: agent}}
	var leaf []byte
	args, scan := []any{service, string(agent), currency, k}, func(scan engine.Scan) error { return scan(&found.seq, &found.Epoch, &leaf) }
	err := l.read(ctx, selectPlace, args, scan)
	if err == nil && found.seq == 0 { // it may be in the journal
		err = l.db.List(ctx, selectPlace, args, scan)
	}
	switch {
	case err != nil:
		return found.LoggedLine, err
	case found.seq == 0:
		return found.LoggedLine, store.ErrNotFound
	}
	found.Leaf = evidence.HashOf(leaf)
	found.Index, err = l.Index(ctx, service, found.Epoch, found.seq, found.Leaf)
	return found.LoggedLine, err
}

// A line is a line of an execution. Its seq is 0 if the line does not exist.
type line struct {
	store.LoggedLine

	seq   int64
	state store.State
}

// line reads a line of an execution without its index.
func (l *Logs) line(ctx context.Context, read func(context.Context, string, []any, func(engine.Scan) error) error,
	service, execution string, state store.State,
) (found line, err error) {
	var began int64
	err = read(ctx, selectExecution, []any{execution, service}, func(scan engine.Scan) error { return scan(&found.AgentID, &began) })
	if err != nil || found.AgentID == "" {
		return found, err
	}
	err = read(ctx, selectLine, []any{service, found.AgentID, began, execution, mostLines}, func(scan engine.Scan) error {
		next := line{LoggedLine: store.LoggedLine{AgentID: found.AgentID}}
		var leaf []byte
		err := scan(&next.seq, &next.Epoch, &leaf, &next.state)
		if next.Leaf = evidence.HashOf(leaf); state == "" || next.state == state {
			found = next
		}
		return err
	})
	return found, err
}

// Index returns the number of the leaf of a ledger entry in its log. The error is store.ErrNotLogged if the entry is not in the log yet.
func (l *Logs) Index(ctx context.Context, service string, epoch, seq int64, leaf evidence.Hash) (int64, error) {
	var n int64
	var hashes []byte
	found, err := l.db.One(ctx, selectIndex, []any{service, epoch, seq}, &n, &hashes)
	if err != nil {
		return 0, err
	}
	for i := 0; found && i+evidence.HashSize <= len(hashes); i += evidence.HashSize {
		if bytes.Equal(hashes[i:i+evidence.HashSize], leaf[:]) {
			return n*256 + int64(i/evidence.HashSize), nil
		}
	}
	return 0, store.ErrNotLogged
}
