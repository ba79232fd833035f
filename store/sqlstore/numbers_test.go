package sqlstore_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// The migration keeps every entry of the ledger, and the texts of charges that were stored by execution.
func TestTextsOfEarlierChargesAreKept(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, place string, change func(string)) {
		t.Helper()
		driver, dialect := "sqlite", engine.SQLite()
		if strings.HasPrefix(place, "postgres") {
			driver, dialect = "pgx", engine.Postgres()
		}
		db, err := sql.Open(driver, place)
		must(t, err)
		t.Cleanup(func() { must(t, db.Close()) })
		db.SetMaxOpenConns(1)
		p, err := schema.Provider(db, dialect.Goose, dialect.Schema)
		must(t, err)
		_, err = p.UpTo(t.Context(), schema.TextsByNumber-1)
		must(t, err)
		const line = `INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, to_state, actor,
			k) VALUES `
		change(line + `(101, 1, 'shop', 'new', 'x', 'i', 'r', 7, 'EUR', '', 'held', 'agent', 0);` +
			line + `(102, 2, 'shop', 'new', 'x', 'i', 'r', 7, 'EUR', 'held', 'captured', 'agent', 1);
			INSERT INTO evidence (execution_id, service, proof, asked) VALUES ('x', 'shop', 'jws', '{}')`)
		const lines = "SELECT CAST(seq AS TEXT), execution_id || ' ' || to_state || ' ' || reference FROM ledger ORDER BY seq"
		before := pairs(t, db, lines)
		_, err = p.Up(t.Context())
		must(t, err)
		if after := pairs(t, db, lines); !slices.Equal(after, before) || len(before) < 3 {
			t.Errorf("the ledger has %q, want %q", after, before)
		}
		if got := pairs(t, db, "SELECT CAST(seq AS TEXT), proof FROM evidence"); !slices.Equal(got, [][2]string{{"101", "jws"}}) {
			t.Errorf("the texts are %q", got)
		}
	})
}

// SQLite finds an entry of the ledger by its rowid, and has every index of the ledger that migrations created.
func TestLedgerNumbersAreRowids(t *testing.T) {
	t.Parallel()
	place := pastDatabase(t)
	indexes := "SELECT name, COALESCE(sql, '') FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'ledger' ORDER BY name"
	db, err := sql.Open("sqlite", place)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	p, err := schema.Provider(db, engine.SQLite().Goose, nil)
	must(t, err)
	_, err = p.UpTo(t.Context(), schema.TextsByNumber-1)
	must(t, err)
	want := slices.DeleteFunc(pairs(t, db, indexes), func(index [2]string) bool { return index[1] == "" }) // of the primary key
	_, err = p.UpTo(t.Context(), schema.TextsByNumber)
	must(t, err)
	if got := pairs(t, db, indexes); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("the indexes are %q, want %q", got, want)
	}
}

func pastDatabase(t *testing.T) string {
	t.Helper()
	place, _ := pastEngines["SQLite"](t)
	return place
}

// pairs returns the rows of a query with two columns.
func pairs(t *testing.T, db *sql.DB, query string) (out [][2]string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	must(t, err)
	defer func() { must(t, rows.Close()) }()
	for rows.Next() {
		var row [2]string
		must(t, rows.Scan(&row[0], &row[1]))
		out = append(out, row)
	}
	must(t, rows.Err())
	return out
}
