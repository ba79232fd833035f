package engine

import (
	"strconv"
	"strings"
)

// The default and the maximum number of rows on a page of a listing.
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

// Equal requires a column to have a value. If value is empty, Equal adds no condition.
func (c *Conditions) Equal(column, value string) {
	if value != "" {
		c.Add(column+" = ?", value)
	}
}

// Query returns the statement that selects at most limit rows that meet the conditions. A limit that is not positive means 100. If there is
// an order, a limit over 1000 is reduced to 1000. Without an order, the statement counts rows or reads one, and the limit has no maximum.
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
