package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// Limits of the connections. A process has at most lanes + others + groups + readers + 1 connections. Each of them is opened when it is
// first needed.
const (
	postgresLanes   = 4
	postgresOthers  = 2
	postgresGroups  = 1
	postgresWriters = postgresLanes + postgresOthers + postgresGroups
	// patience is the time limit of one attempt at a transaction, and of one query. callPatience is the time limit of one attempt at a
	// transaction of calls. Except during a commit, the server gives up a little earlier and reports a reason.
	patience        = 5 * time.Second
	callPatience    = 2 * time.Second
	connectPatience = 2 * time.Second
	upgradePatience = 2 * time.Minute
	// oldestPostgres is the oldest major version of PostgreSQL that is accepted. The PostgreSQL project does not maintain older ones.
	oldestPostgres = 14
)

// sessionSettings are the settings of every connection. The server ends the transaction of a process that is frozen or unreachable, so that
// no lock is held for long. Commits are durable even if synchronous_commit is off by default.
const sessionSettings = "SET synchronous_commit = 'on'; " +
	"SET statement_timeout = '4500ms'; SET lock_timeout = '4s'; SET idle_in_transaction_session_timeout = '1500ms'; " +
	"SET default_transaction_isolation = 'read committed'; SET TIME ZONE 'UTC'"

// noLimits removes the time limits of sessionSettings.
const noLimits = "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0"

// callSettings are the additional settings of the connections of calls. Both timeouts are longer than idle_in_transaction_session_timeout,
// so that calls can wait until the server ends the transaction of a frozen process.
const callSettings = "SET statement_timeout = '1900ms'; SET lock_timeout = '1800ms'"

// Postgres returns the dialect of PostgreSQL, which has several writers. All writers lock rows in the same order, which prevents deadlocks.
func Postgres() *Dialect {
	var rewritten sync.Map
	words := strings.NewReplacer("{ledger}", ledgerNumber, "{whole}", "")
	own := &registration{}
	return &Dialect{
		Goose: goose.DialectPostgres, Sharing: Shared, Open: openPostgres, upgrade: own.upgrade, leave: own.leave,
		// Ids are ordered by their bytes, as in SQLite, whatever the locale of the database is.
		Schema: strings.NewReplacer(
			" TEXT ", ` TEXT COLLATE "C" `,
			"INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY", // SQLite has no index for a primary key of type INTEGER
			// PostgreSQL cannot convert the escape \u0000 in JSON to text.
			"CAST(body AS TEXT)", `CAST(replace(convert_from(body, 'UTF8'), '\u0000', '\ufffd') AS JSON)`,
		).Replace,
		lanes: postgresLanes, others: postgresOthers, groups: postgresGroups, begin: "BEGIN",
		Patience: patience, CallPatience: callPatience, callSettings: callSettings,
		Clock: "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
		durable: "SELECT current_setting('synchronous_commit') <> 'off' AND current_setting('fsync') <> 'off', " +
			"current_setting('synchronous_standby_names') <> ''",
		notify: "NOTIFY uimgate_changes", listen: own.listen,
		Rewrite: func(query string) string {
			if known, ok := rewritten.Load(query); ok {
				if out, ok := known.(string); ok {
					return out
				}
			}
			out := numbered(words.Replace(query))
			rewritten.Store(query, out)
			return out
		},
		Send:      pipelined,
		unhurried: []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET LOCAL statement_timeout = 0"},
		Retriable: func(err error) bool {
			switch SQLState(err) {
			case "40001", "40P01": // serialization failure, deadlock
				return true
			}
			return false
		},
		Lost: lostPostgres,
		constraint: func(err error) bool {
			state := SQLState(err)
			// data exception, integrity constraint violation, limit exceeded
			return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23") || strings.HasPrefix(state, "54")
		},
	}
}

// numbered replaces the question marks of arguments with $1, $2 and so on. Statements contain no other question marks.
func numbered(query string) string {
	var out strings.Builder
	for n := 1; ; n++ {
		before, after, more := strings.Cut(query, "?")
		out.WriteString(before)
		if !more {
			return out.String()
		}
		fmt.Fprintf(&out, "$%d", n)
		query = after
	}
}

// SQLState returns the SQLSTATE code of an error that the server reported, or "" for any other error.
func SQLState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// InsufficientPrivilege is the SQLSTATE code for a role that lacks privileges.
const InsufficientPrivilege = "42501"

// PrivilegeHint explains how to grant the missing privileges to the role in the URL.
const PrivilegeHint = "the role in the URL lacks privileges: as the owner of the database, run GRANT ALL ON SCHEMA public TO the role. " +
	"If another role owns the tables, also run GRANT ALL ON ALL TABLES IN SCHEMA public TO the role"

// lostPostgres reports whether an error means that the connection has ended. Every error that the server did not report means this. An
// error that the server reported means this only if its code announces the end of the connection.
func lostPostgres(err error) bool {
	state := SQLState(err)
	return state == "" && err != nil || strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P")
}

// openPostgres opens two pools of limited size, and connects once to detect errors.
func openPostgres(ctx context.Context, place string) (write, read *sql.DB, err error) {
	c, err := postgresConfig(place)
	if err != nil {
		return nil, nil, err
	}
	write, read = openPool(c, postgresWriters), openPool(c, readers)
	if err := write.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(err, write.Close(), read.Close())
	}
	return write, read, nil
}

func openPool(c *pgx.ConnConfig, most int) *sql.DB {
	pool := sql.OpenDB(stdlib.GetConnector(*c, stdlib.OptionAfterConnect(checkServer)))
	bound(pool, most)
	return pool
}

// bound limits the connections of a pool. Idle connections stay open.
func bound(pool *sql.DB, most int) {
	pool.SetMaxOpenConns(most)
	pool.SetMaxIdleConns(most)
}

// OpenReader opens a pool of connections to a PostgreSQL database, for reading only.
func OpenReader(ctx context.Context, place string) (*sql.DB, error) {
	c, err := postgresConfig(place)
	if err != nil {
		return nil, err
	}
	read := openPool(c, readers)
	if err := read.PingContext(ctx); err != nil {
		return nil, errors.Join(err, read.Close())
	}
	return read, nil
}

// checkServer rejects a server that is too old, could lose committed transactions or accepts no writes, and then prepares the connection.
// Each transaction checks again that commits are durable.
func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var commit, flush, readOnly string
	var number int
	err := conn.QueryRow(ctx,
		`SELECT current_setting('synchronous_commit'), current_setting('fsync'), current_setting('transaction_read_only'),
		CAST(current_setting('server_version_num') AS INTEGER)`).Scan(&commit, &flush, &readOnly, &number)
	switch {
	case err != nil:
		return err
	case number/10000 < oldestPostgres:
		return fmt.Errorf("the server is PostgreSQL %d, but version %d or later is required", number/10000, oldestPostgres)
	case commit == "off":
		return errors.New("the server has synchronous_commit = off, so a crash can lose charges: set it to on for the server or " +
			"for this role (ALTER ROLE … SET synchronous_commit = on)")
	case flush == "off":
		return errors.New("the server has fsync = off, so a crash of its machine can lose charges: set it to on")
	case readOnly == "on":
		return errors.New("the server accepts no writes (it is a standby, or default_transaction_read_only is on): name the primary in the " +
			"URL, or several hosts with target_session_attrs=read-write")
	}
	_, err = conn.Exec(ctx, sessionSettings)
	return err
}

// ifUnchanged returns a statement that runs query and fails with SQLSTATE 22012 (division by zero) unless query changes or selects exactly
// the given number of rows.
func ifUnchanged(query string, rows int) string {
	if !strings.HasPrefix(query, "SELECT") {
		query += " RETURNING 1"
	}
	return fmt.Sprintf("WITH changed AS (%s) SELECT 1 / CASE COUNT(*) WHEN %d THEN 1 ELSE 0 END FROM changed", query, rows)
}

// pipelined sends all statements in one round trip. After a failure, the server skips the remaining statements.
func pipelined(ctx context.Context, w *Writer, list []Command) error {
	return w.conn.Raw(func(raw any) error {
		conn, ok := raw.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("a connection has the unexpected type %T", raw)
		}
		batch := &pgx.Batch{}
		for _, s := range list {
			query := s.Query
			if s.Must > 0 {
				query = ifUnchanged(query, s.Must)
			}
			batch.Queue(w.db.dialect.Rewrite(query), s.Args...)
		}
		results := conn.Conn().SendBatch(ctx, batch)
		for _, s := range list {
			if err := s.result(results); err != nil {
				return errors.Join(err, ignoreRepeated(results.Close(), err))
			}
		}
		return results.Close()
	})
}

// result reads the response to one statement of a batch.
func (s Command) result(results pgx.BatchResults) error {
	if s.Row == nil {
		tag, err := results.Exec()
		if err == nil && s.Query == "COMMIT" && tag.String() != "COMMIT" {
			err = fmt.Errorf("the transaction ended with %s", tag)
		}
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.Row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ignoreRepeated returns err, or nil if err only repeats other.
func ignoreRepeated(err, other error) error {
	if err != nil && err.Error() == other.Error() {
		return nil
	}
	return err
}
