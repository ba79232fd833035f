// Package schema creates the tables of a database, and migrates them to the version of this program. migrations/*.sql describe each column.
//
//	sequences    (name)                                the last numbers of changes and ledger entries; the last restore;
//	                                                   notes of processes about clocks and servers
//	agents       (service, id)                         the claimed ids, and their status
//	agent_keys   (service, key_id)                     → agents; one id per key, several keys per id
//	policies     (service, digest)                     each policy document once, byte for byte
//	agreements   (service, id)                         → agents, policies; the evidence of each acceptance
//	tokens       (service, id)                         → agreements; one row per PAT, without the PAT itself
//	revocations  (service, kind, subject)              revoked tokens, agreements, agents and policies
//	signing_keys (id)                                  public halves of the keys that sign PATs
//	nonces       (service, key_id, id)                 used nonces, on PostgreSQL
//	nonce_batches (until)                              used nonces, on SQLite: the digests of a transaction in one row
//	counters     (service, agent_id, limit_id, period) one window of one limit, all its slots in one row
//	executions   (id)                                  calls with a charge or an idempotency key
//	idempotency  (service, agent_id, idem_key)         the execution a key belongs to
//	answers      (execution_id)                        the answer to the agent, as long as the key is kept
//	answer_sizes (service, agent_id)                   how many bytes of answers are kept
//	accounts     (service, agent_id, currency)         the sums over the ledger
//	pools        (service, currency)                   the common debt of unapproved agents
//	ledger       (seq)                                 append-only: every change of a charge, every top-up
//	consents     (service, handle)                     → agreements by id; codes and refresh tokens of a person's consent, as digests
//	budgets      (service, agreement_id, number)       → agreements by id; budgets that people changed
//	confirmations (service, id)                        → agreements by id; calls that a person is asked to confirm
//	clients      (service, id)                         OAuth clients that registered themselves
//	invitations  (service, code)                       digests of one-time codes with which people may consent
//	console_sessions (id)                              who is signed in to the console; the secrets as digests
//	console_links (code)                               digests of one-time codes that sign a person in to the console
//	almanac      (service, address)                    agents that registered their endpoints with a service
//	almanac_protocols (service, protocol, address)     → almanac; the protocols of these agents
//	requests     (id, at, process, number)             why requests were permitted or refused, for operators
//	carried      (service, agent_id, currency)         the sums over deleted entries of the ledger
//	intent_uses  (service, intent)                     when agents last called each intent
//	stops        (service, kind, subject)              what the operator has stopped, and who ended it
//	processes    (id)                                  the running processes, as they reported last
//	stop_reads   (process, seq)                        when each process read a change of stops
//	call_figures (period, at, process)                 sums over the calls of each process
//	reloads      (at, process)                         the last reloads of the configuration
//	payments     (service, reference)                  payments by card or x402; credited ones have a top-up in ledger
//	services     (id)                                  the services that have state, with their issuers
//	refunds      (service, number)                     refunds of charges, each with the number of its credit note
//	credit_moves (service, reference)                  credit that the operator moved to another agent
//	invoices     (service, number)                     invoices that were issued
//	document_numbers (service, kind)                   for documents numbered without gaps: the last number, and the last purged one
//	evidence     (seq)                                 → ledger; what the digests in executions cover
//	epochs       (service, epoch)                      the logs of each service, with their issuers
//	log_entries  (seq)                                 entries of a log that belong to no account
//	log_tiles    (service, epoch, level, n)            hashes of the Merkle tree of a log
//	log_heads    (service, epoch)                      the newest checkpoint of a log
//	log_lease    (name)                                which process appends to the logs
//	journal      (id)                                  on SQLite: changes of calls that are not in the other tables yet
//	certificate_files (name)                           ACME accounts, keys and certificates: package sqlcert
//	certificate_locks (name)                           which process orders a certificate
//	relay_*                                            the data of a relay of messages: package sqlmail
//
// If processes of the previous release can continue after a migration, the migration begins with the line "-- uimgate: expands". Such a
// migration only adds tables, indexes, and columns with defaults, and the programs of its release still maintain what the older processes
// need. For all other migrations, every process must stop first. A column or table that an expansion has made superfluous is removed by a
// migration of a later release.
//
// A counter is one row so that Begin reads one row and writes one row per limit, and so that this row is the lock between concurrent
// writers. Rows of revocations, agents, signing_keys and stops contain the sequence number of their last change. Those columns are the feed
// of Changes, so the feed never has more entries than these tables have rows.
package schema

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
	"sync"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Journal is the migration that creates the journal table. It runs only on SQLite.
const Journal = 19

// ErrNewer means that only a later version of this program can use the database.
var ErrNewer = errors.New("the database was written by a newer version of uimgate: upgrade uimgate, or use another database")

// Options are the options of Migrate.
type Options struct {
	Dialect goose.Dialect
	// Rewrite converts a migration to the SQL of the dialect. If it is nil, migrations are not converted.
	Rewrite func(string) string
	// Before is called before anything is migrated, with the version of the database; 0 means that the database is new.
	Before func(ctx context.Context, version int64) error
	// Alone is called before a migration after which processes of earlier releases cannot continue. It must return an error if such a process
	// is running.
	Alone func(context.Context) error
}

// Migrate updates the schema to the version of this program. Only one process at a time may call it. If the database has a later version,
// Migrate leaves it unchanged, and returns an error that wraps ErrNewer if this program cannot use it.
func Migrate(ctx context.Context, db *sql.DB, o Options) error {
	var created bool
	var err error
	if o.Dialect == goose.DialectSQLite3 {
		if created, err = createNew(ctx, db, o.Before); err != nil {
			return err
		}
	}
	p, err := Provider(db, o.Dialect, o.Rewrite)
	if err != nil {
		return err
	}
	current, known, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the schema version: %w", err)
	}
	if err := Usable(ctx, db, current); err != nil {
		return err
	}
	if !created {
		if err := o.Before(ctx, current); err != nil {
			return err
		}
	}
	if current >= known {
		return nil
	}
	if current > 0 && current < lastContraction() {
		if err := o.Alone(ctx); err != nil {
			return fmt.Errorf("migrating the schema from version %d to %d: %w", current, known, err)
		}
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating the schema from version %d to %d: %w", current, known, err)
	}
	return nil
}

// expands marks a migration after which processes of the previous release can continue. For all other migrations, every process must stop;
// those from Services on also record the version that programs need from then on.
const expands = "-- uimgate: expands"

// Services is the migration that creates the services table and the needs sequence.
const Services = 20

// IntentUses is the migration that creates the intent_uses table.
const IntentUses = 26

// recordNeed is the statement that runs after a migration for which every process must stop.
const recordNeed = "UPDATE sequences SET n = %d WHERE name = 'needs'"

// lastContraction returns the number of the last migration for which every process must stop.
func lastContraction() (last int64) {
	for m, err := range all() {
		if err == nil && !m.expands {
			last = m.version
		}
	}
	return last
}

// Usable returns an error that wraps ErrNewer if only a later version of this program can use a database with this schema version.
func Usable(ctx context.Context, db *sql.DB, version int64) error {
	newest := Newest()
	if version <= newest {
		return nil
	}
	needs := version
	err := db.QueryRowContext(ctx, "SELECT n FROM sequences WHERE name = 'needs'").Scan(&needs)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("reading the required schema version: %w", err)
	case needs > newest:
		return fmt.Errorf("the schema has version %d, but this program has version %d: %w", version, newest, ErrNewer)
	}
	return nil
}

// Newest returns the number of the last migration of this program.
func Newest() int64 {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		return 0
	}
	n, err := goose.NumericComponent(path.Base(files[len(files)-1])) // sorted by name
	if err != nil {
		return 0
	}
	return n
}

// A migration is one file of migrations.
type migration struct {
	version int64
	text    string
	expands bool
}

// all returns the migrations in order.
func all() iter.Seq2[migration, error] {
	return func(yield func(migration, error) bool) {
		list, err := readOnce()
		for _, m := range list {
			if !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(migration{}, err)
		}
	}
}

var readOnce = sync.OnceValues(func() (list []migration, err error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		version, err := goose.NumericComponent(name)
		text, unread := migrations.ReadFile(name)
		if err := errors.Join(err, unread); err != nil {
			return list, err
		}
		list = append(list, migration{version: version, text: string(text), expands: strings.Contains(string(text), expands)})
	}
	return list, nil
})

// Provider returns the goose provider of the migrations, converted with rewrite. Each file runs as one command: the drivers accept several
// statements in one command, and the parser of goose allocates megabytes for every line.
func Provider(db *sql.DB, dialect goose.Dialect, rewrite func(string) string) (*goose.Provider, error) {
	var steps []*goose.Migration
	for m, err := range all() {
		if err != nil {
			return nil, err
		}
		steps = append(steps, goose.NewGoMigration(m.version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			query := m.text
			if rewrite != nil {
				query = rewrite(query)
			}
			return m.run(ctx, tx, dialect, query)
		}}, nil))
	}
	return goose.NewProvider(dialect, db, nil,
		goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
}

func (m migration) run(ctx context.Context, tx *sql.Tx, dialect goose.Dialect, query string) error {
	if (m.version == nonceBatches || m.version == Journal) && dialect != goose.DialectSQLite3 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, query); err != nil {
		return err
	}
	if m.version == nonceBatches {
		return carryNonces(ctx, tx)
	}
	if m.version == TextsByNumber && dialect == goose.DialectSQLite3 {
		if err := ledgerNumbers(ctx, tx); err != nil {
			return err
		}
	}
	if m.version < Services || m.expands {
		return nil
	}
	_, err := tx.ExecContext(ctx, fmt.Sprintf(recordNeed, m.version))
	return err
}
