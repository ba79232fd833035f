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

// maxEvaluated bounds the expressions that are evaluated for one question.
const maxEvaluated = 5_000_000

// A DutyMode selects the duties that a permission waits for.
type DutyMode string

// The duty modes.
const (
	// DutiesFulfilled: every active duty must already be fulfilled. ODRL IM 2.6.5.
	DutiesFulfilled DutyMode = "fulfilled"
	// DutiesNotViolated: no duty may be violated; it may still be open.
	DutiesNotViolated DutyMode = "notViolated"
)

// EvaluateOptions configure Evaluate. The zero value is the stricter choice.
type EvaluateOptions struct {
	DutyMode DutyMode // empty: DutiesFulfilled
	// Steps bounds the expressions of several evaluations together, and counts down; nil: each may take maxEvaluated.
	Steps *int
}

// An evaluation is the part of a Policy that Evaluate needs, made at its first use.
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

// Evaluate decides a question in a state of the world, and reports rule by rule why. It reads every action, operand and duty, and takes
// all facts from q and w: it reads no clock, counter or network, and equal arguments have equal results. It names a limit without
// comparing it, unless the question gives its count. On an error the Evaluation is zero, which denies.
//
// Under a policy from Publish names have the meaning of its World, and the duties that the gateway fulfils count as fulfilled; under one
// from Load, IRIs mean themselves. An Offer, a Request and an Assertion from Load grant nothing.
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

// Input returns the input document for which plain OPA gives the same findings: opa eval with the module, the data of EvaluationData and
// this input, for the query data.uimgate.odrl.evaluation.
func (p *Policy) Input(q Question, w WorldState, o EvaluateOptions) ([]byte, error) {
	return json.Marshal(p.situate(q, w, o).input)
}

// EvaluationData returns the data document that Input belongs to: {"policy": {…}}.
func (p *Policy) EvaluationData() ([]byte, error) {
	return json.Marshal(p.evaluation.rules().RuleData())
}
