package sqlstore_test

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// template is a new PostgreSQL database that tests copy.
var template = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	c, err := pgtest.Shared()
	if err != nil {
		return "", err
	}
	name, err := c.CreateDatabase(ctx, "")
	if err != nil {
		return "", err
	}
	s, err := sqlstore.Open(ctx, c.DSN(name), sqlstore.Options{Now: time.Now})
	if err != nil {
		return "", err
	}
	return c.DSN(name), s.Close()
})

// ownDatabase returns the URL of a new database.
func ownDatabase(tb testing.TB) string {
	tb.Helper()
	c := pgtest.Start(tb)
	dsn, err := template()
	if err != nil {
		tb.Fatal(err)
	}
	return c.Copy(tb, dsn)
}

// idle are databases that tests have finished with.
var idle struct {
	sync.Mutex
	databases []*usedDatabase
}

// A usedDatabase is a database that is emptied after each test, over one connection: each new connection would cost the server a process
// that reads the catalog anew.
type usedDatabase struct {
	dsn  string
	conn *pgx.Conn // nil before the first test has ended
}

func (e *usedDatabase) empty(ctx context.Context) (err error) {
	if e.conn == nil || e.conn.IsClosed() {
		if e.conn, err = pgx.Connect(ctx, e.dsn); err != nil {
			return err
		}
	}
	_, err = e.conn.Exec(ctx, emptyTables)
	return err
}

// emptyTables resets a database to the state of the template.
const emptyTables = `DO $$ DECLARE name TEXT; BEGIN
	SET LOCAL session_replication_role = replica;
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('goose_db_version', 'sequences') LOOP
		EXECUTE format('DELETE FROM %I', name);
	END LOOP;
	UPDATE sequences SET n = 0;
END $$`

// freshDatabase returns the URL of a database without rows. It prefers one that another test has used, because creating one takes ten times
// as long as emptying one. Use ownDatabase in a test that leaves processes behind or changes more than rows.
func freshDatabase(tb testing.TB) string {
	tb.Helper()
	idle.Lock()
	defer idle.Unlock()
	var database *usedDatabase
	if n := len(idle.databases); n > 0 {
		database, idle.databases = idle.databases[n-1], idle.databases[:n-1]
	} else {
		database = &usedDatabase{dsn: ownDatabase(tb)}
	}
	tb.Cleanup(func() {
		if tb.Failed() || tb.Skipped() {
			return
		}
		if err := database.empty(context.WithoutCancel(tb.Context())); err != nil {
			tb.Error(err)
			return
		}
		idle.Lock()
		defer idle.Unlock()
		idle.databases = append(idle.databases, database)
	})
	return database.dsn
}

// execute runs statements on a database of the shared server.
func execute(ctx context.Context, dsn, statements string) error {
	c, err := pgtest.Shared()
	if err != nil {
		return err
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return err
	}
	return c.Exec(ctx, path.Base(u.Path), statements)
}

// onDatabase runs statements over a separate connection.
func onDatabase(t *testing.T, dsn, statements string) {
	t.Helper()
	if err := execute(t.Context(), dsn, statements); err != nil {
		t.Fatal(err)
	}
}

// databaseAt returns the URL of the database that belongs to place. The first call stores it there.
func databaseAt(t *testing.T, place string, database func(testing.TB) string) string {
	t.Helper()
	note := filepath.Join(place, "url")
	text, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(database(t))
		err = os.WriteFile(note, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
