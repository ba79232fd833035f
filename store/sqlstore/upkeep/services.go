package upkeep

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// ServiceTables are the tables with a column service, each after those that its rows refer to. The table nonces is on PostgreSQL alone.
var ServiceTables = []string{
	"agents", "policies", "agreements", "agent_keys", "tokens", "revocations", "nonces", "counters", "executions", "idempotency",
	"answer_sizes", "accounts", "pools", "ledger", "consents", "clients", "invitations", "almanac", "almanac_protocols", "carried",
}

// referred are the tables to whose rows others refer by service: they are copied, and the others follow.
var referred = []string{"agents", "policies", "agreements"}

// selectState selects a row where a service has state that would be lost with its id.
const selectState = `SELECT 1 WHERE EXISTS (SELECT 1 FROM agents WHERE service = ?) OR EXISTS (SELECT 1 FROM accounts WHERE service = ?)
	OR EXISTS (SELECT 1 FROM revocations WHERE service = ? AND kind <> 'policy') OR EXISTS (SELECT 1 FROM invitations WHERE service = ?)`

// A comparison is of the services of a configuration with those in the database. It only reads.
type comparison struct {
	read     func(ctx context.Context, query string, args []any, each func(engine.Scan) error) error
	want     store.Services
	issuers  map[string]string // of the services in the database, by id, once the moves are made
	moves    [][2]string       // from an id to another
	writes   []engine.Command  // after the moves
	problems store.ServicesError
	warnings []store.ServiceProblem
}

// compare returns a store.ServicesError where the state of a service would be lost.
func (c *comparison) compare(ctx context.Context) error {
	c.issuers = map[string]string{}
	err := c.read(ctx, "SELECT id, issuer FROM services", nil, func(scan engine.Scan) error {
		var id, issuer string
		err := scan(&id, &issuer)
		c.issuers[id] = issuer
		return err
	})
	if err != nil {
		return err
	}
	for i, s := range c.want.Served {
		if err := c.formerly(ctx, i, s); err != nil {
			return err
		}
	}
	if err := c.vanished(ctx); err != nil {
		return err
	}
	for i, s := range c.want.Served {
		if err := c.issuer(ctx, i, s); err != nil {
			return err
		}
	}
	if len(c.problems) > 0 {
		return c.problems
	}
	return nil
}

func (c *comparison) wrong(at int, key, format string, args ...any) {
	c.problems = append(c.problems, store.ServiceProblem{At: at, Key: key, Message: fmt.Sprintf(format, args...)})
}

func (c *comparison) hasState(ctx context.Context, id string) (found bool, err error) {
	err = c.read(ctx, selectState, []any{id, id, id, id}, func(scan engine.Scan) error {
		found = true
		return scan(new(int64))
	})
	return found, err
}

// formerly plans to carry over the state of a service that had another id, unless that is done.
func (c *comparison) formerly(ctx context.Context, at int, s store.Service) error {
	if _, recorded := c.issuers[s.Formerly]; s.Formerly == "" || !recorded {
		return nil
	}
	from, err := c.hasState(ctx, s.Formerly)
	if err != nil || !from {
		return err
	}
	to, err := c.hasState(ctx, s.ID)
	if err != nil {
		return err
	}
	if to {
		c.wrong(at, "formerly", "services %s and %s both have state in the store, which cannot be merged: leave formerly out, and list %s "+
			"under unserved", s.Formerly, s.ID, s.Formerly)
		return nil
	}
	c.moves = append(c.moves, [2]string{s.Formerly, s.ID})
	c.issuers[s.ID] = c.issuers[s.Formerly]
	delete(c.issuers, s.Formerly)
	return nil
}

// vanished reports services that have state and are in the configuration no more.
func (c *comparison) vanished(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(c.issuers)) {
		served := slices.ContainsFunc(c.want.Served, func(s store.Service) bool { return s.ID == id || s.Formerly == id })
		if served || slices.Contains(c.want.Unserved, id) {
			continue
		}
		found, err := c.hasState(ctx, id)
		if err != nil {
			return err
		}
		if found {
			c.wrong(c.first(), "id", "the store has agents, revocations or accounts of service %s, which the configuration no longer names: "+
				"write formerly: %s at the service that it is now, or list %s under unserved", id, id, id)
		}
	}
	return nil
}

// first returns the first service that the store does not have: it may be one that got another id.
func (c *comparison) first() int {
	return slices.IndexFunc(c.want.Served, func(s store.Service) bool { _, known := c.issuers[s.ID]; return !known })
}

// issuer reports an issuer that changes without the configuration naming it, and plans to record others.
func (c *comparison) issuer(ctx context.Context, at int, s store.Service) error {
	was, recorded := c.issuers[s.ID]
	switch {
	case !recorded:
		c.writes = append(c.writes, engine.Command{
			Query: "INSERT INTO services (id, issuer) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET issuer = excluded.issuer", Args: []any{s.ID, s.Issuer},
		})
		return nil
	case was == s.Issuer:
		return nil
	}
	found, err := was != "", error(nil)
	if found {
		found, err = c.hasState(ctx, s.ID)
	}
	if moved := slices.ContainsFunc(c.moves, func(m [2]string) bool { return m[1] == s.ID }); moved {
		found = was != ""
	}
	switch {
	case err != nil:
		return err
	case found && !s.IssuerSet:
		c.wrong(at, "issuer", "the issuer of service %s was %s and would be %s now, the namespace of the first intent; each PAT and agreement is "+
			"bound to it: write issuer: %s to keep it, or issuer: %s to change it", s.ID, was, s.Issuer, was, s.Issuer)
		return nil
	case found:
		c.warnings = append(c.warnings, store.ServiceProblem{
			At: at, Key: "issuer",
			Message: fmt.Sprintf("was %s for service %s: PATs and agreements made for that are no longer accepted", was, s.ID),
		})
	}
	c.writes = append(c.writes, engine.Command{Query: "UPDATE services SET issuer = ? WHERE id = ?", Args: []any{s.Issuer, s.ID}})
	return nil
}

// CompareServices compares the services of a configuration with those in the store, records new ones, and returns warnings. Where the
// state of a service would be lost, or only a start can carry it over, the error is a store.ServicesError.
func (u *Upkeep) CompareServices(ctx context.Context, want store.Services) ([]store.ServiceProblem, error) {
	c := comparison{read: u.db.List, want: want}
	if err := c.compare(ctx); err != nil {
		return nil, err
	}
	for _, m := range c.moves {
		at := slices.IndexFunc(want.Served, func(s store.Service) bool { return s.ID == m[1] })
		c.wrong(at, "formerly", "only a start carries the state of service %s over to %s: restart uimgate", m[0], m[1])
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	if len(c.writes) == 0 {
		return c.warnings, nil
	}
	return c.warnings, u.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		for _, w := range c.writes {
			if _, err := t.Exec(ctx, w.Query, w.Args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// CheckServices compares the services of a configuration with those in the database at a place (see Open), which may be in use. It
// changes nothing: what a start would carry over or record is not reported. Where the schema is of a version before services were
// recorded, nothing is compared.
func CheckServices(ctx context.Context, place string, want store.Services) (warnings []store.ServiceProblem, err error) {
	err = ReadServices(ctx, place, func(db *engine.DB) error {
		c := comparison{read: db.Ask, want: want}
		err := c.compare(ctx)
		warnings = c.warnings
		return err
	})
	return warnings, err
}

// ReadServices is ReadOnly for what only a database has that records services; do is not called for others.
func ReadServices(ctx context.Context, place string, do func(db *engine.DB) error) error {
	return ReadOnly(ctx, place, func(db *engine.DB, version int64) error {
		if version < schema.Services {
			return nil
		}
		return do(db)
	})
}

// ServicesFound returns the warnings of comparing Options.Services with the services in the database.
func (u *Upkeep) ServicesFound() []store.ServiceProblem { return u.servicesFound }

// claimServices compares the services of a configuration with those in the database while it is opened, and carries state over, all in
// one transaction. alone returns an error where other processes use the database.
func (u *Upkeep) claimServices(ctx context.Context, db *sql.DB, alone func(context.Context) error) error {
	c := comparison{want: *u.services, read: func(ctx context.Context, query string, args []any, each func(engine.Scan) error) error {
		rows, err := db.QueryContext(ctx, u.db.Dialect().Rewrite(query), args...)
		if err != nil {
			return err
		}
		return engine.Drain(rows, each)
	}}
	if err := c.compare(ctx); err != nil {
		return err
	}
	u.servicesFound = c.warnings
	if len(c.moves) > 0 {
		if err := alone(ctx); err != nil {
			return fmt.Errorf("carrying the state of service %s over to %s: %w", c.moves[0][0], c.moves[0][1], err)
		}
	}
	if len(c.moves)+len(c.writes) == 0 {
		return nil
	}
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }()
	for _, m := range c.moves {
		if err := u.move(ctx, t, m[0], m[1]); err != nil {
			return fmt.Errorf("carrying the state of service %s over to %s: %w", m[0], m[1], err)
		}
	}
	for _, w := range c.writes {
		if _, err := t.ExecContext(ctx, u.db.Dialect().Rewrite(w.Query), w.Args...); err != nil {
			return err
		}
	}
	return t.Commit()
}

// move gives all rows of a service another id, under which there is no state but policies that were offered and what came of them.
func (u *Upkeep) move(ctx context.Context, t *sql.Tx, from, to string) error {
	run := func(query string, args ...any) error {
		if _, err := t.ExecContext(ctx, u.db.Dialect().Rewrite(query), args...); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		return nil
	}
	tables := slices.DeleteFunc(slices.Clone(ServiceTables), func(table string) bool { return table == "nonces" && u.db.Sharing() == engine.Exclusive })
	for _, table := range slices.Backward(tables) {
		if err := run("DELETE FROM "+table+" WHERE service = ?", to); err != nil {
			return err
		}
	}
	for _, table := range referred {
		columns, err := otherColumns(ctx, t, table)
		if err != nil {
			return err
		}
		if err := run("INSERT INTO "+table+" (service, "+columns+") SELECT CAST(? AS TEXT), "+columns+" FROM "+table+" WHERE service = ?",
			to, from); err != nil {
			return err
		}
	}
	for _, table := range tables {
		if slices.Contains(referred, table) {
			continue
		}
		if err := run("UPDATE "+table+" SET service = ? WHERE service = ?", to, from); err != nil {
			return err
		}
	}
	for _, table := range slices.Backward(referred) {
		if err := run("DELETE FROM "+table+" WHERE service = ?", from); err != nil {
			return err
		}
	}
	if err := run("DELETE FROM services WHERE id = ?", to); err != nil {
		return err
	}
	if err := run("UPDATE services SET nonces_as = CASE WHEN nonces_as = '' THEN id ELSE nonces_as END, id = ? WHERE id = ?", to, from); err != nil {
		return err
	}
	return run("UPDATE sequences SET n = n + 1 WHERE name = 'moves'")
}

// otherColumns lists the columns of a table but service.
func otherColumns(ctx context.Context, t *sql.Tx, table string) (string, error) {
	rows, err := t.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0") //nolint:gosec // one of our own tables
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	return strings.Join(slices.DeleteFunc(columns, func(c string) bool { return c == "service" }), ", "), rows.Err()
}
