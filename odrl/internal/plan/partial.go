package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"

	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// maxResidual is the maximum length of the text of a residual in bytes. A policy with a longer residual is evaluated by OPA.
const maxResidual = 1 << 20

// residualQuery queries all results of a plan, and each constraint separately.
const residualQuery = `x = {"outcome": data.uimgate.odrl.outcome, "reasons": data.uimgate.odrl.reasons, ` +
	`"leaves": {"holds": data.uimgate.odrl.holds_0, "fails": data.uimgate.odrl.fails_0}}`

// A Residual is the semantics module, partially evaluated for one policy with only the input unknown.
type Residual struct {
	Result  ast.Object // objects of sets, which are literals or references to rules
	Modules []*ast.Module
}

var errResidual = errors.New("partial evaluation")

// partially evaluates the semantics module over the policy's data in at most maxSteps steps, with only the input unknown. If the residual
// is not closed, it returns the residual with an error.
func partially(ctx context.Context, compiler *ast.Compiler, store storage.Store, maxSteps int) (*Residual, error) {
	query, err := rego.New(
		rego.Query(residualQuery), rego.Compiler(compiler), rego.Store(store), rego.StoreReadAST(true),
		rego.StrictBuiltinErrors(true), rego.SetRegoVersion(ast.RegoV1), rego.Unknowns([]string{"input"}),
	).PrepareForPartial(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errResidual, err)
	}
	steps := rules.NewSteps(ctx, maxSteps)
	queries, err := query.Partial(ctx, rego.EvalExternalCancel(steps))
	switch {
	case steps.Exhausted():
		return nil, fmt.Errorf("%w takes more than %d steps", errResidual, maxSteps)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w was stopped", errResidual)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errResidual, err)
	}
	r := &Residual{Modules: queries.Support}
	slices.SortFunc(r.Modules, func(a, b *ast.Module) int { return strings.Compare(a.Package.String(), b.Package.String()) })
	if err := r.read(queries.Queries); err != nil {
		return nil, err
	}
	return r, r.closed()
}

// read sets Result to the value of x. It returns an error if the query contains a condition in addition to such assignments.
func (r *Residual) read(queries []ast.Body) error {
	if len(queries) != 1 {
		return fmt.Errorf("%w returns %d results", errResidual, len(queries))
	}
	for _, expr := range queries[0] {
		if !expr.IsEquality() || expr.Negated || len(expr.With) > 0 {
			return fmt.Errorf("%w leaves the condition %v", errResidual, expr)
		}
		name, ok := expr.Operand(0).Value.(ast.Var)
		o, isObject := expr.Operand(1).Value.(ast.Object)
		if !ok || !isObject {
			return fmt.Errorf("%w leaves the condition %v", errResidual, expr)
		}
		if name == "x" {
			r.Result = o
		}
	}
	if r.Result == nil {
		return fmt.Errorf("%w returns no result", errResidual)
	}
	return nil
}

// closed checks that the residual has at most maxResidual bytes of text and refers only to the input and to its own rules. A reference to
// the general module means that OPA could not evaluate a part of it, which a plan must not hide.
func (r *Residual) closed() error {
	own := ast.MustParseRef("data.partial")
	var foreign ast.Ref
	vis := ast.NewGenericVisitor(func(x any) bool {
		if ref, ok := x.(ast.Ref); ok && ref.HasPrefix(ast.DefaultRootRef) && !ref.HasPrefix(own) && foreign == nil {
			foreign = ref
		}
		return foreign != nil
	})
	vis.Walk(r.Result)
	size := 0
	for _, m := range r.Modules {
		for _, rule := range m.Rules {
			if size += len(rule.String()); size > maxResidual {
				return fmt.Errorf("%w leaves more than %d bytes", errResidual, maxResidual)
			}
			vis.Walk(rule)
		}
	}
	if foreign != nil {
		return fmt.Errorf("%w leaves a reference to %s", errResidual, foreign)
	}
	return nil
}
