package verify

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
