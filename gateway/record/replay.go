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
	// ErrNoLine means that a text is not a line of the audit stream.
	ErrNoLine = errors.New("the line is not an audit record")
	// ErrOtherPolicy means that a call was decided under another policy, or was never decided by a policy.
	ErrOtherPolicy = errors.New("the call was not decided under this policy")
	// ErrWithheld means that a line has digests instead of facts: see NewAudit.
	ErrWithheld = errors.New("the line holds digests for facts")
)

// A Verdict is a decision of the policy alone.
type Verdict struct {
	Decision string        `json:"decision"` // permit or deny
	Code     reason.Reason `json:"code,omitempty"`
	Rule     string        `json:"rule,omitempty"`
}

// A Replay is a decision of the gateway, and the policy's decision on the same facts.
type Replay struct {
	Gateway Verdict `json:"gateway"`
	Policy  Verdict `json:"policy"`
	Same    bool    `json:"same"`
}

// denials are the reasons with which a policy itself denies. The policy permitted the call of a line with any other reason.
var denials = []reason.Reason{
	reason.PolicyViolation, reason.PolicyNotApplicable, reason.PolicyConflict, reason.PolicyRequiresVerification,
}

// ParseLine parses one line of the audit stream. The error is ErrNoLine, or that of a request that cannot be evaluated again.
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

// Replay repeats a decision of the gateway by the policy with a digest alone. Errors: ErrOtherPolicy, ErrWithheld, and those of
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
	late := l.Reason == reason.PolicyRequiresPayment && e.Reason == l.Reason // otherwise the agent's credit did not suffice
	if slices.Contains(denials, l.Reason) || late {
		out.Gateway.Decision, out.Gateway.Code = "deny", l.Reason
	}
	if !e.Permit {
		out.Policy.Decision, out.Policy.Code = "deny", e.Reason
	}
	// Of several permissions the gateway uses the first whose limits and charge were available.
	out.Same = out.Gateway == out.Policy || e.Permit && out.Gateway.Decision == "permit" && slices.Contains(e.Candidates, l.Rule)
	return out, nil
}
