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
	Missing Outcome = "missing" // the service lacks it
	Wrong   Outcome = "wrong"   // the service has it, but not as the section requires
	Skipped Outcome = "skipped" // it could not be checked; the detail gives the cause
)

// A Finding is the result of one check with a message, which may contain text from the service.
type Finding struct {
	Outcome Outcome
	Detail  string
}

// Pass is the finding for a point that passes, without a message.
var Pass = Finding{Outcome: Holds}

// Because returns the finding with this outcome and a detail.
func (o Outcome) Because(format string, args ...any) Finding {
	return Finding{o, fmt.Sprintf(format, args...)}
}

// Ok reports whether the point passes.
func (f Finding) Ok() bool { return f.Outcome == Holds }

// Failed returns the finding for an exchange that failed. Errors of package fetch contain neither a path nor a secret.
func Failed(err error) Finding {
	if errors.Is(err, fetch.ErrRefused) {
		return Wrong.Because("no request was sent: %v", err)
	}
	return Wrong.Because("%v", err)
}

// ServerError returns the finding of a check that received a 5xx response. Only error-failures reports such responses.
func ServerError(a fetch.Answer) Finding {
	return Skipped.Because("the response was %d: see error-failures", a.Status)
}

// Status checks that the status of a response is one of those given. After any other 5xx, or after a 429, the finding is Skipped.
func Status(a fetch.Answer, want ...int) Finding {
	switch {
	case slices.Contains(want, a.Status):
		return Pass
	case a.Status >= http.StatusInternalServerError:
		return ServerError(a)
	case a.Status == http.StatusTooManyRequests:
		return Skipped.Because("the service currently accepts no more requests of this kind")
	}
	return Wrong.Because("the response is %d, not %d", a.Status, want[0])
}

// WrongIfAny returns the finding for a list of violations: Wrong if there are any, and Pass otherwise.
func WrongIfAny(list []string) Finding {
	if len(list) == 0 {
		return Pass
	}
	return Wrong.Because("%s", Summary(list))
}

// Summary returns the first entries of a list and the number of the remaining entries.
func Summary(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
}
