package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/pressly/goose/v3"
)

// The tables; migrations/*.sql describe each column.
//
//	sequences    (name)                                the last number used: changes for replicas, the ledger's lines; when restored
//	agents       (service, id)                         who claimed which id, and its status
//	agent_keys   (service, key_id)                     → agents; one id per key, several keys per id
//	policies     (service, digest)                     each policy document once, byte for byte
//	agreements   (service, id)                         → agents, policies; the evidence of each acceptance
//	tokens       (service, id)                         → agreements; one row per PAT, never its text
//	revocations  (service, kind, subject)              what ended before its time
//	signing_keys (id)                                  public halves of the keys that sign PATs
//	nonces       (service, key_id, id)                 used once, until deleted
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
//	relay_*                                            what a relay of messages keeps: package sqlmail
//
// A counter is one row so that Begin reads one row and writes one row per limit, and so that with concurrent writers
// that row is the lock. revocations, agents and signing_keys have the sequence number of their last change; those
// columns are the feed of Changes, which therefore is never larger than its subjects.

//go:embed migrations/*.sql
var migrations embed.FS

// errNewer means that the database was made by a later version of this program.
var errNewer = errors.New("the database was written by a newer version of uimgate: upgrade uimgate, or use another database")

// migrate brings the schema to the version of this program.
func migrate(ctx context.Context, db *sql.DB, d *dialect) error {
	p, err := provider(db, d)
	if err != nil {
		return err
	}
	current, known, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the schema version: %w", err)
	}
	if current > known {
		return fmt.Errorf("schema version %d, of which this program knows %d: %w", current, known, errNewer)
	}
	if current == known {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating the schema from version %d to %d: %w", current, known, err)
	}
	return nil
}

// provider runs the migrations in the SQL of a dialect, each file as one command: the drivers take several statements at
// once, and the reader of goose allocates megabytes for every line it splits.
func provider(db *sql.DB, d *dialect) (*goose.Provider, error) {
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
		if d.schema != nil {
			query = d.schema(query)
		}
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, query)
			return err
		}}, nil))
	}
	return goose.NewProvider(d.goose, db, nil,
		goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
}

// Times outside the range of nanoseconds are stored as the nearest in range, which is still far away.
var (
	firstTime = time.Unix(0, math.MinInt64+1)
	lastTime  = time.Unix(0, math.MaxInt64)
)

// nanos converts a time for storage: nanoseconds since 1970 UTC, and 0 for the zero time.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Before(firstTime):
		return math.MinInt64 + 1
	case t.After(lastTime):
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}

// fromNanos is the inverse of nanos.
func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// blob makes an empty value not NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
