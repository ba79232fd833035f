package odrl

import (
	"encoding/json"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
)

// An Evaluation is the result for a Question, with a report on each rule of the policy. The zero Evaluation denies. Its JSON form is the
// output of uimgate policy decide.
type Evaluation struct {
	Permit bool
	Reason reason.Reason // empty on permit
	Rule   string        // the deciding rule: uid, or JSON pointer into the document
	Detail string        // for people, without values of facts
	// Limits are the limits that the caller must count before acting under Rule. Evaluate does not compare them.
	Limits []limit.Limit
	// Charges are the amounts owed for acting under Rule, in the order of the duties.
	Charges []Charge
	// Duties are the duties that are owed: the unfulfilled duties of Rule, the obligations that bind the party, and the remedies and
	// consequences that became due.
	Duties []Due
	// Rules has a report on every rule and duty of the document, in document order.
	Rules []RuleReport
	// Candidates are the permissions that permit the action, best first: by lowest charge, then fewest limits, then document order.
	Candidates []string
}

// A Charge is an amount owed under a pay duty.
type Charge struct {
	Amount   string `json:"amount"`   // decimal
	Currency string `json:"currency"` // ISO 4217 code or, if the currency is not known, its name in the policy
	Rule     string `json:"rule"`     // the duty
}

// A Due is a duty that is owed.
type Due struct {
	Rule   string `json:"rule"`
	Action string `json:"action"`
	Of     string `json:"of,omitempty"` // the rule whose duty, remedy or consequence it is
	Target string `json:"target,omitempty"`
	Party  string `json:"party,omitempty"`
}

// A State is a state in a report, named as in the compliance report model of the ODRL community.
type State string

// The states.
const (
	Active      State = "Active"
	Inactive    State = "Inactive"
	Satisfied   State = "Satisfied"
	Unsatisfied State = "Unsatisfied"
	NonSet      State = "NonSet"
	Fulfilled   State = "Fulfilled"
	Violated    State = "Violated"
)

// A RuleReport is the result of one rule for the question.
type RuleReport struct {
	Rule       string `json:"rule"` // uid, or JSON pointer
	Type       string `json:"type"` // Permission, Prohibition or Duty
	Activation State  `json:"activationState"`
	Deontic    State  `json:"deonticState,omitempty"` // only for duties and prohibitions
	// Premise reports for each part of the rule whether the question matches it. For a duty, Party reports whether the duty binds the party,
	// and Action and Target report whether the duty is fulfilled.
	Premise Premise `json:"premise"`
	// Constraints maps the uid or JSON pointer of each constraint to Satisfied or Unsatisfied. An unknown constraint counts as Unsatisfied in
	// a permission and as Satisfied in any other rule. Logical constraints are listed in addition to their operands.
	Constraints map[string]State `json:"constraints"`
}

// Premise holds the state of each part of a rule. A field is empty if the rule does not have that part.
type Premise struct {
	Target State `json:"target,omitempty"`
	Party  State `json:"party,omitempty"`
	Action State `json:"action,omitempty"`
}

type limitJSON struct {
	Max      int64  `json:"max"`
	Seconds  *int64 `json:"period_s"`
	Calendar string `json:"calendar,omitempty"`
	Key      string `json:"key"`
}

// MarshalJSON encodes the members decision, code, rule, limits, charges, duties and report. In a limit, period_s is null for a lifetime
// limit, and for a calendar month or year, which the member calendar names.
func (e Evaluation) MarshalJSON() ([]byte, error) {
	out := struct {
		Decision string        `json:"decision"`
		Code     reason.Reason `json:"code,omitempty"`
		Rule     string        `json:"rule,omitempty"`
		Limits   []limitJSON   `json:"limits"`
		Charges  []Charge      `json:"charges"`
		Duties   []Due         `json:"duties"`
		Report   struct {
			Rules []RuleReport `json:"rules"`
		} `json:"report"`
	}{Decision: "deny", Code: e.Reason, Rule: e.Rule, Limits: []limitJSON{}, Charges: append([]Charge{},
		e.Charges...), Duties: append([]Due{}, e.Duties...)}
	if e.Permit {
		out.Decision, out.Code = "permit", ""
	}
	for _, l := range e.Limits {
		one := limitJSON{Max: l.Max, Key: l.ID}
		if s := l.Period.Seconds(); s > 0 {
			one.Seconds = &s
		}
		if l.Period.Calendar() {
			one.Calendar = string(l.Period)
		}
		out.Limits = append(out.Limits, one)
	}
	out.Report.Rules = append([]RuleReport{}, e.Rules...)
	return json.Marshal(out)
}
