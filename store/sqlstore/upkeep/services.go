package upkeep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// selectState selects a row if a service has state that would be lost with its id.
const selectState = `SELECT 1 WHERE EXISTS (SELECT 1 FROM agents WHERE service = ?) OR EXISTS (SELECT 1 FROM accounts WHERE service = ?)
	OR EXISTS (SELECT 1 FROM revocations WHERE service = ? AND kind <> 'policy') OR EXISTS (SELECT 1 FROM invitations WHERE service = ?)`

// A comparison compares the services of a configuration with those in the database. It only reads.
type comparison struct {
	read     func(ctx context.Context, query string, args []any, each func(engine.Scan) error) error
	want     store.Services
	now      time.Time         // for the epochs that the upgrade begins
	issuers  map[string]string // the issuers of the services in the database after the moves, by id
	moves    [][2]string       // the old and the new id
	writes   []engine.Command  // run after the moves
	problems store.ServicesError
	warnings []store.ServiceProblem
	err      error // the first error of read; the methods of a comparison then find nothing more
}

// compare returns a store.ServicesError if the state of a service would be lost.
func (c *comparison) compare(ctx context.Context) error {
	c.issuers = map[string]string{}
	c.err = c.read(ctx, "SELECT id, issuer FROM services", nil, func(scan engine.Scan) error {
		var id, issuer string
		err := scan(&id, &issuer)
		c.issuers[id] = issuer
		return err
	})
	for i, s := range c.want.Served {
		c.formerly(ctx, i, s)
	}
	c.vanished(ctx)
	for i, s := range c.want.Served {
		c.issuer(ctx, i, s)
	}
	if c.err == nil && len(c.problems) > 0 {
		return c.problems
	}
	return c.err
}

func (c *comparison) wrong(at int, key, format string, args ...any) {
	c.problems = append(c.problems, store.ServiceProblem{At: at, Key: key, Message: fmt.Sprintf(format, args...)})
}

func (c *comparison) hasState(ctx context.Context, id string) (found bool) {
	if c.err == nil {
		c.err = c.read(ctx, selectState, []any{id, id, id, id}, func(scan engine.Scan) error {
			found = true
			return scan(new(int64))
		})
	}
	return found
}

// formerly plans to move the state of a service that had another id, unless it has been moved.
func (c *comparison) formerly(ctx context.Context, at int, s store.Service) {
	if _, recorded := c.issuers[s.Formerly]; s.Formerly == "" || !recorded || !c.hasState(ctx, s.Formerly) {
		return
	}
	if c.hasState(ctx, s.ID) {
		c.wrong(at, "formerly", "services %s and %s both have state in the store, which cannot be merged: remove formerly, and list %s "+
			"under unserved", s.Formerly, s.ID, s.Formerly)
		return
	}
	c.moves = append(c.moves, [2]string{s.Formerly, s.ID})
	c.issuers[s.ID] = c.issuers[s.Formerly]
	delete(c.issuers, s.Formerly)
}

// vanished reports services that have state but are no longer in the configuration.
func (c *comparison) vanished(ctx context.Context) {
	for _, id := range slices.Sorted(maps.Keys(c.issuers)) {
		served := slices.ContainsFunc(c.want.Served, func(s store.Service) bool { return s.ID == id || s.Formerly == id })
		if !served && !slices.Contains(c.want.Unserved, id) && c.hasState(ctx, id) {
			c.wrong(c.first(), "id", "the store has agents, revocations or accounts of service %s, which is no longer in the configuration: "+
				"if the service has a new id, add formerly: %s to its settings; if it was removed, list %s under unserved", id, id, id)
		}
	}
}

// first returns the index of the first configured service that the store does not have, because this may be the service with a new id. It
// returns -1 if the store has all of them.
func (c *comparison) first() int {
	return slices.IndexFunc(c.want.Served, func(s store.Service) bool { _, known := c.issuers[s.ID]; return !known })
}

// issuer reports an issuer that changes although the configuration does not set it. It plans to record new issuers and changes that the
// configuration sets.
func (c *comparison) issuer(ctx context.Context, at int, s store.Service) {
	was, recorded := c.issuers[s.ID]
	switch {
	case !recorded:
		c.writes = append(c.writes, engine.Command{
			Query: "INSERT INTO services (id, issuer) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET issuer = excluded.issuer",
			Args:  []any{s.ID, s.Issuer},
		})
		return
	case was == s.Issuer:
		return
	}
	moved := slices.ContainsFunc(c.moves, func(m [2]string) bool { return m[1] == s.ID })
	found := was != "" && (moved || c.hasState(ctx, s.ID))
	switch {
	case found && !s.IssuerSet:
		c.wrong(at, "issuer", "the issuer of service %s was %s, and would now be %s, the namespace of the first intent; PATs and agreements are "+
			"bound to the issuer: set issuer: %s to keep it, or issuer: %s to change it", s.ID, was, s.Issuer, was, s.Issuer)
		return
	case found:
		c.warnings = append(c.warnings, store.ServiceProblem{
			At: at, Key: "issuer",
			Message: fmt.Sprintf("was %s for service %s: PATs and agreements made for that issuer are no longer accepted", was, s.ID),
		})
	}
	c.writes = append(c.writes, engine.Command{Query: "UPDATE services SET issuer = ? WHERE id = ?", Args: []any{s.Issuer, s.ID}})
	c.writes = append(c.writes, ledger.NextEpoch(s.ID, s.Issuer, engine.Nanos(c.now))...) // the entries of an epoch have one issuer
}

// CompareServices compares the services of a configuration with those in the store, records new ones, and returns warnings. If the state of
// a service would be lost, or can be moved only when uimgate starts, the error is a store.ServicesError.
func (u *Upkeep) CompareServices(ctx context.Context, want store.Services) ([]store.ServiceProblem, error) {
	c := comparison{read: u.db.List, want: want, now: u.db.Now()}
	if err := c.compare(ctx); err != nil {
		return nil, err
	}
	for _, m := range c.moves {
		at := slices.IndexFunc(want.Served, func(s store.Service) bool { return s.ID == m[1] })
		c.wrong(at, "formerly", "the state of service %s can be moved to %s only when uimgate starts: restart uimgate", m[0], m[1])
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	if len(c.writes) == 0 {
		return c.warnings, nil
	}
	c.writes = append(c.writes, engine.Command{Query: ledger.FirstEpochs, Args: []any{engine.Nanos(c.now)}})
	if err := u.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error {
		t.RunAll(ctx, c.writes)
		return nil
	}); err != nil {
		return nil, err
	}
	return c.warnings, u.ledger.Epochs.Read(ctx, u.db)
}

// CheckServices compares the services of a configuration with those in the database at place (see Open), which may be in use. It changes
// nothing, and does not report the rows that a start would move or record. If the schema is too old to record services, it compares
// nothing.
func CheckServices(ctx context.Context, place string, want store.Services) (warnings []store.ServiceProblem, err error) {
	err = ReadServices(ctx, place, func(db *engine.DB) error {
		c := comparison{read: db.Ask, want: want}
		err := c.compare(ctx)
		warnings = c.warnings
		return err
	})
	return warnings, err
}

// ReadServices is like ReadOnly, but calls the function do only if the schema of the database records services. An empty database is not an
// error.
func ReadServices(ctx context.Context, place string, do func(db *engine.DB) error) error {
	return readSince(ctx, place, schema.Services, do)
}

// ReadUses is like ReadServices, but calls the function do only if the schema of the database records when intents were called.
func ReadUses(ctx context.Context, place string, do func(db *engine.DB) error) error {
	return readSince(ctx, place, schema.IntentUses, do)
}

func readSince(ctx context.Context, place string, first int64, do func(db *engine.DB) error) error {
	err := ReadOnly(ctx, place, func(db *engine.DB, version int64) error {
		if version < first {
			return nil
		}
		return do(db)
	})
	if errors.Is(err, engine.ErrEmpty) {
		return nil
	}
	return err
}

// ServicesFound returns the warnings from comparing Options.Services with the services in the database.
func (u *Upkeep) ServicesFound() []store.ServiceProblem { return u.servicesFound }
