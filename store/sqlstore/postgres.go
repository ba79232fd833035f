package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// Bounds of the connections. A process has lanes + others + groups + readers + 1 connections at most.
const (
	postgresLanes  = 4
	postgresOthers = 2
	postgresGroups = 1
	// patience bounds one attempt at a transaction and one query, and callPatience one attempt at a transaction of calls; the server gives
	// up a little earlier, with a reason, except at a commit.
	patience        = 5 * time.Second
	callPatience    = 2 * time.Second
	connectPatience = 2 * time.Second
	upgradePatience = 2 * time.Minute
	// oldestPostgres is the oldest version that PostgreSQL still maintains.
	oldestPostgres = 14
)

// sessionSettings are the settings of every connection. A server that waits for a process which is frozen or cannot be
// reached any more ends the transaction, so that no lock is held for long. A commit is durable whatever the server's
// own setting becomes.
const sessionSettings = "SET synchronous_commit = 'on'; " +
	"SET statement_timeout = '4500ms'; SET lock_timeout = '4s'; SET idle_in_transaction_session_timeout = '1500ms'; " +
	"SET default_transaction_isolation = 'read committed'; SET TIME ZONE 'UTC'"

// callSettings are those of the connections of calls. The others wait for a replica that is frozen until
// idle_in_transaction_session_timeout ends its transaction.
const callSettings = "SET statement_timeout = '1900ms'; SET lock_timeout = '1800ms'"

// postgresDialect has several writers. Each locks what it reads before it changes it, in an order that is the same for
// all writers.
func postgresDialect() *dialect {
	var rewritten sync.Map
	words := strings.NewReplacer("{ledger}", ledgerNumber, "{whole}", "")
	own := &registration{}
	return &dialect{
		goose: goose.DialectPostgres, open: openPostgres, upgrade: own.upgrade, leave: own.leave,
		// Ids are ordered by their bytes, as in SQLite, for every locale of the database.
		schema: strings.NewReplacer(
			" TEXT ", ` TEXT COLLATE "C" `,
			// PostgreSQL's JSON cannot contain NUL, not even escaped.
			"CAST(body AS TEXT)", `CAST(replace(convert_from(body, 'UTF8'), '\u0000', '\ufffd') AS JSON)`,
		).Replace,
		lanes: postgresLanes, others: postgresOthers, groups: postgresGroups, alone: true, unlocked: true, begin: "BEGIN",
		patience: patience, callPatience: callPatience, callSettings: callSettings,
		clock:   "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
		durable: "SELECT current_setting('synchronous_commit') <> 'off' AND current_setting('fsync') <> 'off'",
		notify:  "NOTIFY uimgate_changes", listen: own.listen,
		rewrite: func(query string) string {
			if known, ok := rewritten.Load(query); ok {
				if out, ok := known.(string); ok {
					return out
				}
			}
			out := numbered(words.Replace(query))
			rewritten.Store(query, out)
			return out
		},
		send:      pipelined,
		unhurried: []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET LOCAL statement_timeout = 0"},
		retriable: func(err error) bool {
			switch sqlState(err) {
			case "40001", "40P01": // serialization failure, deadlock
				return true
			}
			return false
		},
		lost: lostPostgres,
		constraint: func(err error) bool {
			state := sqlState(err)
			// data exception, integrity constraint violation, limit exceeded
			return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23") || strings.HasPrefix(state, "54")
		},
	}
}

// numbered converts arguments to the form of PostgreSQL. No statement has a question mark elsewhere.
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

// sqlState returns the code of an error of the server, or "".
func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// insufficientPrivilege is the code of an error about rights that the role of a connection lacks.
const insufficientPrivilege = "42501"

const privilegeHint = "the role in the URL lacks rights: as the owner of the database, GRANT ALL ON SCHEMA public TO it; " +
	"where the tables are another role's, GRANT ALL ON ALL TABLES IN SCHEMA public TO it"

// lostPostgres reports whether the connection has ended: after an answer of the server it has not, unless the server
// announces its end.
func lostPostgres(err error) bool {
	state := sqlState(err)
	return state == "" && err != nil || strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P")
}

func isPostgres(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
}

// publicPlace returns a place for messages: without what comes before the host, and after the name.
func publicPlace(place string) string {
	if !isPostgres(place) {
		return place
	}
	u, err := url.Parse(place)
	if err != nil {
		return "postgres://…"
	}
	return "postgres://" + u.Host + u.EscapedPath()
}

var errURL = errors.New("the URL is not valid: want postgres://user:password@host/database, with libpq's parameters such as sslmode " +
	"behind a question mark; " +
	"what is special in a password is written %40 for @, %3A for :, %2F for /")

// postgresConfig reads a URL. The parser does not get the password, because its errors quote their input.
func postgresConfig(place string) (*pgx.ConnConfig, error) {
	u, err := url.Parse(place)
	if err != nil {
		return nil, errURL
	}
	password, set := u.User.Password()
	if set {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for _, name := range []string{"password", "sslpassword"} {
		if q.Has(name) {
			return nil, fmt.Errorf("%w; %s cannot stand among the parameters", errURL, name)
		}
	}
	if !q.Has("sslmode") && !local(u, q) {
		q.Set("sslmode", "verify-full")
	}
	u.RawQuery = q.Encode()
	c, err := pgx.ParseConfig(u.String())
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return nil, fmt.Errorf("%w: %w", errURL, err)
	}
	if set {
		c.Password = password
	}
	if !q.Has("connect_timeout") {
		c.ConnectTimeout = connectPatience
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "uimgate"
	}
	return c, nil
}

// local reports whether the connection stays on this machine.
func local(u *url.URL, q url.Values) bool {
	hosts := q.Get("host")
	if hosts == "" {
		hosts = u.Host
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.Trim(host, "[]")
		if ip := net.ParseIP(host); !strings.HasPrefix(host, "/") && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// openPostgres opens two bounded pools, and connects once to detect errors.
func openPostgres(ctx context.Context, place string) (write, read *sql.DB, err error) {
	c, err := postgresConfig(place)
	if err != nil {
		return nil, nil, err
	}
	pool := func(most int) *sql.DB {
		db := sql.OpenDB(stdlib.GetConnector(*c, stdlib.OptionAfterConnect(checkServer)))
		db.SetMaxOpenConns(most)
		db.SetMaxIdleConns(most)
		return db
	}
	write, read = pool(postgresLanes+postgresOthers+postgresGroups), pool(readers)
	if err := write.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(err, write.Close(), read.Close())
	}
	return write, read, nil
}

// checkServer rejects a server that could lose what it committed, and prepares a connection. Each transaction asks
// again.
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
		return fmt.Errorf("the server is PostgreSQL %d: want %d or later", number/10000, oldestPostgres)
	case commit == "off":
		return errors.New("the server has synchronous_commit = off, so that a crash loses what was charged: set it to on, for the server or " +
			"for this role " +
			"(ALTER ROLE … SET synchronous_commit = on)")
	case flush == "off":
		return errors.New("the server has fsync = off, so that a crash of its machine loses what was charged: set it to on")
	case readOnly == "on":
		return errors.New("the server takes no writes (a standby, or default_transaction_read_only): name the primary, or several hosts and " +
			"target_session_attrs=read-write")
	}
	_, err = conn.Exec(ctx, sessionSettings)
	return err
}

// pipelined sends all statements at once: any number takes one round trip. After one that fails the server skips the
// others.
func pipelined(ctx context.Context, w *writer, list []command) error {
	return w.conn.Raw(func(raw any) error {
		conn, ok := raw.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("a connection is a %T", raw)
		}
		batch := &pgx.Batch{}
		for _, s := range list {
			query := s.query
			if s.must > 0 {
				query = ifUnchanged(query, s.must)
			}
			batch.Queue(w.s.dialect.rewrite(query), s.args...)
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

// result reads the answer to one statement of a batch.
func (s command) result(results pgx.BatchResults) error {
	if s.row == nil {
		tag, err := results.Exec()
		if err == nil && s.query == "COMMIT" && tag.String() != "COMMIT" {
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
		if err := s.row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ignoreRepeated drops an error that only repeats another.
func ignoreRepeated(err, other error) error {
	if err != nil && err.Error() == other.Error() {
		return nil
	}
	return err
}
