package bulk_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/uimgate/uimgate/store/sqlstore/internal/bulk"
)

const insert = "INSERT INTO t (a, b, c) VALUES ({n} - ?, ?, ?)"

// rowsOf tells rows of an int and two texts.
func rowsOf(rows ...[3]any) *bulk.Rows {
	r := bulk.NewRows(insert, len(rows))
	for _, row := range rows {
		r.Int(int64(row[0].(int)))
		r.Text(row[1].(string))
		r.Text(row[2].(string))
	}
	return r
}

func TestJoin(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rows *bulk.Rows
		text string
		args []any
	}{
		"nothing in common": {
			rowsOf([3]any{1, "a", "x"}, [3]any{2, "b", "y"}),
			"INSERT INTO t (a, b, c) VALUES ({n} - ?, ?, ?), ({n} - ?, ?, ?)",
			[]any{int64(1), "a", "x", int64(2), "b", "y"},
		},
		"one column": {
			rowsOf([3]any{1, "a", "x"}, [3]any{2, "a", "y"}),
			"INSERT INTO t (a, b, c) VALUES ({n} - ?2, ?1, ?3), ({n} - ?4, ?1, ?5)",
			[]any{"a", int64(1), "x", int64(2), "y"},
		},
		"a column in some rows": {
			rowsOf([3]any{1, "a", "x"}, [3]any{1, "b", "x"}, [3]any{2, "b", "x"}),
			"INSERT INTO t (a, b, c) VALUES ({n} - ?2, ?3, ?1), ({n} - ?4, ?5, ?1), ({n} - ?6, ?7, ?1)",
			[]any{"x", int64(1), "a", int64(1), "b", int64(2), "b"},
		},
		"all": {
			rowsOf([3]any{1, "a", "x"}, [3]any{1, "a", "x"}),
			"INSERT INTO t (a, b, c) VALUES ({n} - ?1, ?2, ?3), ({n} - ?1, ?2, ?3)",
			[]any{int64(1), "a", "x"},
		},
		"the same text in other columns": {
			rowsOf([3]any{1, "a", "b"}, [3]any{2, "b", "a"}),
			"INSERT INTO t (a, b, c) VALUES ({n} - ?, ?, ?), ({n} - ?, ?, ?)",
			[]any{int64(1), "a", "b", int64(2), "b", "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var j bulk.Joiner
			for range 2 { // made, and remembered
				tt.rows.Each([]int{4, 3, 2, 1}, func(n int, values []any) {
					if text, args := j.Join(insert, n, values); text != tt.text || !slices.Equal(args, tt.args) {
						t.Errorf("%s %v", text, args)
					}
				})
			}
		})
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	r := bulk.NewRows("VALUES (?, ?)", 0)
	for i := range 23 {
		r.Int(int64(i / 3)) // some like the one before, some like none
		r.Text(fmt.Sprint(i % 2))
	}
	var sizes []int
	var all []any
	r.Each([]int{16, 4, 2, 1}, func(n int, values []any) {
		if len(values) != 2*n {
			t.Errorf("%d values of %d rows", len(values), n)
		}
		sizes, all = append(sizes, n), append(all, values...)
	})
	if !slices.Equal(sizes, []int{16, 4, 2, 1}) {
		t.Errorf("%v", sizes)
	}
	for i := range 23 {
		if all[2*i] != int64(i/3) || all[2*i+1] != fmt.Sprint(i%2) {
			t.Errorf("row %d: %v", i, all[2*i:2*i+2])
		}
	}
}

// Whatever rows have in common, few statements are to be prepared.
func TestShapesAreBounded(t *testing.T) {
	t.Parallel()
	const (
		columns = 10
		query   = "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	)
	var j bulk.Joiner
	texts := map[string]bool{}
	for bits := range 1 << columns {
		r := bulk.NewRows(query, 2)
		for row := range 2 {
			for c := range columns {
				r.Int(int64(row * (bits >> c & 1)))
			}
		}
		r.Each([]int{2}, func(n int, values []any) {
			text, args := j.Join(query, n, values)
			texts[text] = true
			if len(args) > len(values) {
				t.Errorf("%d bound", len(args))
			}
		})
	}
	if len(texts) > 66 {
		t.Errorf("%d statements", len(texts))
	}
}
