package odrl

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// maxEvaluated is the maximum number of expressions that are evaluated for one question.
const maxEvaluated = 5_000_000

// A DutyMode defines the state that the duties of a permission must be in.
type DutyMode string

// The duty modes.
const (
	// DutiesFulfilled requires that every active duty is already fulfilled (ODRL IM 2.6.5).
	DutiesFulfilled DutyMode = "fulfilled"
	// DutiesNotViolated requires only that no duty is violated; a duty may still be open.
	DutiesNotViolated DutyMode = "notViolated"
)

// EvaluateOptions configure Evaluate. The zero value uses the stricter mode, DutiesFulfilled.
type EvaluateOptions struct {
	DutyMode DutyMode // empty means DutiesFulfilled
	// Steps is a budget of expressions that several evaluations share: Evaluate subtracts the expressions that it evaluated. A single
	// evaluation never exceeds its own maximum of 5 million expressions, which is the only bound if Steps is nil. An evaluation that needs
	// more is an error, but the steps that it used are still subtracted.
	Steps *int
}

// An evaluation is the part of a Policy that Evaluate, Input and EvaluationData need. Each piece is prepared when it is first used.
type evaluation struct {
	rules    func() *rules.Evaluable
	prepared sync.Once
	query    rego.PreparedEvalQuery
	err      error
}

func newEvaluation(f *model.NormalForm, w *rules.Catalog) *evaluation {
	return &evaluation{rules: sync.OnceValue(func() *rules.Evaluable { return rules.NewEvaluable(f, w) })}
}

func (v *evaluation) prepare(ctx context.Context) error {
	v.prepared.Do(func() {
		compiler, err := rules.Module()
		if err != nil {
			v.err = err
			return
		}
		store := inmem.NewFromObjectWithOpts(v.rules().RuleData(), inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true))
		v.query, v.err = rego.New(
			rego.Query("data.uimgate.odrl.evaluation"), rego.Compiler(compiler), rego.Store(store), rego.StoreReadAST(true),
			rego.StrictBuiltinErrors(true), rego.SetRegoVersion(ast.RegoV1), rego.GenerateJSON(rules.AsTerm),
		).PrepareForEval(context.WithoutCancel(ctx)) // the result outlives the first caller
	})
	return v.err
}

// Evaluate decides a question for a state of the world, and reports on each rule. It supports every action, operand and duty, and takes all
// facts from q and w: it uses no clock, counter or network, and equal arguments give equal results. It reports a limit without comparing
// it, unless the question gives the count. If Evaluate returns an error, the Evaluation is zero, which denies.
//
// In a policy from Publish, names refer to the World of the policy, and the duties that the gateway itself fulfils count as fulfilled. In a
// policy from Load, an IRI refers only to itself, and an Offer, a Request or an Assertion grants nothing.
func (p *Policy) Evaluate(ctx context.Context, q Question, w WorldState, o EvaluateOptions) (Evaluation, error) {
	if err := p.evaluation.prepare(ctx); err != nil {
		return Evaluation{}, err
	}
	e := p.evaluation.rules()
	s := p.situate(q, w, o)
	in, err := ast.InterfaceToValue(s.input)
	if err != nil {
		return Evaluation{}, fmt.Errorf("evaluating the policy: %w", err)
	}
	most := maxEvaluated
	if o.Steps != nil {
		most = min(most, max(*o.Steps, 0))
	}
	steps := rules.NewSteps(ctx, most)
	answer, err := steps.Ask(&p.evaluation.query, in)
	if o.Steps != nil {
		*o.Steps -= most - steps.Left()
	}
	if steps.Exhausted() {
		return Evaluation{}, fmt.Errorf("evaluating the policy takes more than %d steps", most)
	}
	if err != nil {
		return Evaluation{}, err
	}
	v := &verdict{e: e, p: p, s: s}
	if err := v.read(answer); err != nil {
		return Evaluation{}, err
	}
	return v.evaluation(), nil
}

// Input returns the input document with which plain OPA gives the same results: run opa eval with the semantics modules, the data of
// EvaluationData and this input, and query data.uimgate.odrl.evaluation. Bundle writes the modules and the data.
func (p *Policy) Input(q Question, w WorldState, o EvaluateOptions) ([]byte, error) {
	return json.Marshal(p.situate(q, w, o).input)
}

// EvaluationData returns the data document for Input: {"policy": {…}}.
func (p *Policy) EvaluationData() ([]byte, error) {
	return json.Marshal(p.evaluation.rules().RuleData())
}
