package verify

import (
	"context"
	"fmt"
	"regexp"
	"slices"
)

// internals are forms of text that only the operator of a service should see.
var internals = []struct {
	what string
	form *regexp.Regexp
}{
	{"a stack of Go", regexp.MustCompile(`goroutine \d+ \[|[/\w-]+\.go:\d+`)},
	{"a stack of Python", regexp.MustCompile(`Traceback \(most recent call last\)|File \\?"[^"\n]+\\?", line \d+`)},
	{"a stack of Java", regexp.MustCompile(`\bat [\w.$]+\([\w$]+\.(java|kt):\d+\)`)},
	{"a stack of JavaScript", regexp.MustCompile(`\bat [^\n]{0,200}\.[cm]?[jt]s:\d+:\d+`)},
	{"a stack of PHP or Ruby", regexp.MustCompile(`[/\w-]+\.(php|rb):\d+|on line <b>\d+`)},
	{"SQL", regexp.MustCompile(`SQLSTATE|ORA-\d{5}|syntax error at or near|\bSELECT\b.{1,200}\bFROM\b|\bINSERT INTO\b`)},
	{"a path of its file system", regexp.MustCompile(
		`/(home|var/www|var/lib|usr/(local/)?lib|opt|root|srv)/[\w.-]+/|[A-Z]:\\\\?(Users|Windows|inetpub)`)},
	{"an address of its own network", regexp.MustCompile(
		`\b(dial tcp|connect ECONNREFUSED)\b|\b(10\.\d{1,3}|192\.168|172\.(1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(:\d+)?\b`)},
}

func (v *verification) errorInternals(context.Context) finding {
	var bad []string
	found := map[string][]string{} // by body: many errors are alike
	for _, e := range v.recorder.failures() {
		body := string(e.body())
		whats, done := found[body]
		if !done {
			whats = internalsIn(body)
			found[body] = whats
		}
		for _, what := range whats {
			bad = append(bad, fmt.Sprintf("%s: the %d holds %s", e.name(), e.status, what))
		}
	}
	slices.Sort(bad)
	return wrongIfAny(slices.Compact(bad))
}

func internalsIn(body string) []string {
	var whats []string
	for _, in := range internals {
		if in.form.MatchString(body) {
			whats = append(whats, in.what)
		}
	}
	return whats
}
