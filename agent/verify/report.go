package verify

import (
	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/lines"
)

// A Level is how binding a point is.
type Level = point.Level

// An Outcome is the result of one check.
type Outcome = point.Outcome

// A Check is one point with its outcome.
type Check struct {
	ID      string  `json:"id"` // stable, for programs
	Section string  `json:"section"`
	Title   string  `json:"title"`
	Level   Level   `json:"level"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"` // on one line, without control characters
}

// A Report is the result of a run. Its checks are in the order of the list of checks, which is the same for every service.
type Report struct {
	Target   string  `json:"target"`
	Agents   string  `json:"agents,omitempty"` // URL of the agents.json that was checked; empty if none was found
	Complete bool    `json:"complete"`         // false if the time limit was reached before all checks were made
	Checks   []Check `json:"checks"`
}

// Passed reports whether the run is complete, and no point of level Must is missing or wrong.
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
	Must   = point.Must
	Should = point.Should
	May    = point.May
)

// The outcomes.
const (
	Holds   = point.Holds
	Missing = point.Missing // the service lacks it
	Wrong   = point.Wrong   // the service has it, but not as the section requires
	Skipped = point.Skipped // it could not be checked; Detail gives the cause
)

// A finding is the result of one check.
type finding = point.Finding

var pass = point.Pass

func holds(format string, args ...any) finding   { return Holds.Because(format, args...) }
func missing(format string, args ...any) finding { return Missing.Because(format, args...) }
func wrong(format string, args ...any) finding   { return Wrong.Because(format, args...) }
func skipped(format string, args ...any) finding { return Skipped.Because(format, args...) }

// printable returns text from a service in a form that is safe to print.
func printable(s string) string {
	const most = 400
	return lines.Clean(s, most)
}
