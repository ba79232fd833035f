// Package regex has regular expressions that are compiled when they are first asked for. Compiling all of a program's as it starts takes
// longer than most commands need for what they do.
package regex

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles expr at the first call, and returns the same expression at every later call, from any goroutine.
// Every call panics if package regexp rejects expr, so expr must be a constant of the sources, never a text from outside.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
