package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/upkeep"
)

// ErrHasState means that a database already has the state of agents.
var ErrHasState = upkeep.ErrHasState

// Transfer copies the whole state of the SQLite database at from into the PostgreSQL database at the URL place, and checks the copy. No
// process may use either of them. It migrates the schema of both. Used nonces are not copied, so a signature that was used less than five
// minutes ago could be used a second time. If Transfer fails, from keeps the state. The error wraps ErrHasState if place has the state of
// agents, ErrInUse if a process uses place, or store.ErrUnbalanced.
func Transfer(ctx context.Context, from, place string, opts Options) (Contents, error) {
	for _, at := range []string{from, place} { // this migrates the schema, and empties the journal
		s, err := Open(ctx, at, opts)
		if err != nil {
			return Contents{}, err
		}
		if err := s.Close(); err != nil {
			return Contents{}, err
		}
	}
	if err := Fold(ctx, from); err != nil {
		return Contents{}, err
	}
	had, err := Inspect(ctx, from)
	if err != nil {
		return Contents{}, err
	}
	if err := upkeep.Transfer(ctx, from, place); err != nil {
		return Contents{}, err
	}
	has, err := Verify(ctx, place)
	if err == nil && has != had {
		err = fmt.Errorf("%w: the records of the copy differ from those of the original", ErrDamaged)
	}
	if err != nil {
		return Contents{}, fmt.Errorf("checking the copy: %w", err)
	}
	return has, nil
}

// HasAgents reports whether the database at place (see Open) has a record of an agent. It changes nothing.
func HasAgents(ctx context.Context, place string) (found bool, err error) {
	err = upkeep.ReadOnly(ctx, place, func(db *engine.DB, _ int64) error {
		found, err = db.One(ctx, "SELECT 1 FROM agents LIMIT 1", nil, new(int64))
		return err
	})
	if errors.Is(err, ErrEmpty) {
		return false, nil
	}
	return found, err
}
