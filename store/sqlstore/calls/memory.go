package calls

import (
	"context"
	"math"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// mostKnown is the maximum number of cached counters, of cached accounts, and of cached creation times of agents. If one of these numbers
// is exceeded, learn clears the cache.
const mostKnown = 8 << 10

// learn caches the rows that a committed transaction has read and written. learn does not clear the cache while the journal has changes
// that the tables lack.
func (m *memory) learn(w *work, changes *Changes) {
	if len(m.counters) > mostKnown || len(m.created) > mostKnown || m.accounts.Len() > mostKnown {
		if m.journal == nil || !m.journal.Behind() {
			m.drop()
		}
	}
	if m.counters == nil {
		m.counters = map[CounterKey]Counter{}
	}
	for k, c := range w.limits.counters {
		if c.found {
			m.counters[k] = c.was
		}
	}
	for i := range changes.Counters {
		m.counters[changes.Counters[i].CounterKey] = changes.Counters[i]
	}
	for k, at := range w.limits.created {
		if m.created == nil {
			m.created = map[ref]int64{}
		}
		if at != math.MaxInt64 { // an agent that was not found may be created later
			m.created[k] = at
		}
	}
	m.accounts.Learn(w.book, changes.Pools)
}

// write returns the statements that make changes durable.
func (m *memory) write(ctx context.Context, w *work, c *Changes) ([]engine.Command, error) {
	other := append(w.changes.writes, w.writeAnswerSizes()...)
	if c.Empty() && len(other) == 0 {
		return nil, nil
	}
	if m.journal == nil {
		return c.Statements(other), nil
	}
	if plain := w.changes.plain && len(other) == 0 && len(c.Lines) == len(c.Beginnings)+len(c.Changed); plain {
		if one, kept := m.journal.Keep(w.t, c); kept {
			return []engine.Command{one}, nil
		}
	}
	err := m.journal.Apply(ctx, w.t, c)
	return c.Statements(other), err
}

// readJournal prepares the journal for a transaction, and determines whether the changes of the transaction can stay in the journal.
func (w *work) readJournal(ctx context.Context) (list []engine.Command, err error) {
	j, n := w.calls.memory.journal, &w.need
	reads := len(n.keys) > 0 || len(n.executions) > 0
	if err := j.Before(ctx, w.t, reads); err != nil {
		return nil, err
	}
	w.changes.plain = !reads && len(n.answers) == 0
	for _, e := range n.cached {
		if !j.Began(e.ID) {
			w.changes.plain = false
		}
	}
	for _, id := range n.begins {
		list = append(list, j.Find(id, func() { w.changes.plain = false })...)
	}
	return list, nil
}

// Forget implements engine.Layer.
func (c *Calls) Forget() {
	c.memory.drop()
	c.nonces.forget()
	if c.memory.journal != nil {
		c.memory.journal.Forget()
	}
}

// CatchUp implements engine.Layer. After the transaction, the cache is dropped, because the operations that follow may change
// cached rows.
func (c *Calls) CatchUp(ctx context.Context, t *engine.Tx) error {
	t.After(c.memory.drop)
	if c.memory.journal == nil {
		return nil
	}
	return c.memory.journal.Before(ctx, t, true)
}

// Behind implements engine.Layer.
func (c *Calls) Behind() bool { return c.memory.journal != nil && c.memory.journal.Behind() }

// Pending implements engine.Layer.
func (c *Calls) Pending(ctx context.Context) (bool, error) {
	if c.memory.journal == nil {
		return false, nil
	}
	return c.memory.journal.Pending(ctx)
}
