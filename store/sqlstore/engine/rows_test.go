package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Seven rows become statements for four, two rows and one row, with their values in the order in which they were added.
func TestRowsBecomeStatementsInOrder(t *testing.T) {
	t.Parallel()
	rows := RowsFor("INSERT INTO seen (id, name, at, hash) VALUES (?, ?, ?, ?)", 7)
	var want [][]any
	for i, name := range []string{"a", "a", "b", "b", "", "", "c"} {
		id, at, hash := any(int64(i)), int64(i/3)<<40, []byte{byte(i)}
		rows.Value(id)
		rows.Text(name)
		rows.Int(at)
		rows.Bytes(hash)
		want = append(want, []any{id, name, at, hash})
	}
	got := rows.Statements()
	const head, row = "INSERT {whole}INTO seen (id, name, at, hash) VALUES (?, ?, ?, ?)", ", (?, ?, ?, ?)"
	joined := func(rows ...[]any) (args []any) {
		for _, r := range rows {
			args = append(args, r...)
		}
		return args
	}
	if diff := cmp.Diff([]Command{
		{Query: head + row + row + row, Args: joined(want[:4]...)},
		{Query: head + row, Args: joined(want[4:6]...)},
		{Query: "INSERT INTO seen (id, name, at, hash) VALUES (?, ?, ?, ?)", Args: want[6]},
	}, got); diff != "" {
		t.Errorf("the statements differ from the expected ones (-want +got):\n%s", diff)
	}
	for _, query := range []string{"INSERT INTO seen (id) VALUES (?)", ""} {
		if none := RowsFor(query, 0); len(none.Statements()) > 0 {
			t.Errorf("no rows of %q became statements", query)
		}
	}
}
