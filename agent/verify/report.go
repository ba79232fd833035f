package verify

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/agent/fetch"
)

// A Level is how binding a point is.
type Level string

// An Outcome is the result of one check.
type Outcome string

// A Check is one point with its outcome.
type Check struct {
	ID      string  `json:"id"` // stable, for programs
	Section string  `json:"section"`
	Title   string  `json:"title"`
	Level   Level   `json:"level"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"` // on one line, without control characters
}

// A Report is the result of a run, in the order of the list of checks, which is the same for every service.
type Report struct {
	Target   string  `json:"target"`
	Agents   string  `json:"agents,omitempty"` // URL of the agents.json that was checked; empty: none was found
	Complete bool    `json:"complete"`         // false: the time was up before every check was made
	Checks   []Check `json:"checks"`
}

// Passed reports whether every check was made and no point of level Must is missing or wrong.
func (r Report) Passed() bool {
	for _, c := range r.Checks {
		if c.Level == Must && c.Failed() {
			return false
		}
	}
	return r.Complete
}

// Failed reports whether the point is missing or wrong.
func (c Check) Failed() bool { return c.Outcome == Missing || c.Outcome == Wrong }

// Count returns the number of checks with this outcome.
func (r Report) Count(o Outcome) int {
	n := 0
	for _, c := range r.Checks {
		if c.Outcome == o {
			n++
		}
	}
	return n
}

// The levels. Only points of level Must decide whether a report passes.
const (
	Must   Level = "must"
	Should Level = "should"
	May    Level = "may"
)

// The outcomes.
const (
	Holds   Outcome = "holds"
	Missing Outcome = "missing" // the service does not have it
	Wrong   Outcome = "wrong"   // the service has it, not as the section requires
	Skipped Outcome = "skipped" // it could not be checked; Detail gives the cause
)

// A finding is the result of one check.
type finding struct {
	outcome Outcome
	detail  string
}

func holds(format string, args ...any) finding { return finding{Holds, fmt.Sprintf(format, args...)} }

func missing(format string, args ...any) finding {
	return finding{Missing, fmt.Sprintf(format, args...)}
}

func wrong(format string, args ...any) finding { return finding{Wrong, fmt.Sprintf(format, args...)} }

func skipped(format string, args ...any) finding {
	return finding{Skipped, fmt.Sprintf(format, args...)}
}

var pass = finding{outcome: Holds}

// exchangeFailed is the finding for an exchange that failed. Errors of package fetch hold no path and no secret.
func exchangeFailed(err error) finding {
	if errors.Is(err, fetch.ErrRefused) {
		return wrong("nothing was sent: %v", err)
	}
	return wrong("%v", err)
}

// serverError is the finding of a check that met a 5xx: only error-failures reports those.
func serverError(a fetch.Answer) finding {
	return skipped("the answer was %d: see error-failures", a.Status)
}

// expectStatus checks the status of an error answer. Its body is checked with all others, by error-envelope.
func expectStatus(a fetch.Answer, want ...int) finding {
	switch {
	case slices.Contains(want, a.Status):
		return pass
	case a.Status >= http.StatusInternalServerError:
		return serverError(a)
	case a.Status == http.StatusTooManyRequests:
		return skipped("the service takes no more requests of this kind now")
	}
	return wrong("it is answered %d, not %d", a.Status, want[0])
}

// summary lists the first entries and how many more there are.
func summary(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
}

// wrongIfAny is the finding for a list of offenders: wrong unless it is empty.
func wrongIfAny(list []string) finding {
	if len(list) == 0 {
		return pass
	}
	return wrong("%s", summary(list))
}

// printable makes foreign text fit to be printed: on one line, without control characters, bounded.
func printable(s string) string {
	const most = 400
	if len(s) > 8*most {
		s = s[:8*most]
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.C, r)
	}), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
