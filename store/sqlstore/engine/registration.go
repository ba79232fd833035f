package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The keys of advisory locks: "uimgate" in ASCII, and the next number.
const (
	// upgradeLock is held by the process that migrates the schema.
	upgradeLock = 0x75696d67617465
	// processLock is held in shared mode by all processes that use the database, and in exclusive mode for changes after which these processes
	// could not continue.
	processLock = upgradeLock + 1
)

// A registration is the connection on which a process holds processLock in shared mode. The server releases the lock when the connection
// ends, however the process ends. The process also listens for notifications on this connection.
type registration struct {
	conn *pgx.Conn // nil if the listener has taken it, or if there is none
}

// upgrade runs a migration of the schema through the connection pool write, while no other process does so, and then registers this
// process. It waits up to upgradePatience for another process.
func (r *registration) upgrade(ctx context.Context, place string, write *sql.DB, migrate Migration) (err error) {
	c, err := postgresConfig(place)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, upgradePatience)
	defer cancel()
	conn, err := pgx.ConnectConfig(waiting, c)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			closeSoon(ctx, conn) // this releases the locks
		}
	}()
	if _, err := conn.Exec(waiting, "SELECT pg_advisory_lock($1)", int64(upgradeLock)); err != nil {
		return fmt.Errorf("waiting for another process to migrate the schema: %w", err)
	}
	locked := false
	alone := func(ctx context.Context) error {
		if locked {
			return nil
		}
		if err := holdAlone(ctx, conn); err != nil {
			return err
		}
		locked = true
		return nil
	}
	if err := unlimited(ctx, write, func() error { return migrate(ctx, write, alone) }); err != nil {
		return err
	}
	if err := share(ctx, conn); err != nil {
		return err
	}
	if locked {
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(processLock)); err != nil {
			return err
		}
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(upgradeLock)); err != nil {
		return err
	}
	r.conn = conn
	return nil
}

// unlimited runs a migration over a pool that has only one connection meanwhile, without time limits, because the duration of a migration
// depends on the size of the tables. Afterwards the connection has the settings of all others. After an error, the pool must be closed.
func unlimited(ctx context.Context, pool *sql.DB, migrate func() error) error {
	bound(pool, 1)
	if _, err := pool.ExecContext(ctx, noLimits); err != nil {
		return err
	}
	if err := migrate(); err != nil {
		return err
	}
	if _, err := pool.ExecContext(ctx, sessionSettings); err != nil {
		return err
	}
	bound(pool, postgresWriters)
	return nil
}

// leavePatience is how long to wait for processes that are ending. The server releases their locks shortly after they have closed their
// connections.
const leavePatience = 3 * time.Second

// holdAlone acquires processLock in exclusive mode for the connection. The error wraps ErrInUse if other processes still use the database
// after leavePatience.
func holdAlone(ctx context.Context, lock *pgx.Conn) error {
	over := time.After(leavePatience)
	for taken := false; ; {
		if !taken {
			if err := lock.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(processLock)).Scan(&taken); err != nil {
				return err
			}
		}
		others, query := 0, registered
		if taken {
			query = unregistered
		}
		if err := lock.QueryRow(ctx, query).Scan(&others); err != nil {
			return err
		}
		if taken && others == 0 {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return fmt.Errorf("%w and could not continue after this change: stop all uimgate processes that use the database (%d connected), "+
				"then start this one", ErrInUse, max(1, others))
		}
	}
}

const (
	// registered counts the processes that hold processLock in shared mode.
	registered = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND mode = 'ShareLock' AND objsubid = 1 AND " +
		"classid = 7694701 AND objid = 1734440038 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	// unregistered counts the processes of older releases, which do not hold a lock. Each of them listens on a connection. If this role may
	// not see the statement of that connection, the name of the application identifies it.
	unregistered = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND " +
		"(query = 'LISTEN uimgate_changes' OR query = '<insufficient privilege>' AND application_name = 'uimgate')"
)

// OpenBy returns how many processes have the database open. A process that has lost its connection is not counted.
func (db *DB) OpenBy(ctx context.Context) (n int, err error) {
	if db.dialect.Sharing == Exclusive {
		return 1, nil
	}
	_, err = db.One(ctx, registered, nil, &n)
	return n, err
}

// register connects and acquires processLock in shared mode. It waits while another process holds the lock in exclusive mode.
func register(ctx context.Context, c *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := share(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// share acquires processLock in shared mode for a connection.
func share(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SELECT pg_advisory_lock_shared($1)", int64(processLock))
	return err
}

func (r *registration) leave(ctx context.Context) {
	if r.conn != nil {
		closeSoon(ctx, r.conn)
		r.conn = nil
	}
}

func closeSoon(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// listen calls changed for each notification, and whenever a notification may have been missed, until ctx ends.
func (r *registration) listen(ctx context.Context, place string, changed func()) {
	for ctx.Err() == nil {
		conn := r.conn
		r.conn = nil
		_ = listenOnce(ctx, conn, place, changed) // without notifications, processes still poll
		changed()
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	r.leave(ctx)
}

// listenOnce listens on conn, or on a new connection if conn is nil, until the connection or ctx ends.
func listenOnce(ctx context.Context, conn *pgx.Conn, place string, changed func()) error {
	if conn == nil {
		c, err := postgresConfig(place)
		if err != nil {
			return err
		}
		if conn, err = register(ctx, c); err != nil {
			return err
		}
	}
	defer closeSoon(ctx, conn)
	if _, err := conn.Exec(ctx, "LISTEN uimgate_changes"); err != nil {
		return err
	}
	for {
		changed()
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}
