// Package regex compiles regular expressions at their first use. Compiling all expressions of the program at its start would take longer
// than most commands need for their work.
package regex

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles expr at its first call, and returns the same expression at each call, from any goroutine. If
// package regexp rejects expr, every call panics: expr must be a constant in the source code, not external text.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
