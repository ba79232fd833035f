// Package reason holds every reason for which an agent or an operator is refused. One table has its code, HTTP status, UIM number,
// message and suggestion; a Refusal carries one reason, with its details, to the code that renders it.
//
//	return reason.ScopeExceeded.Refusal("").With("scope_needed", uid+":execute")
//
// Every protocol reads Code, Status, Number and Suggestion from here, so that a refusal is the same in all of them.
package reason

import (
	"cmp"
	"maps"
	"slices"
)

// A Reason is the exact cause of a refusal, sent as details.reason. Only the constants of this package are reasons.
type Reason string

// A Code is the coarse kind of failure, sent as error.code: the protocol's symbolic name. UIM core 3.3.
type Code string

// Known reports whether r is in the table.
func (r Reason) Known() bool {
	_, ok := table[r]
	return ok
}

// Code returns the code of r; that of Internal if r is not in the table.
func (r Reason) Code() Code { return r.row().code }

// Status returns the HTTP status of r.
func (r Reason) Status() int { return r.row().status }

// Number returns the number of the cause in the UIM reference, such as UIM-AUT-001; empty if it has none.
func (r Reason) Number() string {
	if n := r.row().number; n != "" {
		return "UIM-" + n
	}
	return ""
}

// Message returns what happened, in one sentence for an agent.
func (r Reason) Message() string { return r.row().message }

// Suggestion returns what an agent can do about it.
func (r Reason) Suggestion() string { return r.row().suggestion }

// OperatorSuggestion returns what an operator can do about a refusal by the admin API.
func (r Reason) OperatorSuggestion() string {
	if s := r.row().operator; s != "" {
		return s
	}
	return r.row().suggestion
}

func (r Reason) row() row {
	if found, ok := table[r]; ok {
		return found
	}
	return table[Internal]
}

// All returns every reason of the table, by status and then by name.
func All() []Reason {
	return slices.SortedFunc(maps.Keys(table), func(a, b Reason) int {
		return cmp.Or(cmp.Compare(a.Status(), b.Status()), cmp.Compare(a, b))
	})
}
