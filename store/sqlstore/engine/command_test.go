package engine

import "testing"

// Statements are not merged across a deletion, because their order matters.
func TestStatementsAroundADeletionKeepTheirOrder(t *testing.T) {
	t.Parallel()
	insert := Command{Query: "INSERT INTO nonces (id) VALUES (?)", Args: []any{"a"}}
	list := []Command{insert, {Query: "DELETE FROM nonces WHERE id = ?", Args: []any{"a"}}, insert}
	if got := Together(list); len(got) != len(list) {
		t.Errorf("%d statements of %d", len(got), len(list))
	}
	if got := Together([]Command{insert, insert, insert}); len(got) != 2 || got[0].Query != "INSERT {whole}INTO nonces (id) VALUES (?), (?)" {
		t.Errorf("three insertions are %+v", got)
	}
}
