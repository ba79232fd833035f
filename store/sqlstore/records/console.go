package records

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const sessionColumns = "id, name, role, via, credential, created_at, confirmed_at, ends_at, until"

// AddConsoleSession records a session. If store.MostConsoleSessions exist, it deletes the one that ends first.
func (s *Records) AddConsoleSession(ctx context.Context, c store.ConsoleSession) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		makeRoom(ctx, t, "console_sessions", "id", store.MostConsoleSessions)
		t.Run(ctx, "INSERT INTO console_sessions ("+sessionColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			c.ID, c.Name, c.Role, c.Via, c.Credential, engine.Nanos(c.CreatedAt), engine.Nanos(c.ConfirmedAt), engine.Nanos(c.EndsAt),
			engine.Nanos(c.Until))
		return nil
	})
}

// makeRoom deletes the rows that end first, until the number of rows is less than most.
func makeRoom(ctx context.Context, t *engine.Tx, table, key string, most int) {
	t.Run(ctx, "DELETE FROM "+table+" WHERE "+key+" IN (SELECT "+key+" FROM "+table+" ORDER BY until DESC LIMIT ? OFFSET ?)", most, most-1)
}

// ConsoleSession returns a session, or store.ErrNotFound if there is none or it has ended.
func (s *Records) ConsoleSession(ctx context.Context, id string) (store.ConsoleSession, error) {
	return engine.First(ctx, s.db, store.ErrNotFound, "SELECT "+sessionColumns+" FROM console_sessions WHERE id = ? AND until > ?",
		[]any{id, engine.Nanos(s.db.Now())}, scanSession)
}

func scanSession(scan engine.Scan) (c store.ConsoleSession, err error) {
	err = scan(&c.ID, &c.Name, &c.Role, &c.Via, &c.Credential, engine.Stored(&c.CreatedAt), engine.Stored(&c.ConfirmedAt),
		engine.Stored(&c.EndsAt), engine.Stored(&c.Until))
	return c, err
}

// ConsoleSessions returns the sessions that have not ended, the newest first, at most limit.
func (s *Records) ConsoleSessions(ctx context.Context, limit int) ([]store.ConsoleSession, error) {
	list, err := engine.All(ctx, s.db, "SELECT "+sessionColumns+" FROM console_sessions ORDER BY created_at DESC, id DESC LIMIT ?", []any{limit},
		scanSession)
	live := list[:0]
	for _, c := range list {
		if c.Until.After(s.db.Now()) {
			live = append(live, c)
		}
	}
	return live, err
}

// KeepConsoleSession moves the end of a session that is in use. It returns store.ErrUsed if the session does not exist.
func (s *Records) KeepConsoleSession(ctx context.Context, id string, until time.Time) error {
	return used(s.db.Run(ctx, "UPDATE console_sessions SET until = ? WHERE id = ?", engine.Nanos(until), id))
}

// ConfirmConsoleSession records that the person of a session has proved their identity again. It returns store.ErrUsed if the session does
// not exist.
func (s *Records) ConfirmConsoleSession(ctx context.Context, id string, at time.Time) error {
	return used(s.db.Run(ctx, "UPDATE console_sessions SET confirmed_at = ? WHERE id = ?", engine.Nanos(at), id))
}

// EndConsoleSession ends a session. A missing session is not an error.
func (s *Records) EndConsoleSession(ctx context.Context, id string) error {
	_, err := s.db.Run(ctx, "DELETE FROM console_sessions WHERE id = ?", id)
	return err
}

// AddConsoleLink records a link. If store.MostConsoleLinks exist, it deletes the one that ends first.
func (s *Records) AddConsoleLink(ctx context.Context, l store.ConsoleLink) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		makeRoom(ctx, t, "console_links", "code", store.MostConsoleLinks)
		t.Run(ctx, "INSERT INTO console_links (code, name, role, until) VALUES (?, ?, ?, ?)", l.Code, l.Name, l.Role, engine.Nanos(l.Until))
		return nil
	})
}

// TakeConsoleLink deletes a link and returns it. It returns store.ErrNotFound if the link does not exist, or if it was used or has expired.
func (s *Records) TakeConsoleLink(ctx context.Context, code string) (store.ConsoleLink, error) {
	l := store.ConsoleLink{Code: code}
	err := s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		if !t.Find(ctx, "SELECT name, role, until FROM console_links WHERE code = ? AND until > ? FOR UPDATE",
			[]any{code, engine.Nanos(t.Now())}, &l.Name, &l.Role, engine.Stored(&l.Until)) {
			return store.ErrNotFound
		}
		t.Run(ctx, "DELETE FROM console_links WHERE code = ?", code)
		return nil
	})
	return l, err
}
