package pgtest

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Required names the environment variable that, when set, makes a missing server a failure, not a skip. CI=true does too.
const Required = "UIMGATE_REQUIRE_POSTGRES"

// Shared returns the server of this process, which stops when the process ends. Autovacuum is off, because it checks the database of every
// test. Databases are created over a few connections that stay open, because each connection costs the server a process.
var Shared = sync.OnceValues(func() (*Cluster, error) {
	c, err := New(context.Background(), map[string]string{"autovacuum": "off"})
	if err != nil {
		return nil, err
	}
	if c.idle, err = pgxpool.New(context.Background(), c.DSN("")); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
})

// Start returns the server that the tests of this process share. A test must not stop it. If PostgreSQL is not installed, Start skips the
// test, or fails it if a server is Required.
func Start(tb testing.TB) *Cluster {
	tb.Helper()
	c, err := Shared()
	check(tb, err)
	return c
}

// Private returns a server for one test, which may stop and disturb it. more is as in New.
func Private(tb testing.TB, more map[string]string) *Cluster {
	tb.Helper()
	c, err := New(tb.Context(), more)
	check(tb, err)
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// A Template is a database of the shared server that is built once and copied for each test, because creating the schema takes longer than
// most tests. It is safe for concurrent use.
type Template struct {
	build func(ctx context.Context, dsn string) error
	once  sync.Once
	dsn   string
	err   error
}

// NewTemplate returns a template. build fills an empty database before the first copy, and leaves no connection to it.
func NewTemplate(build func(ctx context.Context, dsn string) error) *Template {
	return &Template{build: build}
}

// Copy creates a database for a test as a copy of the template, and returns its DSN.
func (f *Template) Copy(tb testing.TB) string {
	tb.Helper()
	c := Start(tb)
	f.once.Do(func() {
		ctx := context.WithoutCancel(tb.Context())
		name, err := c.CreateDatabase(ctx, "")
		if err == nil {
			f.dsn = c.DSN(name)
			err = f.build(ctx, f.dsn)
		}
		f.err = err
	})
	if f.err != nil {
		tb.Fatal(f.err)
	}
	return c.Copy(tb, f.dsn)
}

func check(tb testing.TB, err error) {
	tb.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrNotInstalled) && os.Getenv(Required) == "" && os.Getenv("CI") != "true":
		tb.Skip(err)
	default:
		tb.Fatal(err)
	}
}

// Database creates an empty database for a test and returns its DSN.
func (c *Cluster) Database(tb testing.TB) string {
	tb.Helper()
	return c.Copy(tb, "")
}

// Copy creates a database for a test as a copy of the template that a DSN names, which must have no connections. The copy stays until the
// server stops, because dropping a database flushes all others and takes longer than most tests.
func (c *Cluster) Copy(tb testing.TB, dsn string) string {
	tb.Helper()
	template := ""
	if dsn != "" {
		u, err := url.Parse(dsn)
		if err != nil {
			tb.Fatal(err)
		}
		template = path.Base(u.Path)
	}
	name, err := c.CreateDatabase(tb.Context(), template)
	if err != nil {
		tb.Fatal(err)
	}
	return c.DSN(name)
}
