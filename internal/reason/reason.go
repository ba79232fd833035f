// Package reason defines every reason for which the gateway refuses a request of an agent or an operator. A table holds the code, HTTP
// status, UIM number, message and suggestion of each reason. A Refusal carries one reason, with its details, to the code that renders it.
//
//	return reason.ScopeExceeded.Refusal("").With("scope_needed", uid+":execute")
//
// All protocols take Code, Status, Number and Suggestion from this package, so a refusal is the same in each of them.
package reason

import (
	"cmp"
	"maps"
	"slices"
)

// A Reason is the exact cause of a refusal, sent as details.reason. Only the constants of this package are reasons.
type Reason string

// A Code is the category of a refusal, sent as error.code: the symbolic name that the protocol defines. See UIM core, section 3.3.
type Code string

// Known reports whether the table contains r.
func (r Reason) Known() bool {
	_, ok := table[r]
	return ok
}

// Code returns the code of r, or the code of Internal if the table does not contain r.
func (r Reason) Code() Code { return r.row().code }

// Status returns the HTTP status of r.
func (r Reason) Status() int { return r.row().status }

// Number returns the number of r in the UIM reference, such as UIM-AUT-001, or "" if r has none.
func (r Reason) Number() string {
	if n := r.row().number; n != "" {
		return "UIM-" + n
	}
	return ""
}

// Message returns a sentence that describes the problem to an agent.
func (r Reason) Message() string { return r.row().message }

// Suggestion returns advice for an agent on how to continue.
func (r Reason) Suggestion() string { return r.row().suggestion }

// OperatorSuggestion returns advice for an operator on how to continue after a refusal by the admin API.
func (r Reason) OperatorSuggestion() string {
	return cmp.Or(r.row().operator, r.row().suggestion)
}

func (r Reason) row() row {
	if found, ok := table[r]; ok {
		return found
	}
	return table[Internal]
}

// All returns all reasons, sorted by status and then by name.
func All() []Reason {
	return slices.SortedFunc(maps.Keys(table), func(a, b Reason) int {
		return cmp.Or(cmp.Compare(a.Status(), b.Status()), cmp.Compare(a, b))
	})
}
