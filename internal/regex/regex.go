// Package regex has regular expressions that are compiled when they are first asked for. Compiling all of a program's as it starts takes
// longer than most commands need for what they do.
package regex

import (
	"regexp"
	"sync"
)

// Lazy returns what compiles expr at the first call, and returns the same expression at every call after it, from any goroutine. Where
// expr is none of package regexp every call panics, so expr is always a text of the sources, never one from outside.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
