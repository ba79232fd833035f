package engine

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A statement without rows gets its arguments without database/sql. They are stored as database/sql would store them.
func TestArgumentsOfDirectStatements(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := New(SQLite(), Options{Now: func() time.Time { return time.Unix(1, 0) }, Elapsed: func() time.Duration { return 0 }})
	if err := db.Connect(ctx, filepath.Join(t.TempDir(), "state.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(db.write.Close(), db.read.Close()); err != nil {
			t.Error(err)
		}
	})
	w := &Writer{db: db}
	t.Cleanup(w.drop)
	if _, err := w.connect(ctx); err != nil {
		t.Fatal(err)
	}
	const insert = "INSERT INTO seen (value) VALUES (?)"
	list := []Command{{Query: "CREATE TABLE seen (value)"}}
	for _, value := range []any{int64(1), 2, "three", []byte("four"), []byte{}, nil, true, ledgerPlace{new(int64(8)), 1}} {
		list = append(list, Command{Query: insert, Args: []any{value}})
	}
	if err := w.send(ctx, list); err != nil {
		t.Fatal(err)
	}
	if err := w.send(ctx, []Command{{Query: insert, Args: []any{make(chan int)}}}); err == nil {
		t.Error("a channel was stored")
	}
	if err := w.send(ctx, []Command{{Query: insert, Args: []any{}}}); err == nil {
		t.Error("a row without an argument was stored")
	}
	if err := w.send(ctx, []Command{{Query: "DELETE FROM seen WHERE value = ?", Args: []any{"three"}, Must: 1}}); err != nil {
		t.Error(err)
	}
	var got []string
	err := w.send(ctx, []Command{{Query: "SELECT quote(value) FROM seen", Row: func(scan Scan) error {
		var text string
		err := scan(&text)
		got = append(got, text)
		return err
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", "2", "X'666F7572'", "X''", "NULL", "1", "7"}, got); diff != "" {
		t.Errorf("the table differs from the arguments (-want +got):\n%s", diff)
	}
}
