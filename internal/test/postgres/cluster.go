// Package pgtest runs a private PostgreSQL server from the installed programs, in its own directory. The directory is removed when the
// server or this process ends, even after a crash. Tests share one server:
//
//	dsn := pgtest.Start(t).Database(t)
//
// A program that is not a test, such as a benchmark, starts its own:
//
//	c, err := pgtest.New(ctx, nil)
//	defer c.Close()
//	dsn, err := c.CreateDatabase(ctx, "")
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A Cluster is a running server with its databases. It listens on a socket file in its own directory, at the same
// address after each restart. It is safe for concurrent use, except that only one caller may stop and start it.
type Cluster struct {
	bin, dir string
	owner    *syscall.Credential
	guard    io.WriteCloser // when this end closes, the guard ends the server
	gone     chan error     // closed when the guard has ended
	closed   sync.Once
	names    atomic.Int64
	idle     *pgxpool.Pool // connections to the database that always exists; nil: each statement has its own
}

// startTimeout is the timeout for creating, starting and stopping a server.
const startTimeout = 2 * time.Minute

// superuser is the role that owns everything. Only this user and the server's user can reach the socket.
const superuser = "uimgate"

// settings make the server small and quiet. Commits are flushed, as in production.
var settings = map[string]string{
	"listen_addresses":           "''",
	"unix_socket_permissions":    "0700",
	"max_connections":            "200",
	"shared_buffers":             "'64MB'",
	"wal_level":                  "minimal",
	"max_wal_senders":            "0",
	"max_wal_size":               "'256MB'",
	"jit":                        "off",
	"autovacuum_naptime":         "'10s'",
	"log_line_prefix":            "'%m %p %d '",
	"log_min_duration_statement": "'5s'",
	"timezone":                   "'UTC'",
}

// New creates and starts a server. more adds or replaces settings of postgresql.conf, with values quoted in the form of that file. If no
// server is installed, the error is ErrNotInstalled.
func New(ctx context.Context, more map[string]string) (_ *Cluster, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c := &Cluster{gone: make(chan error, 1)}
	if c.bin, err = findPrograms(ctx); err != nil {
		return nil, err
	}
	if c.owner, err = servant(); err != nil {
		return nil, err
	}
	if c.dir, err = os.MkdirTemp("", "uimgate-pg"); err != nil {
		return nil, err
	}
	if err := c.startGuard(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	if err := c.make(ctx, more); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.Start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// make creates the files of the cluster.
func (c *Cluster) make(ctx context.Context, more map[string]string) error {
	if c.owner != nil {
		if err := os.Chown(c.dir, int(c.owner.Uid), int(c.owner.Gid)); err != nil {
			return err
		}
	}
	if err := c.initdb(ctx); err != nil {
		return err
	}
	all := maps.Clone(settings)
	maps.Copy(all, more)
	all["unix_socket_directories"] = "'" + c.dir + "'"
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s = %s\n", name, all[name])
	}
	f, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text.String())
	return errors.Join(err, f.Close())
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// log returns the path of the server's log.
func (c *Cluster) log() string { return filepath.Join(c.dir, "log") }

// program runs one of PostgreSQL's programs as the server's user.
func (c *Cluster) program(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.Env = c.dir, []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH"), "HOME=" + c.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: c.owner} // an interrupt from the terminal must not reach the server
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// startGuard starts the process that stops the server and removes its files once this process has ended.
func (c *Cluster) startGuard() error {
	const script = `cat >/dev/null; "$1" -D "$2/data" -m immediate -w stop; rm -rf "$2"`
	guard := exec.Command("sh", "-c", script, "sh", filepath.Join(c.bin, "pg_ctl"), c.dir)
	guard.Dir, guard.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true, Credential: c.owner}
	var err error
	if c.guard, err = guard.StdinPipe(); err != nil {
		return err
	}
	if err := guard.Start(); err != nil {
		return err
	}
	go func() { c.gone <- guard.Wait() }()
	return nil
}

// Start starts a server that was stopped or killed, and returns when it accepts connections.
func (c *Cluster) Start(ctx context.Context) error {
	if err := c.program(ctx, "pg_ctl", "-D", c.data(), "-l", c.log(), "-w", "-t", "60", "start"); err != nil {
		text, _ := os.ReadFile(c.log()) // contains the reason, if any
		return fmt.Errorf("%w\n%s", err, text[max(0, len(text)-4096):])
	}
	return nil
}

// A Mode is a way to stop a server.
type Mode string

// The modes.
const (
	Fast      Mode = "fast"      // closes connections and writes committed data
	Immediate Mode = "immediate" // like a crash; the next start recovers from the log
)

// Stop stops the server.
func (c *Cluster) Stop(ctx context.Context, m Mode) error {
	return c.program(ctx, "pg_ctl", "-D", c.data(), "-m", string(m), "-w", "-t", "60", "stop")
}

// Kill ends the server like a crash.
func (c *Cluster) Kill(ctx context.Context) error { return c.Stop(ctx, Immediate) }

// SIGKILL kills the server's main process, and returns when the server accepts no connections. The other processes of the server detect
// this and end by themselves.
func (c *Cluster) SIGKILL(ctx context.Context) error {
	pid, err := c.pid()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.Socket())
		if err != nil {
			return ctx.Err()
		}
		if err := conn.Close(); err != nil {
			return err
		}
	}
}

// pid returns the id of the server's main process.
func (c *Cluster) pid() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(line)
}

// Restart stops and starts the server.
func (c *Cluster) Restart(ctx context.Context, m Mode) error {
	if err := c.Stop(ctx, m); err != nil {
		return err
	}
	return c.Start(ctx)
}

// Close stops the server and removes all its files. It may be called again.
func (c *Cluster) Close() error {
	var err error
	c.closed.Do(func() {
		if c.idle != nil {
			c.idle.Close()
		}
		err = errors.Join(c.guard.Close(), <-c.gone)
		if c.owner != nil { // that user cannot remove the directory itself
			err = errors.Join(err, os.RemoveAll(c.dir))
		}
	})
	return err
}

// Socket returns the path of the socket file.
func (c *Cluster) Socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }

// DSN returns the URL of a database. "" means the database that always exists. The role in the URL owns everything.
func (c *Cluster) DSN(database string) string {
	if database == "" {
		database = "postgres"
	}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: url.Values{"host": {c.dir}}.Encode()}
	return u.String()
}

// ErrDeadlock means that PostgreSQL ended a transaction to resolve a deadlock (SQLSTATE 40P01).
var ErrDeadlock = errors.New("deadlock")

// Exec runs statements, separated by semicolons, in a database. After a deadlock, its error wraps [ErrDeadlock].
func (c *Cluster) Exec(ctx context.Context, database, statements string) error {
	err := c.connected(ctx, database, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statements)
		return err
	})
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok && failed.Code == "40P01" {
		err = fmt.Errorf("%w: %w", ErrDeadlock, err)
	}
	return err
}

// Number returns the number that a query selects in a database.
func (c *Cluster) Number(ctx context.Context, database, query string) (n int64, err error) {
	err = c.connected(ctx, database, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, query).Scan(&n) })
	return n, err
}

// connected calls run with a connection to a database.
func (c *Cluster) connected(ctx context.Context, database string, run func(*pgx.Conn) error) error {
	if database == "" && c.idle != nil {
		return c.idle.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return run(conn.Conn()) })
	}
	conn, err := pgx.Connect(ctx, c.DSN(database))
	if err != nil {
		return err
	}
	return errors.Join(run(conn), conn.Close(ctx))
}

// CreateDatabase creates a database and returns its name. If template is not empty, the database is a copy of it.
func (c *Cluster) CreateDatabase(ctx context.Context, template string) (string, error) {
	if template == "" {
		template = "template1"
	}
	name := fmt.Sprintf("test%d", c.names.Add(1))
	return name, c.connected(ctx, "", func(conn *pgx.Conn) error {
		statement := "CREATE DATABASE " + name + " TEMPLATE " + pgx.Identifier{template}.Sanitize()
		// Copying files takes less than half as long as copying pages through the log, and the copy includes the cache of the catalog, which
		// each new connection would build again. Servers before version 15 know only this strategy, and have no name for it.
		major, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), ".")
		if n, err := strconv.Atoi(major); err == nil && n >= 15 {
			statement += " STRATEGY file_copy"
		}
		_, err := conn.Exec(ctx, statement)
		return err
	})
}
