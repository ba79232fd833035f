package engine

import (
	"strconv"
	"strings"
)

// Bounds of a listing.
const (
	defaultPage = 100
	largestPage = 1000
)

// Conditions collects the conditions of a listing.
type Conditions struct {
	where []string
	Args  []any
}

// Add adds a condition with its arguments.
func (c *Conditions) Add(condition string, args ...any) {
	c.where = append(c.where, condition)
	c.Args = append(c.Args, args...)
}

// Equal restricts a column to a value, unless that is empty.
func (c *Conditions) Equal(column, value string) {
	if value != "" {
		c.Add(column+" = ?", value)
	}
}

// Query returns the statement of a selection under the conditions, of a page of limit rows. Without an order the rows are counted, not
// listed, and limit is not bounded.
func (c *Conditions) Query(selection, order string, limit int) string {
	if limit <= 0 {
		limit = defaultPage
	}
	if order != "" {
		limit = min(limit, largestPage)
		order = " " + order
	}
	if len(c.where) > 0 {
		selection += " WHERE " + strings.Join(c.where, " AND ")
	}
	return selection + order + " LIMIT " + strconv.Itoa(limit)
}
