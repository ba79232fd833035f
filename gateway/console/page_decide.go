package console

import (
	"cmp"
	"encoding/json"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
)

// decideForm decides a call again.
func (r *request) decideForm(id, policy, facts string) form {
	if policy == "" {
		if s, err := r.current(); err == nil && len(html.EscapeString(string(s.Offer().Bytes))) <= mostPolicy {
			policy = string(s.Offer().Bytes)
		}
	}
	return form{
		Path: r.address(at("calls", id, "decide")), Title: "Decide it again", Button: "Decide", Wide: true,
		Text: "How would this policy decide the call? Nothing is changed. Limits, credit and stops are not part of the answer.", Fields: []field{
			{
				ID: "policy", Name: "policy", Label: "Policy", Type: "textarea", Value: policy,
				Hint: "Edit it, or leave it empty for the one in force.",
			},
			{
				ID: "facts", Name: "facts", Label: "Other facts", Type: "textarea", Value: facts,
				Hint: "One per line, such as purpose = \"research\". null removes a fact.",
			},
		},
	}
}

// decide shows how a policy decides a call again.
func (r *request) decide() error {
	id, policy, other := r.PathValue("id"), strings.TrimSpace(r.lines("policy")), r.lines("facts")
	list, err := r.console.Operator.Calls.Why(r.Context(), calls.RequestRecord{ID: id})
	if err != nil {
		return err
	}
	r.of = list.Items[len(list.Items)-1].Service
	ask := policies.DecideRequest{Service: r.of, RequestID: id, Policy: policy, Facts: factsOf(other)}
	d, err := r.console.Operator.Policies.Decide(r.Context(), ask)
	if err != nil {
		return err
	}
	out := section{Title: "The decision", Facts: decisionFacts(r, &d)}
	if d.Recorded != nil {
		out.Text = "The gateway made a different decision."
		if d.Recorded.Same {
			out.Text = "The gateway made the same decision."
		}
	}
	return r.show(http.StatusOK, pageView{Title: "Request " + id, Sections: []section{
		out,
		{Title: "Clause by clause", Table: clauseTable(d.Constraints)},
		{Title: "Decide it again", Forms: []form{r.decideForm(id, policy, other)}},
		{Facts: []fact{{"Recorded", link("Why the gateway decided as it did", r.address(at("calls", id)))}}},
	}})
}

// clauseTable compares the constraints of the rules about an intent with the facts.
func clauseTable(constraints []policies.ConstraintState) *table {
	t := table{
		Caption: "Constraints of the rules about the intent", Empty: "No rule about the intent has a constraint.",
		Columns: heads("Constraint", "State", "Wanted", "Found", "Rule"),
	}
	if more := len(constraints) - mostRules; more > 0 {
		t.Caption += ". " + strconv.Itoa(more) + " further constraints are not shown here: uimgate why --again lists all."
	}
	for _, c := range constraints[:min(len(constraints), mostRules)] {
		found := "unknown"
		if c.Found != nil {
			found = jsonText(c.Found)
		}
		state := cell{Text: c.State, State: map[string]string{"satisfied": "ok", "unsatisfied": "bad"}[c.State]}
		wanted := strings.TrimSpace(c.Operator + " " + strings.Join(c.Wanted, ", ") + " " + c.Unit)
		t.Rows = append(t.Rows, []cell{text(cmp.Or(c.Name, c.Operand)), state, text(wanted), code(found), text(c.Type + " " + c.Rule)})
	}
	return &t
}

func decisionFacts(r *request, d *policies.PolicyDecision) []fact {
	return facts(
		fact{"Decision", decisionCell(d.Decision)}, fact{"Reason", text(string(d.Reason))}, fact{"Rule", text(d.Rule)},
		fact{"Not met", text(d.Detail)}, fact{"Charge", text(d.Charge)}, fact{"Limits", text(strings.Join(d.Limits, ", "))},
		fact{"Duties", text(strings.Join(d.Duties, ", "))}, fact{"Without a value", text(strings.Join(d.Unknown, ", "))},
		fact{"Policy", text(d.Policy.UID)}, fact{"Digest", code(d.Policy.Digest)}, fact{"As of", when(d.At)},
		fact{"Agent", r.agentCell(d.AgentID)}, fact{"Intent", text(d.Intent)},
	)
}

func jsonText(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(out)
}

// factsOf reads one fact from each line: a name, = and a value. A value that is not JSON is a string.
func factsOf(lines string) map[string]any {
	var out map[string]any
	for line := range strings.Lines(lines) {
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = policies.FactOf(strings.TrimSpace(value))
	}
	return out
}

// decideAction is a function, because the page that it shows depends on the list of all actions.
func decideAction() action {
	return action{path: "calls/{id}/decide", operation: operation.Decide.Name(), show: (*request).decide}
}
