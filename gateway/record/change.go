package record

import "time"

// Changed is the value of Line.Decision for a change by an operator.
const Changed = "change"

// A ChangeLine is the member change of an audit record: the change that an operator made, and the operator.
type ChangeLine struct {
	Address string `json:"address,omitempty"` // only for sign-ins and sign-outs: where the request came from
	By      string `json:"by"`
	// Detail describes the change by names such as amount, state or policy_digest. It may be nil.
	Detail map[string]string `json:"detail,omitempty"`
	Did    string            `json:"did"` // the operation of the admin API, such as POST /agents/{id}/block, or sign in or sign out
	// Failed is the reason of a failure after which it is unknown whether the change was made. It is empty if the change was made.
	Failed    string `json:"failed,omitempty"`
	RequestID string `json:"-"` // Line.RequestID
	Role      string `json:"role"`
	Subject   string `json:"subject,omitempty"`
	Via       string `json:"via"` // how the operator was identified: socket, token, link or oidc
}

// RecordChange records that an operator has changed something. When RecordChange returns, the record is in the file, unless the file cannot
// be written.
func (a *Audit) RecordChange(at time.Time, service string, change ChangeLine) {
	line := Line{At: at.UTC(), RequestID: change.RequestID, Service: service, Decision: Changed, Change: &change}
	a.appendNow(&line)
}
