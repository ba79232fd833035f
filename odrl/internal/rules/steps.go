package rules

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

// Steps limits the number of expressions that OPA evaluates; OPA takes a step before each expression. How much of a policy is evaluated
// therefore depends on the policy and not on the load of the machine. Steps can serve several evaluations, but not concurrently.
type Steps struct {
	ctx   context.Context //nolint:containedctx // Steps live as long as one Publish or one question
	left  int
	ended bool // ctx is done
}

// NewSteps returns Steps for at most maxSteps expressions, each of about a microsecond. The Steps also end when ctx is done.
func NewSteps(ctx context.Context, maxSteps int) *Steps { return &Steps{ctx: ctx, left: maxSteps} }

// Cancelled takes a step and reports whether the evaluation must stop. OPA calls it.
func (s *Steps) Cancelled() bool {
	if s.left--; s.left%1024 == 0 {
		s.ended = s.ctx.Err() != nil
	}
	return s.left < 0 || s.ended
}

// Cancel ends the evaluation. OPA requires this method.
func (s *Steps) Cancel() { s.left = -1 }

// Exhausted reports whether all steps have been taken.
func (s *Steps) Exhausted() bool { return s.left < 0 }

// Left returns how many steps are left.
func (s *Steps) Left() int { return max(s.left, 0) }

// Ask is like the function Ask, but stops when no steps are left.
func (s *Steps) Ask(q *rego.PreparedEvalQuery, input ast.Value) (ast.Object, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, fmt.Errorf("evaluating the policy: %w", err)
	}
	return ask(s.ctx, q, rego.EvalParsedInput(input), rego.EvalExternalCancel(s))
}
