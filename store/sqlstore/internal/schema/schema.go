// Package schema makes the tables of a database and brings them to the version of this program. migrations/*.sql describe each column.
//
//	sequences    (name)                                the last number used: changes for replicas, the ledger's lines; when restored;
//	                                                   what processes saw of the clocks
//	agents       (service, id)                         who claimed which id, and its status
//	agent_keys   (service, key_id)                     → agents; one id per key, several keys per id
//	policies     (service, digest)                     each policy document once, byte for byte
//	agreements   (service, id)                         → agents, policies; the evidence of each acceptance
//	tokens       (service, id)                         → agreements; one row per PAT, never its text
//	revocations  (service, kind, subject)              what ended before its time
//	signing_keys (id)                                  public halves of the keys that sign PATs
//	nonces       (service, key_id, id)                 used once, until deleted; on PostgreSQL
//	nonce_batches (until)                              the same on SQLite: digests, those of one transaction in one row
//	counters     (service, agent_id, limit_id, period) one window of one limit, all its slots in one row
//	executions   (id)                                  calls that charge or have an idempotency key
//	idempotency  (service, agent_id, idem_key)         the execution a key belongs to
//	answers      (execution_id)                        the answer to the agent, for as long as the key is kept
//	answer_sizes (service, agent_id)                   how many bytes of answers are kept
//	accounts     (service, agent_id, currency)         the sums over the ledger
//	pools        (service, currency)                   what unapproved agents owe together
//	ledger       (seq)                                 append-only: every change of a charge, every top-up
//	consents     (service, handle)                     → agreements by id; codes and refresh tokens of a person's consent, as digests
//	clients      (service, id)                         OAuth clients that registered themselves
//	invitations  (service, code)                       one-time codes, as digests, for people whom the operator lets consent
//	almanac      (service, address)                    agents of uAgents that have registered themselves
//	almanac_protocols (service, protocol, address)     → almanac; by which they are found
//	carried      (service, agent_id, currency)         the sums over what the ledger no longer contains
//	journal      (id)                                  on SQLite: what calls changed that the other tables do not have yet
//	relay_*                                            what a relay of messages keeps: package sqlmail
//
// A counter is one row so that Begin reads one row and writes one row per limit, and so that with concurrent writers
// that row is the lock. revocations, agents and signing_keys have the sequence number of their last change; those
// columns are the feed of Changes, which therefore is never larger than its subjects.
package schema

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Journal is the migration that makes the table journal, on SQLite alone.
const Journal = 19

// ErrNewer means that the database was made by a later version of this program.
var ErrNewer = errors.New("the database was written by a newer version of uimgate: upgrade uimgate, or use another database")

// Migrate brings the schema to the version of this program. rewrite converts a migration to the SQL of the dialect; nil: unchanged.
// Of several processes one may do this at a time. A database of a later version returns ErrNewer. Else before is called first, with the
// version that there is, 0 where the database is new; after its error nothing is migrated.
func Migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, rewrite func(string) string,
	before func(ctx context.Context, version int64) error,
) error {
	p, err := Provider(db, dialect, rewrite)
	if err != nil {
		return err
	}
	current, known, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the schema version: %w", err)
	}
	if current > known {
		return fmt.Errorf("schema version %d, of which this program knows %d: %w", current, known, ErrNewer)
	}
	if err := before(ctx, current); err != nil {
		return err
	}
	if current == known {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating the schema from version %d to %d: %w", current, known, err)
	}
	return nil
}

// Newest returns the number of the last migration of this program.
func Newest() int64 {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		return 0
	}
	n, err := goose.NumericComponent(path.Base(files[len(files)-1])) // they are in the order of their names
	if err != nil {
		return 0
	}
	return n
}

// Provider runs the migrations in the SQL of a dialect, each file as one command: the drivers take several statements at
// once, and the reader of goose allocates megabytes for every line it splits.
func Provider(db *sql.DB, dialect goose.Dialect, rewrite func(string) string) (*goose.Provider, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var steps []*goose.Migration
	for _, name := range files {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		query := string(text)
		if rewrite != nil {
			query = rewrite(query)
		}
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			if (version == nonceBatches || version == Journal) && dialect != goose.DialectSQLite3 {
				return nil
			}
			if _, err := tx.ExecContext(ctx, query); err != nil || version != nonceBatches {
				return err
			}
			return carryNonces(ctx, tx)
		}}, nil))
	}
	return goose.NewProvider(dialect, db, nil,
		goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
}
