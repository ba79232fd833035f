package odrl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// An Extra is the operator's own Rego in addition to a policy: package uimgate.extra, whose deny refuses calls that the policy permits.
// It can only refuse. It reads only its input, and answers within its time. It is safe for concurrent use.
type Extra struct {
	query rego.PreparedEvalQuery
	time  time.Duration
}

// ExtraRule is the name of a denial by an Extra in decisions.
const ExtraRule = "data.uimgate.extra.deny"

// A RegoProblem is why a Rego file cannot be used, and where: line and column count from 1, 0 is the whole file.
type RegoProblem struct {
	Line, Column int
	Message      string
}

// MaxExtra bounds a Rego file in bytes.
const MaxExtra = 1 << 20

// withheld are built-ins, by the start of their names, that reach outside of the input or the decision's time, or that could, in addition
// to all that OPA calls nondeterministic.
var withheld = []string{
	"http.", "net.", "opa.", "rand.", "uuid.", "io.jwt.", "rego.", "providers.", "time.now_ns", "trace", "print", "internal.print",
	"json.match_schema", "json.verify_schema", "graphql.", "crypto.x509.", "internal.test_case",
}

// extraCapabilities are what the operator's Rego may use.
var extraCapabilities = sync.OnceValue(func() *ast.Capabilities {
	caps := ast.CapabilitiesForThisVersion()
	caps.AllowNet = []string{}
	caps.Builtins = slices.DeleteFunc(slices.Clone(caps.Builtins), func(b *ast.Builtin) bool {
		return b.Nondeterministic || slices.ContainsFunc(withheld, func(start string) bool { return strings.HasPrefix(b.Name, start) })
	})
	return caps
})

// NewExtra compiles the operator's Rego (v1 syntax, package uimgate.extra with a rule deny). name is for its messages. limit is the time
// for one decision. If there are problems the Extra is nil.
func NewExtra(ctx context.Context, name string, source []byte, limit time.Duration) (*Extra, []RegoProblem) {
	if len(source) > MaxExtra {
		return nil, []RegoProblem{{Message: fmt.Sprintf("a Rego file has at most %d bytes, this one has %d", MaxExtra, len(source))}}
	}
	caps := extraCapabilities()
	m, err := ast.ParseModuleWithOpts(name, string(source), ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: caps})
	if err != nil {
		return nil, regoProblems(err)
	}
	if m == nil {
		return nil, []RegoProblem{{Message: "the file is empty: want package uimgate.extra with a rule deny"}}
	}
	if want := "data.uimgate.extra"; m.Package.Path.String() != want {
		return nil, []RegoProblem{{
			m.Package.Location.Row, m.Package.Location.Col,
			fmt.Sprintf("want package uimgate.extra, not %s", strings.TrimPrefix(m.Package.Path.String(), "data.")),
		}}
	}
	if !slices.ContainsFunc(m.Rules, func(r *ast.Rule) bool { return r.Head.Ref().String() == "deny" && len(r.Head.Args) == 0 }) {
		return nil, []RegoProblem{{Message: "the package has no rule deny: write deny if { … }, or deny contains message if { … }"}}
	}
	compiler := ast.NewCompiler().WithCapabilities(caps).WithStrict(true)
	if compiler.Compile(map[string]*ast.Module{name: m}); compiler.Failed() {
		return nil, regoProblems(compiler.Errors)
	}
	q, err := rego.New(rego.Query(ExtraRule), rego.Compiler(compiler), rego.StrictBuiltinErrors(true), rego.SetRegoVersion(ast.RegoV1),
		rego.GenerateJSON(rules.AsTerm)).PrepareForEval(ctx)
	if err != nil {
		return nil, regoProblems(err)
	}
	return &Extra{q, limit}, nil
}

func regoProblems(err error) []RegoProblem {
	several, ok := errors.AsType[ast.Errors](err)
	if !ok {
		return []RegoProblem{{Message: err.Error()}}
	}
	const most = 20
	var list []RegoProblem
	for _, e := range several {
		p := RegoProblem{Message: e.Code + ": " + e.Message}
		if e.Location != nil {
			p.Line, p.Column = e.Location.Row, e.Location.Col
		}
		if list = append(list, p); len(list) == most {
			break
		}
	}
	return list
}

var errExtra = errors.New("the operator's Rego")

// Denies evaluates the operator's Rego for a call that the policy permits. deny may be a boolean, or a set or array with an element for
// each reason to deny; undefined does not deny. On an error the result is true. A timeout and a deny of another type are errors.
func (x *Extra) Denies(ctx context.Context, r Request, d Decision) (bool, error) {
	input, err := extraInput(&r, &d)
	if err != nil {
		return true, err
	}
	ctx, cancel := context.WithTimeout(ctx, x.time)
	defer cancel()
	results, err := x.query.Eval(ctx, rego.EvalParsedInput(input), rego.EvalTime(r.Now))
	switch {
	case ctx.Err() != nil:
		return true, fmt.Errorf("%w gave no answer within %v", errExtra, x.time)
	case err != nil: // OPA's message may hold values of the call
		return true, fmt.Errorf("%w could not be evaluated: %s", errExtra, errorCode(err))
	case len(results) == 0:
		return false, nil
	case len(results) != 1 || len(results[0].Expressions) != 1:
		return true, fmt.Errorf("%w: %w", errExtra, rules.ErrUndefined)
	}
	t, _ := results[0].Expressions[0].Value.(*ast.Term)
	if t == nil {
		return true, fmt.Errorf("%w: %w", errExtra, rules.ErrUndefined)
	}
	switch v := t.Value.(type) {
	case ast.Boolean:
		return bool(v), nil
	case ast.Set:
		return v.Len() > 0, nil
	case *ast.Array:
		return v.Len() > 0, nil
	default:
		return true, fmt.Errorf("%w: deny is neither true, false nor a set", errExtra)
	}
}

// errorCode returns the kind and the position of an OPA error, without values.
func errorCode(err error) string {
	e, ok := errors.AsType[*topdown.Error](err)
	if !ok {
		return "OPA failed"
	}
	if e.Location == nil {
		return e.Code
	}
	return fmt.Sprintf("%s at line %d", e.Code, e.Location.Row)
}

// extraInput is the input of the operator's Rego.
func extraInput(r *Request, d *Decision) (ast.Value, error) {
	facts := map[string]any{}
	for k, v := range r.Facts {
		if t, ok := v.(time.Time); ok {
			v = t.UTC().Format(time.RFC3339Nano)
		}
		facts[k] = v
	}
	in := map[string]any{
		"agent": r.AgentID, "key_id": r.KeyID, "intent": r.Intent, "proved": len(r.ProofKey) > 0, "facts": facts, "rule": d.Rule,
		"now": r.Now.UTC().Format(time.RFC3339Nano), "now_ns": json.Number(fmt.Sprint(r.Now.UnixNano())),
	}
	v, err := ast.InterfaceToValue(in)
	if err != nil {
		return nil, fmt.Errorf("%w: a fact is not a JSON value", errExtra)
	}
	return v, nil
}
