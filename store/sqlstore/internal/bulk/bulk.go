// Package bulk makes insertions of many rows that bind few values.
package bulk

import (
	"strconv"
	"strings"
)

// Rows are the values of rows of one table, column by column, row after row. A value that one of the two rows before has too is not
// allocated again: rows of calls are much alike.
type Rows struct {
	columns int
	values  []any // int64 or string
}

// NewRows makes room for so many rows of an insertion, of which Int and Text then tell every column.
func NewRows(query string, rows int) *Rows {
	columns := strings.Count(query, "?")
	return &Rows{columns: columns, values: make([]any, 0, columns*rows)}
}

// Int tells the next column of a row.
func (r *Rows) Int(n int64) { tell(r, n) }

// Text tells the next column of a row.
func (r *Rows) Text(s string) { tell(r, s) }

func tell[T int64 | string](r *Rows, v T) {
	for back := r.columns; back <= 2*r.columns && back <= len(r.values); back += r.columns {
		above := r.values[len(r.values)-back]
		if was, is := above.(T); is && was == v {
			r.values = append(r.values, above)
			return
		}
	}
	r.values = append(r.values, v)
}

// Each calls each with the values of n rows, from the first to the last, as long as there are so many; n is each of sizes in turn. The
// last of them is 1.
func (r *Rows) Each(sizes []int, each func(n int, values []any)) {
	left := r.values
	for _, n := range sizes {
		for size := n * r.columns; len(left) >= size && size > 0; left = left[size:] {
			each(n, left[:size:size])
		}
	}
}

// Insertion returns an insertion of n rows from one of a single row: a head, VALUES and its row, which holds a ? for every column.
func Insertion(query string, n int) string {
	head, row, _ := strings.Cut(query, "VALUES ")
	return head + "VALUES " + row + strings.Repeat(", "+row, n-1)
}

// A Joiner makes insertions that bind a column once where all rows have the same there. It remembers them, so that each is prepared once
// for a connection. The zero value is ready; the nil Joiner binds every value by itself. It is not safe for concurrent use.
type Joiner struct {
	made map[shape]string
}

type shape struct {
	query  string
	rows   int
	common uint64 // a bit for each column
}

// mostShapes bounds how many insertions a Joiner makes: where there are more no column is bound once.
const mostShapes = 64

// Join is Insertion of the rows that have these values, and returns what it binds.
func (j *Joiner) Join(query string, n int, values []any) (string, []any) {
	if j == nil {
		return Insertion(query, n), values
	}
	columns := len(values) / n
	s := shape{query: query, rows: n, common: common(values, columns)}
	text, made := j.made[s]
	if !made && len(j.made) >= mostShapes {
		s.common = 0
		text, made = j.made[s]
	}
	if !made {
		text = s.insertion(columns)
		if j.made == nil {
			j.made = map[shape]string{}
		}
		j.made[s] = text
	}
	if s.common == 0 {
		return text, values
	}
	bound := make([]any, 0, len(values))
	for column := range columns {
		if s.common&(1<<column) != 0 {
			bound = append(bound, values[column])
		}
	}
	for i, v := range values {
		if s.common&(1<<(i%columns)) == 0 {
			bound = append(bound, v)
		}
	}
	return text, bound
}

// common returns the columns that are the same in all rows.
func common(values []any, columns int) (bits uint64) {
	for column := range min(columns, 64) {
		same := true
		for at := column + columns; at < len(values) && same; at += columns {
			same = values[at] == values[column]
		}
		if same {
			bits |= 1 << column
		}
	}
	return bits
}

// insertion numbers what is bound: what is common, then the others, row by row.
func (s shape) insertion(columns int) string {
	if s.common == 0 {
		return Insertion(s.query, s.rows)
	}
	head, row, _ := strings.Cut(s.query, "VALUES ")
	parts := strings.Split(row, "?")
	var out strings.Builder
	out.WriteString(head + "VALUES ")
	numbers, next := make([]int, columns), 1
	for column := range columns {
		if s.common&(1<<column) != 0 {
			numbers[column] = next
			next++
		}
	}
	for i := range s.rows {
		if i > 0 {
			out.WriteString(", ")
		}
		for column, part := range parts[:columns] {
			number := numbers[column]
			if number == 0 {
				number = next
				next++
			}
			out.WriteString(part + "?" + strconv.Itoa(number))
		}
		out.WriteString(parts[columns])
	}
	return out.String()
}
