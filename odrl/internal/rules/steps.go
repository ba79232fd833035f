package rules

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

// Steps counts what OPA evaluates: before each expression OPA asks whether it must stop. So how much of a policy is evaluated depends on
// the policy, and not on the load of the machine. It is for one evaluation after another.
type Steps struct {
	ctx   context.Context //nolint:containedctx // Steps live as long as one Publish or one question
	left  int
	ended bool // ctx has ended
}

// NewSteps permits n expressions, of about a microsecond each, until ctx ends.
func NewSteps(ctx context.Context, most int) *Steps { return &Steps{ctx: ctx, left: most} }

// Cancelled takes one step. OPA calls it.
func (s *Steps) Cancelled() bool {
	if s.left--; s.left%1024 == 0 {
		s.ended = s.ctx.Err() != nil
	}
	return s.left < 0 || s.ended
}

// Cancel ends the evaluation. OPA asks for it.
func (s *Steps) Cancel() { s.left = -1 }

// Exhausted reports whether an evaluation was ended because all steps were taken.
func (s *Steps) Exhausted() bool { return s.left < 0 }

// Left returns how many steps are left.
func (s *Steps) Left() int { return max(s.left, 0) }

// Ask is Ask within the steps.
func (s *Steps) Ask(q *rego.PreparedEvalQuery, input ast.Value) (ast.Object, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, fmt.Errorf("evaluating the policy: %w", err)
	}
	return ask(s.ctx, q, rego.EvalParsedInput(input), rego.EvalExternalCancel(s))
}
