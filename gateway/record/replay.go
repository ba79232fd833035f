package record

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

// Errors of Replay.
var (
	// ErrNoLine means that the text passed to ParseLine is not a line of the audit stream.
	ErrNoLine = errors.New("the line is not an audit record")
	// ErrOtherPolicy means that another policy or a rule of the operator decided the call, or that there was no decision.
	ErrOtherPolicy = errors.New("this policy did not decide the call")
	// ErrWithheld means that a line contains digests instead of facts; see AuditOptions.Parameters.
	ErrWithheld = errors.New("the line contains digests instead of facts, so the decision cannot be repeated")
)

// A Verdict is a decision of the policy alone.
type Verdict struct {
	Decision string        `json:"decision"` // permit or deny
	Code     reason.Reason `json:"code,omitempty"`
	Rule     string        `json:"rule,omitempty"`
}

// A Replay compares a decision of the gateway with the decision of the policy alone on the same facts.
type Replay struct {
	Gateway Verdict `json:"gateway"`
	Policy  Verdict `json:"policy"`
	Same    bool    `json:"same"`
}

// denials are the reasons for which a policy itself denies a call. For any other reason, the policy permitted the call.
var denials = []reason.Reason{
	reason.PolicyViolation, reason.PolicyNotApplicable, reason.PolicyConflict, reason.PolicyRequiresVerification,
}

// ParseLine parses one line of the audit stream. It returns ErrNoLine, or an error that wraps odrl.ErrQuestion or odrl.ErrWorldState if the
// recorded request cannot be evaluated again.
func ParseLine(text []byte) (Line, error) {
	var l Line
	err := json.Unmarshal(text, &l)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, odrl.ErrQuestion), errors.Is(err, odrl.ErrWorldState):
		return Line{}, err
	default:
		return Line{}, ErrNoLine
	}
}

// Replay evaluates the policy p again for a recorded call. digest is the digest of p. It returns ErrOtherPolicy, ErrWithheld or an error of
// odrl.Policy.Evaluate.
func (l *Line) Replay(ctx context.Context, p *odrl.Policy, digest string) (Replay, error) {
	switch {
	case l.Request == nil || l.Digest != digest || l.Rule == odrl.ExtraRule || l.Rule == execute.ProofRule:
		return Replay{}, ErrOtherPolicy
	case len(l.FactsSHA256) > 0:
		return Replay{}, ErrWithheld
	}
	e, err := p.Evaluate(ctx, l.Request.Question, l.Request.World, odrl.EvaluateOptions{DutyMode: l.Request.DutyMode})
	if err != nil {
		return Replay{}, err
	}
	out := Replay{Gateway: Verdict{"permit", "", l.Rule}, Policy: Verdict{"permit", "", e.Rule}}
	late := l.Reason == reason.PolicyRequiresPayment && e.Reason == l.Reason // otherwise the agent's credit was insufficient
	if slices.Contains(denials, l.Reason) || late {
		out.Gateway.Decision, out.Gateway.Code = "deny", l.Reason
	}
	if !e.Permit {
		out.Policy.Decision, out.Policy.Code = "deny", e.Reason
	}
	// If several permissions apply, the gateway uses the first whose limits and charge are available.
	out.Same = out.Gateway == out.Policy || e.Permit && out.Gateway.Decision == "permit" && slices.Contains(e.Candidates, l.Rule)
	return out, nil
}
