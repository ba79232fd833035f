package odrl

import (
	"encoding/json"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
)

// An Evaluation is the result for a Question, with a report of each rule of the policy. The zero Evaluation denies. Its JSON is the
// output of uimgate policy decide.
type Evaluation struct {
	Permit bool
	Reason reason.Reason // empty on permit
	Rule   string        // the deciding rule: uid, or JSON pointer into the document
	Detail string        // for people, never with values of facts
	// Limits are the limits to count before acting under Rule; they are not compared here.
	Limits []limit.Limit
	// Charges are the costs of acting under Rule, duty by duty.
	Charges []Charge
	// Duties are the owed duties: those of Rule not fulfilled, the obligations that bind the party, and the remedies and consequences
	// that became due.
	Duties []Due
	// Rules reports every rule and duty as written, in document order.
	Rules []RuleReport
	// Candidates are all permissions that permit, best first: lowest charge, fewest limits, document order.
	Candidates []string
}

// A Charge is an amount owed under a pay duty.
type Charge struct {
	Amount   string `json:"amount"`   // decimal
	Currency string `json:"currency"` // ISO 4217 if the policy names it by a known name
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

// A State is a value of a report, after the compliance report model of the ODRL community.
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
	Deontic    State  `json:"deonticState,omitempty"` // of duties and prohibitions
	// Premise reports for each part of the rule whether the question fits it; for a duty, whether it binds the party and whether
	// something performed fits its action and target.
	Premise Premise `json:"premise"`
	// Constraints are Satisfied or Unsatisfied by uid, or by JSON pointer; unknown counts as Unsatisfied in a permission and as Satisfied
	// elsewhere. Logical constraints are listed in addition to their operands.
	Constraints map[string]State `json:"constraints"`
}

// Premise has the state of each part of a rule. A field is empty if the rule does not have the part.
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

// MarshalJSON encodes decision, code, rule, limits, charges, duties and report. period_s is null for a calendar month or year, which
// calendar names, and for a limit of all time.
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
