package receipts

import (
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/lines"
)

// Check checks the receipt of a call, with the keys of the service that the agent trusts. It returns the receipt if its signature verifies
// and it is about this call, even if it contradicts the call in another respect; otherwise nil.
func Check(text string, trusted evidence.KeySet, c Call) (*evidence.Receipt, []evidence.Problem) {
	r, err := evidence.ParseReceipt(text)
	if err == nil {
		err = r.Verify(trusted)
	}
	switch {
	case errors.Is(err, evidence.ErrKey):
		return nil, []evidence.Problem{c.problem(evidence.ProblemKey, "the key of the receipt is not a key that this agent trusts")}
	case err != nil:
		return nil, []evidence.Problem{c.problem(evidence.ProblemSignature, "%v", err)}
	}
	e := &r.Entry
	if e.Kind != evidence.KindCharge || e.Issuer != c.Issuer || e.Account.Agent != string(c.Agent) {
		return nil, []evidence.Problem{c.problem(evidence.ProblemAgreement, "the receipt is for another service or another agent")}
	}
	if e.ID != c.Execution {
		return nil, []evidence.Problem{c.problem(evidence.ProblemUnknown, "the receipt is for the execution %s", short(e.ID))}
	}
	return &r, c.compare(e)
}

// Compare compares an entry of a call with what the agent knows of it.
func (c Call) compare(e *evidence.Entry) (problems []evidence.Problem) {
	report := func(name evidence.ProblemName, format string, args ...any) {
		problems = append(problems, c.problem(name, format, args...))
	}
	if e.Amount != c.Amount {
		report(evidence.ProblemAmount, "the receipt is for %s, and UIM-Charge for %s", e.Amount, c.Amount)
	}
	if c.settled() && e.To != c.State {
		report(evidence.ProblemState, "the receipt is for a charge that is %s, and UIM-Charge states %s", e.To, c.State)
	}
	if differs(e.Request, c.Request) {
		report(evidence.ProblemRequest, "the receipt is for a call with another intent or other parameters")
	}
	if e.To == evidence.StateCaptured {
		answer := c.Answer
		if e.AnswerForm == evidence.FormCanonical {
			answer = c.Canonical
		}
		if differs(e.Answer, answer) {
			report(evidence.ProblemAnswer, "the receipt is for another output than the agent received")
		}
	}
	if c.Replayed { // the call was made under the agreement of that time
		return problems
	}
	if differs(e.Policy, c.Policy) && (c.Successor == "" || e.Policy != c.Successor) {
		report(evidence.ProblemPolicy, "the receipt is for another policy than the agent agreed to, and not one with the same terms of the intent")
	}
	if differs(e.Agreement, c.Agreement) || differs(e.Token, string(c.Token)) || e.KeyID != "" && differs(e.KeyID, string(c.KeyID)) {
		report(evidence.ProblemAgreement, "the receipt is for another agreement, PAT or key of the agent")
	}
	return problems
}

// settled reports whether the charge was final.
func (c Call) settled() bool {
	return c.State == evidence.StateCaptured || c.State == evidence.StateReleased
}

// differs reports whether an entry contains another value than the agent knows. An entry without the value differs.
func differs(entry, known string) bool { return known != "" && entry != known }

func (c Call) problem(name evidence.ProblemName, format string, args ...any) evidence.Problem {
	return evidence.Problem{Name: name, Where: short(c.Execution), Detail: fmt.Sprintf(format, args...)}
}

// short returns an id for messages. Services choose ids.
func short(id string) string {
	const most = 64
	return lines.Printable(id, most)
}
