// Package point describes the result of one check of package verify and of the packages below it: how binding the point of the
// specification is, and whether the service conforms to it.
package point

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/fetch"
)

// A Level is how binding a point is.
type Level string

// The levels. Only points of level Must decide whether a service conforms.
const (
	Must   Level = "must"
	Should Level = "should"
	May    Level = "may"
)

// An Outcome is the result of one check.
type Outcome string

// The outcomes.
const (
	Holds   Outcome = "holds"
	Missing Outcome = "missing" // the service does not have it
	Wrong   Outcome = "wrong"   // the service has it, but not as the section requires
	Skipped Outcome = "skipped" // it could not be checked; the detail gives the cause
)

// A Finding is the result of one check and its message, which may hold foreign text.
type Finding struct {
	Outcome Outcome
	Detail  string
}

// Pass is the finding of a point that passes, without a message.
var Pass = Finding{Outcome: Holds}

// Because returns the finding with this outcome and a detail.
func (o Outcome) Because(format string, args ...any) Finding {
	return Finding{o, fmt.Sprintf(format, args...)}
}

// Ok reports whether the point passes.
func (f Finding) Ok() bool { return f.Outcome == Holds }

// Failed returns the finding for an exchange that failed. Errors of package fetch hold neither a path nor a secret.
func Failed(err error) Finding {
	if errors.Is(err, fetch.ErrRefused) {
		return Wrong.Because("nothing was sent: %v", err)
	}
	return Wrong.Because("%v", err)
}

// ServerError is the finding of a check that got a 5xx: only error-failures reports those.
func ServerError(a fetch.Answer) Finding {
	return Skipped.Because("the answer was %d: see error-failures", a.Status)
}

// Status checks that the status of a response is one of those given.
func Status(a fetch.Answer, want ...int) Finding {
	switch {
	case slices.Contains(want, a.Status):
		return Pass
	case a.Status >= http.StatusInternalServerError:
		return ServerError(a)
	case a.Status == http.StatusTooManyRequests:
		return Skipped.Because("the service takes no more requests of this kind now")
	}
	return Wrong.Because("it is answered %d, not %d", a.Status, want[0])
}

// WrongIfAny returns the finding for a list of offenders: wrong unless it is empty.
func WrongIfAny(list []string) Finding {
	if len(list) == 0 {
		return Pass
	}
	return Wrong.Because("%s", Summary(list))
}

// Summary lists the first entries and how many more there are.
func Summary(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
}
