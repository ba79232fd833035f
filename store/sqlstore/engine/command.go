package engine

import (
	"slices"
	"strings"
)

// A Scan reads the columns of a row.
type Scan = func(dest ...any) error

// A Command is one of several statements that are sent together.
type Command struct {
	Query string
	Args  []any
	Row   func(Scan) error // called with every row; nil: the statement returns none
	Must  int              // how many rows it must change, otherwise the transaction is retried; 0: any number
}

// chunks are how many rows one statement writes, so that few statements are prepared.
var chunks = []int{16, 4, 2, 1}

// Chunked divides a list into parts of the sizes that statements have.
func Chunked[T any](list []T, each func([]T)) {
	for _, n := range chunks {
		for ; len(list) >= n; list = list[n:] {
			each(list[:n])
		}
	}
}

// Together joins insertions into one table to statements with several rows. If a list has other statements, their order counts, and the
// list stays unchanged.
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
		Chunked(groups[query], func(same []Command) { out = append(out, rowsOf(query, same)) })
	}
	return out
}

// rowsOf makes one insertion of several. The query ends with its row, or with a conflict clause. If the insertion fails it ends the
// transaction, so that the database need not be able to undo that statement alone.
func rowsOf(query string, same []Command) Command {
	if len(same) == 1 {
		return same[0]
	}
	args := make([]any, 0, len(same)*len(same[0].Args))
	for _, c := range same {
		args = append(args, c.Args...)
	}
	query, conflict, _ := strings.Cut(strings.Replace(query, "INSERT ", "INSERT {whole}", 1), " ON CONFLICT ")
	head, row, _ := strings.Cut(query, "VALUES ")
	query = head + "VALUES " + row + strings.Repeat(", "+row, len(same)-1)
	if conflict != "" {
		query += " ON CONFLICT " + conflict
	}
	return Command{Query: query, Args: args}
}

// withoutLocks removes the locks from statements that read.
func withoutLocks(list []Command) []Command {
	for i := range list {
		list[i].Query = strings.TrimSuffix(list[i].Query, " FOR UPDATE")
	}
	return list
}

// BumpLedger takes as many numbers of the ledger as its argument. The row stays locked until the transaction ends, so that numbers become
// visible in the order of commits and none is missing. {ledger} is the last of them.
const (
	BumpLedger   = "UPDATE sequences SET n = n + ? WHERE name = 'ledger'"
	ledgerNumber = "(SELECT n FROM sequences WHERE name = 'ledger')"
)

// CallTables are the tables and columns that calls change. No view and no trigger hides them, so that a statement which reads or
// changes one names it.
var CallTables = []string{"executions", "ledger", "accounts", "counters", "pools", "used_at"}

// Touches reports whether a statement names tables that calls change.
func Touches(query string) bool {
	return slices.ContainsFunc(CallTables, func(what string) bool { return strings.Contains(query, what) })
}
