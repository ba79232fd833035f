package sqlmail

import (
	"context"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const entryColumns = "id, owner, peer, entry_type, created_at"

func scanEntry(scan scan) (e mail.Entry, err error) {
	err = scan(&e.ID, keyTo(&e.Owner), keyTo(&e.Peer), &e.Type, timeTo(&e.CreatedAt))
	return e, err
}

// SetEntry adds an entry to an access list, or changes the type of the entry that already exists for the peer, and returns the entry. The
// error is mail.ErrNotFound if owner is not an agent, and mail.ErrOverQuota if the list already has mail.MaxEntries entries.
func (s *Store) SetEntry(ctx context.Context, owner, peer mail.Key, kind string) (e mail.Entry, err error) {
	err = s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		var entries, last int64
		if !x.Find(ctx, "SELECT entries, last_entry FROM relay_agents WHERE agent = ? FOR UPDATE", []any{owner[:]}, &entries, &last) {
			return mail.ErrNotFound
		}
		e = mail.Entry{ID: last + 1, Owner: owner, Peer: peer, Type: kind, CreatedAt: fromNanos(nanos(x.Now()))}
		switch found := x.Find(ctx, "SELECT id, created_at FROM relay_acl WHERE owner = ? AND peer = ?", []any{owner[:], peer[:]},
			&e.ID, timeTo(&e.CreatedAt)); {
		case found:
			x.Run(ctx, "UPDATE relay_acl SET entry_type = ? WHERE owner = ? AND peer = ?", kind, owner[:], peer[:])
			return nil
		case entries >= mail.MaxEntries:
			return mail.ErrOverQuota
		}
		x.Run(ctx, "INSERT INTO relay_acl ("+entryColumns+") VALUES (?, ?, ?, ?, ?)", e.ID, owner[:], peer[:], kind, nanos(e.CreatedAt))
		x.Run(ctx, "UPDATE relay_agents SET entries = entries + 1, last_entry = ?, blank = 0 WHERE agent = ?", e.ID, owner[:])
		return nil
	})
	if err != nil {
		return mail.Entry{}, err
	}
	return e, nil
}

// Entry returns the entry of an access list for a peer, or mail.ErrNotFound.
func (s *Store) Entry(ctx context.Context, owner, peer mail.Key) (mail.Entry, error) {
	return engine.First(ctx, s.db, mail.ErrNotFound, "SELECT "+entryColumns+" FROM relay_acl WHERE owner = ? AND peer = ?",
		[]any{owner[:], peer[:]}, scanEntry)
}

// Entries lists the entries of an access list, ordered by id. If kind is not empty, it lists only entries of that type. The list begins
// after the given id; 0 means from the beginning.
func (s *Store) Entries(ctx context.Context, owner mail.Key, kind string, after int64, limit int) (
	list []mail.Entry, more bool, err error,
) {
	query, args := "SELECT "+entryColumns+" FROM relay_acl WHERE owner = ?", []any{owner[:]}
	if kind != "" {
		if !plain(kind) {
			return nil, false, nil
		}
		query, args = query+" AND entry_type = ?", append(args, kind)
	}
	return page(ctx, s, limit, scanEntry, query+" AND id > ? ORDER BY id LIMIT ?", append(args, after)...)
}

// DeleteEntry removes the entry for a peer. The error is mail.ErrNotFound if there is none.
func (s *Store) DeleteEntry(ctx context.Context, owner, peer mail.Key) error {
	return s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		x.Find(ctx, lockAgentRow, []any{owner[:]})
		if x.Run(ctx, "DELETE FROM relay_acl WHERE owner = ? AND peer = ?", owner[:], peer[:]) == 0 {
			return mail.ErrNotFound
		}
		x.Run(ctx, "UPDATE relay_agents SET entries = entries - 1 WHERE agent = ?", owner[:])
		return nil
	})
}
