package daemon_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// migrated is a database with the schema of the store.
var migrated = pgtest.NewTemplate(func(ctx context.Context, dsn string) error {
	s, err := sqlstore.Open(ctx, dsn, sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	return s.Close()
})

// TestMain runs up to four parallel tests at the same time, because they mostly wait for clocks, databases and certificate authorities.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
