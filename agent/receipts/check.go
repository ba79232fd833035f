package receipts

import (
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/lines"
)

// Check checks the receipt of a call, with the keys of the service that the agent trusts. If the signature verifies and the receipt is for
// this call, Check returns the receipt, even if other values of it differ from the call. Otherwise the receipt is nil. The problems list
// every difference.
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

// compare compares the entry of a call with the agent's record of the call.
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
			report(evidence.ProblemAnswer, "the receipt is for an output that differs from the one that the agent received")
		}
	}
	if c.Replayed { // the call may have been made under an earlier agreement
		return problems
	}
	if differs(e.Policy, c.Policy) && (c.Successor == "" || e.Policy != c.Successor) {
		report(evidence.ProblemPolicy, "the receipt is for a policy that the agent did not agree to, and whose terms for the intent differ")
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

// differs reports whether the value in an entry differs from the value that the agent knows. An entry without the value differs. If the
// agent does not know the value, differs returns false.
func differs(entry, known string) bool { return known != "" && entry != known }

func (c Call) problem(name evidence.ProblemName, format string, args ...any) evidence.Problem {
	return evidence.Problem{Name: name, Where: short(c.Execution), Detail: fmt.Sprintf(format, args...)}
}

// short returns an id for messages, in printable characters and with a limited length, because services choose ids.
func short(id string) string {
	const most = 64
	return lines.Printable(id, most)
}
