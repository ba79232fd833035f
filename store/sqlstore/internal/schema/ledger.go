package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// TextsByNumber is the migration that stores the texts of charges by ledger number. On SQLite, it also runs ledgerNumbers.
const TextsByNumber = 34

// errLedger means that the ledger table does not have the primary key that an earlier migration should have given it.
var errLedger = errors.New("the primary key of the table ledger is not seq")

// ledgerNumbers makes seq the rowid of the ledger table on SQLite, which needs no index for it. SQLite cannot change a primary key, so the
// table is copied, and then its indexes are created again (https://www.sqlite.org/lang_altertable.html, section 7).
func ledgerNumbers(ctx context.Context, tx *sql.Tx) error {
	var table string
	if err := tx.QueryRowContext(ctx, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'ledger'").Scan(&table); err != nil {
		return err
	}
	indexes, err := ledgerIndexes(ctx, tx)
	if err != nil {
		return err
	}
	numbered := strings.Replace(table, "BIGINT NOT NULL PRIMARY KEY", "INTEGER PRIMARY KEY", 1)
	if numbered == table {
		return errLedger
	}
	numbered = strings.Replace(numbered, "CREATE TABLE ledger", "CREATE TABLE ledger_numbered", 1)
	for _, statement := range append([]string{
		numbered,
		"INSERT INTO ledger_numbered SELECT * FROM ledger ORDER BY seq",
		"DROP TABLE ledger",
		"ALTER TABLE ledger_numbered RENAME TO ledger",
	}, indexes...) {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// ledgerIndexes returns the statements that created the indexes of the ledger table.
func ledgerIndexes(ctx context.Context, tx *sql.Tx) (list []string, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'ledger' AND sql IS NOT NULL")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var index string
		if err := rows.Scan(&index); err != nil {
			return nil, err
		}
		list = append(list, index)
	}
	return list, rows.Err()
}
