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

// An Extra is Rego that the operator writes in addition to a policy: a package uimgate.extra with a rule deny. It can only refuse calls
// that the policy permits. It reads nothing but its input, and must finish within a time limit. It is safe for concurrent use.
type Extra struct {
	query rego.PreparedEvalQuery
	time  time.Duration
}

// ExtraRule is the Rule of a Decision if an Extra denied the call.
const ExtraRule = "data.uimgate.extra.deny"

// A RegoProblem describes why a Rego file cannot be used, and where. Line and Column count from 1; 0 means the whole file.
type RegoProblem struct {
	Line, Column int
	Message      string
}

// MaxExtra is the maximum size of a Rego file in bytes.
const MaxExtra = 1 << 20

// withheld are the prefixes of built-in functions that an Extra may not use, because they read, or could read, something other than the
// input and the time of the decision. The built-ins that OPA calls nondeterministic are excluded as well.
var withheld = []string{
	"http.", "net.", "opa.", "rand.", "uuid.", "io.jwt.", "rego.", "providers.", "time.now_ns", "trace", "print", "internal.print",
	"json.match_schema", "json.verify_schema", "graphql.", "crypto.x509.", "internal.test_case",
}

// extraCapabilities returns the OPA capabilities that an Extra may use.
var extraCapabilities = sync.OnceValue(func() *ast.Capabilities {
	caps := ast.CapabilitiesForThisVersion()
	caps.AllowNet = []string{}
	caps.Builtins = slices.DeleteFunc(slices.Clone(caps.Builtins), func(b *ast.Builtin) bool {
		return b.Nondeterministic || slices.ContainsFunc(withheld, func(start string) bool { return strings.HasPrefix(b.Name, start) })
	})
	return caps
})

// NewExtra compiles the operator's Rego: syntax v1, package uimgate.extra, with a rule deny. name is the file name for messages, and limit
// is the maximum duration of one decision. If there are problems, the Extra is nil.
func NewExtra(ctx context.Context, name string, source []byte, limit time.Duration) (*Extra, []RegoProblem) {
	if len(source) > MaxExtra {
		return nil, []RegoProblem{{Message: fmt.Sprintf("a Rego file may have at most %d bytes; this one has %d", MaxExtra, len(source))}}
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

// Denies evaluates the operator's Rego for a call that the policy permits. The rule deny may be a boolean, or a set or array with an
// element for each reason to deny; if it is undefined, the call is not denied. If an error occurs, Denies returns true with the error. A
// timeout is an error, and so is a deny of any other type.
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
		return true, fmt.Errorf("%w did not finish within %v", errExtra, x.time)
	case err != nil: // OPA's message may contain values from the call
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
		return true, fmt.Errorf("%w: deny must be a boolean, a set or an array", errExtra)
	}
}

// errorCode returns the code and the line of an OPA error. It omits the message, which may contain values.
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

// extraInput returns the input document for the operator's Rego.
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
		return nil, fmt.Errorf("%w: a fact cannot be encoded as JSON", errExtra)
	}
	return v, nil
}
