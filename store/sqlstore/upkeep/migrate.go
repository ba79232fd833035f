package upkeep

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// Upgrade migrates the schema, and moves the state of services with new ids. Before the migration, it writes the journal into the tables.
// If that fails, the schema is not migrated, so the previous version of uimgate can still be started. alone must return an error if other
// processes use the database.
func (u *Upkeep) Upgrade(ctx context.Context, db *sql.DB, alone func(context.Context) error) error {
	d := u.db.Dialect()
	before := func(ctx context.Context, version int64) error {
		if version < schema.Journal {
			return nil
		}
		return u.db.CatchUpAlone(ctx)
	}
	err := schema.Migrate(ctx, db, schema.Options{Dialect: d.Goose, Rewrite: d.Schema, Before: before, Alone: alone})
	if err == nil && u.services != nil {
		err = u.claimServices(ctx, db, alone)
	}
	if err != nil {
		return err
	}
	return u.startChains(ctx, db)
}

// ServiceTables are the tables with a service column, each after the tables that its rows refer to. The nonces table exists only on
// PostgreSQL.
var ServiceTables = []string{
	"agents", "policies", "agreements", "agent_keys", "tokens", "revocations", "nonces", "counters", "executions", "idempotency",
	"answer_sizes", "accounts", "pools", "ledger", "consents", "clients", "invitations", "almanac", "almanac_protocols", "carried",
	"confirmations", "intent_uses", "payments", "evidence", "epochs", "log_entries", "log_tiles", "log_heads", "stops", "refunds",
	"document_numbers", "invoices", "budgets", "requests", "credit_moves",
}

// referred are the tables whose rows other tables refer to by service. To move a service, their rows are copied, the other tables are
// updated, and then the old rows are deleted.
var referred = []string{"agents", "policies", "agreements"}

// claimServices compares the services of a configuration with those in the database while the database is opened. It moves state and
// records new services in one transaction. alone returns an error if other processes use the database.
func (u *Upkeep) claimServices(ctx context.Context, db *sql.DB, alone func(context.Context) error) error {
	c := comparison{want: *u.services, now: u.db.Local()}
	c.read = func(ctx context.Context, query string, args []any, each func(engine.Scan) error) error {
		rows, err := db.QueryContext(ctx, u.db.Dialect().Rewrite(query), args...)
		if err != nil {
			return err
		}
		return engine.Drain(rows, each)
	}
	if err := c.compare(ctx); err != nil {
		return err
	}
	u.servicesFound = c.warnings
	if len(c.moves) > 0 {
		if err := alone(ctx); err != nil {
			return fmt.Errorf("moving the state of service %s to %s: %w", c.moves[0][0], c.moves[0][1], err)
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
			return fmt.Errorf("moving the state of service %s to %s: %w", m[0], m[1], err)
		}
	}
	for _, w := range c.writes {
		if _, err := t.ExecContext(ctx, u.db.Dialect().Rewrite(w.Query), w.Args...); err != nil {
			return err
		}
	}
	return t.Commit()
}

// move moves all rows of a service to another id. That id must have no state except offered policies and the state that follows from
// them.
func (u *Upkeep) move(ctx context.Context, t *sql.Tx, from, to string) error {
	var failed error // of the first statement that failed
	run := func(query string, args ...any) {
		if failed != nil {
			return
		}
		if _, err := t.ExecContext(ctx, u.db.Dialect().Rewrite(query), args...); err != nil {
			failed = fmt.Errorf("%s: %w", query, err)
		}
	}
	tables := slices.DeleteFunc(slices.Clone(ServiceTables), func(table string) bool {
		return table == "nonces" && u.db.Sharing() == engine.Exclusive
	})
	for _, table := range slices.Backward(tables) {
		run("DELETE FROM "+table+" WHERE service = ?", to)
	}
	for _, table := range referred {
		columns, err := otherColumns(ctx, t, table)
		if err != nil {
			return cmp.Or(failed, err)
		}
		run("INSERT INTO "+table+" (service, "+columns+") SELECT CAST(? AS TEXT), "+columns+" FROM "+table+" WHERE service = ?", to, from)
	}
	for _, table := range tables {
		if !slices.Contains(referred, table) {
			run("UPDATE "+table+" SET service = ? WHERE service = ?", to, from)
		}
	}
	for _, table := range slices.Backward(referred) {
		run("DELETE FROM "+table+" WHERE service = ?", from)
	}
	run("DELETE FROM services WHERE id = ?", to)
	run("UPDATE services SET nonces_as = CASE WHEN nonces_as = '' THEN id ELSE nonces_as END, id = ? WHERE id = ?", to, from)
	run("UPDATE sequences SET n = n + 1 WHERE name = 'moves'")
	return failed
}

// otherColumns lists the columns of a table except service.
func otherColumns(ctx context.Context, t *sql.Tx, table string) (string, error) {
	rows, err := t.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0") //nolint:gosec // table is one of ServiceTables
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
