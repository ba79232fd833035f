// Package regex has regular expressions that are compiled at their first use. Compiling all of a program's expressions at its start takes
// longer than most commands take themselves.
package regex

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles expr at the first call, and returns the same expression at every later call, from any goroutine.
// Every call panics if package regexp rejects expr, so expr must be a constant of the sources, never external text.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
