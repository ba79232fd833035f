package engine

import (
	"database/sql/driver"
	"slices"
	"strings"
)

// A Scan reads the columns of a row.
type Scan = func(dest ...any) error

// A Command is one of several statements that are sent together.
type Command struct {
	Query string
	Args  []any
	Row   func(Scan) error // called for each row; nil if the statement returns no rows
	Must  int              // how many rows it must change or select; otherwise the transaction is retried; 0 for any number
}

// chunks are the numbers of rows that one statement may write, so that few different statements are prepared.
var chunks = []int{16, 4, 2, 1}

// Chunked calls the function each with consecutive parts of list, whose lengths are among chunks.
func Chunked[T any](list []T, each func([]T)) {
	for _, n := range chunks {
		for ; len(list) >= n; list = list[n:] {
			each(list[:n])
		}
	}
}

// Together merges INSERT statements with the same query into statements that insert several rows. If the list contains any other statement,
// the order may matter, and Together returns the list unchanged.
func Together(list []Command) []Command {
	if len(list) < 2 || slices.ContainsFunc(list, func(c Command) bool { return !strings.HasPrefix(c.Query, "INSERT") }) {
		return list
	}
	var queries []string // in the order of their first use
	groups := map[string][]Command{}
	for _, c := range list {
		if groups[c.Query] == nil {
			queries = append(queries, c.Query)
		}
		groups[c.Query] = append(groups[c.Query], c)
	}
	out := list[:0:0]
	for _, query := range queries {
		Chunked(groups[query], func(same []Command) { out = append(out, insertOf(query, same)) })
	}
	return out
}

// insertOf merges INSERT statements with the same query into one.
func insertOf(query string, same []Command) Command {
	if len(same) == 1 {
		return same[0]
	}
	args := make([]any, 0, len(same)*len(same[0].Args))
	for _, c := range same {
		args = append(args, c.Args...)
	}
	return Command{Query: severalRows(query, len(same)), Args: args}
}

// severalRows returns an INSERT statement that inserts n rows. The query must end with its row of values or with a conflict clause. A
// failure of the statement for several rows ends the transaction, so the database need not be able to undo the statement alone.
func severalRows(query string, n int) string {
	if n == 1 {
		return query
	}
	query, conflict, _ := strings.Cut(strings.Replace(query, "INSERT ", "INSERT {whole}", 1), " ON CONFLICT ")
	head, row, _ := strings.Cut(query, "VALUES ")
	query = head + "VALUES " + row + strings.Repeat(", "+row, n-1)
	if conflict != "" {
		query += " ON CONFLICT " + conflict
	}
	return query
}

// withoutLocks removes FOR UPDATE from the statements of list, which it changes in place.
func withoutLocks(list []Command) []Command {
	for i := range list {
		list[i].Query = strings.TrimSuffix(list[i].Query, " FOR UPDATE")
	}
	return list
}

// BumpLedger allocates n ledger numbers, where n is its argument. The row stays locked until the transaction ends, so that numbers become
// visible in commit order and without gaps. {ledger} is the last allocated number.
const (
	BumpLedger   = "UPDATE sequences SET n = n + ? WHERE name = 'ledger'"
	ledgerNumber = "(SELECT n FROM sequences WHERE name = 'ledger')"
)

// TakeLedger returns a statement that allocates n ledger numbers, and these numbers as arguments for later statements of the same
// transaction. No other process may write at the same time.
func TakeLedger(n int) (numbers func(i int) any, take Command) {
	last := new(int64)
	take = Command{Query: BumpLedger + " RETURNING n", Args: []any{n}, Row: func(scan Scan) error { return scan(last) }}
	return func(i int) any { return ledgerPlace{last, int64(n - 1 - i)} }, take
}

// A ledgerPlace is a ledger number that becomes known only when its statement runs.
type ledgerPlace struct {
	last   *int64
	before int64 // the difference between the last allocated number and this one
}

// Value implements driver.Valuer.
func (p ledgerPlace) Value() (driver.Value, error) { return *p.last - p.before, nil }

// CallTables are the tables and columns that calls of agents change. The schema has no views and no triggers, so every statement that reads
// or changes one of them contains its name.
var CallTables = []string{"executions", "ledger", "accounts", "counters", "pools", "evidence", "used_at"}

// Touches reports whether a statement names one of CallTables.
func Touches(query string) bool {
	return slices.ContainsFunc(CallTables, func(what string) bool { return strings.Contains(query, what) })
}
