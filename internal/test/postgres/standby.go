package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Replicated has the settings of a server with standbys.
var Replicated = map[string]string{"wal_level": "replica", "max_wal_senders": "4"}

// standbyName is the application_name of a standby at its primary.
const standbyName = "standby"

// NewStandby creates and starts an asynchronous standby of a server with the settings Replicated.
func (c *Cluster) NewStandby(ctx context.Context) (_ *Cluster, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s := &Cluster{bin: c.bin, owner: c.owner, gone: make(chan error, 1)}
	if s.dir, err = os.MkdirTemp("", "uimgate-pg"); err != nil {
		return nil, err
	}
	if err := s.startGuard(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.copyOf(ctx, c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (c *Cluster) copyOf(ctx context.Context, primary *Cluster) error {
	if c.owner != nil {
		if err := os.Chown(c.dir, int(c.owner.Uid), int(c.owner.Gid)); err != nil {
			return err
		}
	}
	if err := c.program(ctx, "pg_basebackup", "-d", "application_name="+standbyName, "-h", primary.dir, "-U", superuser, "-D", c.data(),
		"-X", "stream", "-R", "-c", "fast", "--no-sync"); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "unix_socket_directories = '%s'\n", c.dir)
	return errors.Join(err, f.Close())
}

// Standby returns an asynchronous standby that is closed at the end of the test.
func (c *Cluster) Standby(tb testing.TB) *Cluster {
	tb.Helper()
	s, err := c.NewStandby(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// RequireStandby makes each commit of a primary wait until its standby has flushed it, and returns when the standby takes part. The
// standby does not have this setting, so it does not wait for another standby once it is promoted.
func (c *Cluster) RequireStandby(ctx context.Context) error {
	for _, query := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (" + standbyName + ")'", "SELECT pg_reload_conf()"} {
		if err := c.Exec(ctx, "", query); err != nil {
			return err
		}
	}
	return c.until(ctx, "SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync')")
}

// Receive waits until a standby has every commit of its primary.
func (c *Cluster) Receive(ctx context.Context, primary *Cluster) error {
	var lsn string
	if err := primary.one(ctx, "SELECT CAST(pg_current_wal_lsn() AS TEXT)", &lsn); err != nil {
		return err
	}
	return c.until(ctx, "SELECT pg_last_wal_replay_lsn() >= CAST('"+lsn+"' AS pg_lsn)")
}

// Detach ends the connection of a standby to its primary, so the standby lacks later commits.
func (c *Cluster) Detach(ctx context.Context) error {
	for _, query := range []string{"ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"} {
		if err := c.Exec(ctx, "", query); err != nil {
			return err
		}
	}
	return c.until(ctx, "SELECT NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)")
}

// Promote turns a standby into a primary.
func (c *Cluster) Promote(ctx context.Context) error {
	return c.program(ctx, "pg_ctl", "-D", c.data(), "-w", "-t", "60", "promote")
}

// Either returns the URL of a database on two servers, which leads to the one that accepts writes.
func (c *Cluster) Either(other *Cluster, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: url.Values{
		"host": {c.dir + "," + other.dir}, "target_session_attrs": {"read-write"},
	}.Encode()}
	return u.String()
}

func (c *Cluster) one(ctx context.Context, query string, dest any) error {
	conn, err := pgx.Connect(ctx, c.DSN(""))
	if err != nil {
		return err
	}
	return errors.Join(conn.QueryRow(ctx, query).Scan(dest), conn.Close(ctx))
}

// until repeats a query until its answer is true.
func (c *Cluster) until(ctx context.Context, query string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		done := false
		if err := c.one(ctx, query, &done); err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
