// Package reason holds every reason for which an agent or an operator is refused: its code, HTTP status, UIM number,
// message and suggestion stand in one table, and a Refusal carries one of them, with its details, to whoever renders it.
//
//	return reason.ScopeExceeded.Refusal("").With("scope_needed", uid+":execute")
//
// Whoever answers in a protocol reads Code, Status, Number and Suggestion from here, so that the same refusal is the
// same in every protocol.
package reason

// A Reason is the exact cause of a refusal, sent as details.reason. Only the constants of this package are reasons.
type Reason string

// A Code is the coarse kind of failure, sent as error.code: the protocol's symbolic name. UIM core 3.3.
type Code string

// Known reports whether r stands in the table.
func (r Reason) Known() bool {
	_, ok := table[r]
	return ok
}

// Code returns the code that r goes with; that of Internal where r does not stand in the table.
func (r Reason) Code() Code { return r.row().code }

// Status returns the HTTP status that r goes with.
func (r Reason) Status() int { return r.row().status }

// Number returns the number that the UIM reference gives the cause, such as UIM-AUT-001; empty where it gives none.
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

// OperatorSuggestion returns what an operator can do about it, who is refused by the admin API.
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

// All returns every reason of the table, in no order.
func All() []Reason {
	list := make([]Reason, 0, len(table))
	for r := range table {
		list = append(list, r)
	}
	return list
}
