package engine

import "strings"

// Rows are the rows of an INSERT statement. Their values are added column by column, row by row.
type Rows struct {
	query string // ends with the values of one row
	width int    // number of columns
	args  []any
}

// RowsFor returns empty Rows with space for n rows. The query must be an INSERT statement that ends with the values of one row. Each of its
// question marks is a column of the Rows.
func RowsFor(query string, n int) Rows {
	width := strings.Count(query, "?")
	return Rows{query: query, width: width, args: make([]any, 0, width*n)}
}

// above returns the value in the same column of the row above, or nil for the first row.
func (r *Rows) above() any {
	if i := len(r.args) - r.width; i >= 0 {
		return r.args[i]
	}
	return nil
}

// Text adds a string. Most strings are those of the row above, and share its memory.
func (r *Rows) Text(s string) {
	value := r.above()
	if above, ok := value.(string); !ok || above != s {
		value = s
	}
	r.args = append(r.args, value)
}

// Int adds a number.
func (r *Rows) Int(n int64) {
	value := r.above()
	if above, ok := value.(int64); !ok || above != n {
		value = n
	}
	r.args = append(r.args, value)
}

// Bytes adds bytes, which must not change before the statements have run.
func (r *Rows) Bytes(b []byte) { r.args = append(r.args, Blob(b)) }

// Value adds any other value.
func (r *Rows) Value(v any) { r.args = append(r.args, v) }

// Statements returns the statements that insert the rows, in order.
func (r *Rows) Statements() []Command {
	var list []Command
	for _, n := range chunks {
		size := n * r.width
		if size == 0 || len(r.args) < size {
			continue
		}
		query := severalRows(r.query, n)
		for ; len(r.args) >= size; r.args = r.args[size:] {
			list = append(list, Command{Query: query, Args: r.args[:size:size]})
		}
	}
	return list
}
