package rules

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

//go:embed *.rego
var files embed.FS

// Modules returns the source of each module by file name. constraints.rego and levels.rego judge constraints. Decide and Terms query
// semantics.rego; Evaluate queries report.rego.
var Modules = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	for _, name := range []string{"constraints.rego", "levels.rego", "report.rego", "semantics.rego"} {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // cannot happen: the file is embedded
		}
		texts[name] = string(text)
	}
	texts["levels.rego"] = levels(texts["levels.rego"])
	return texts
})

// levels adds the rules of all other levels of nesting to the source of levels.rego, which has only those of the first.
func levels(first string) string {
	head, rules, _ := strings.Cut(first, "# --- level 1\n")
	before, entries, _ := strings.Cut(head, "package uimgate.odrl\n")
	text := [2]strings.Builder{}
	for k := 1; k <= model.MaxNesting; k++ {
		this, below := strconv.Itoa(k), strconv.Itoa(k-1)
		number := strings.NewReplacer("_0", "_"+below, "_1", "_"+this, "level == 1", "level == "+this, "_at(1,", "_at("+this+",")
		text[0].WriteString(strings.TrimSuffix(number.Replace(entries), "\n"))
		text[1].WriteString("\n# --- level " + this + "\n" + number.Replace(rules))
	}
	return before + "package uimgate.odrl\n" + text[0].String() + text[1].String()
}

// builtins are the only built-in functions that the modules may call: each is pure, and fast for any argument. The list stays valid when
// OPA adds functions.
var builtins = []string{
	"eq", "equal", "neq", "lt", "lte", "gt", "gte", "assign", "count", "concat", "startswith", "internal.member_2", "is_array",
	"is_number", "is_string",
}

// Module returns all modules, compiled once for all policies. Each process that loads a policy compiles them. OPA's search for recursive
// rules would take a quarter of that time. The modules do not change, so only a test runs that search.
var Module = sync.OnceValues(func() (*ast.Compiler, error) {
	return compile(Modules(), ast.StageCheckRecursion)
})

// compile compiles modules, without some stages.
func compile(texts map[string]string, without ...ast.StageID) (*ast.Compiler, error) {
	caps := ast.CapabilitiesForThisVersion()
	caps.AllowNet = []string{}
	caps.Builtins = slices.DeleteFunc(slices.Clone(caps.Builtins), func(b *ast.Builtin) bool { return !slices.Contains(builtins, b.Name) })
	parsed := map[string]*ast.Module{}
	for name, text := range texts {
		m, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: caps})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		parsed[name] = m
	}
	c := ast.NewCompiler().WithCapabilities(caps).WithStrict(true).WithSkipStages(without...)
	if c.Compile(parsed); c.Failed() {
		return nil, fmt.Errorf("compiling the policy modules: %w", c.Errors)
	}
	return c, nil
}

// An engine queries the modules about one policy. It is safe for concurrent use.
type engine struct {
	Data                            map[string]any
	Compiler                        *ast.Compiler
	Store                           storage.Store
	Outcome, Terms, Reasons, Leaves rego.PreparedEvalQuery
}

// newEngine prepares the queries over the policy's data.
func newEngine(ctx context.Context, data map[string]any) (*engine, error) {
	compiler, err := Module()
	if err != nil {
		return nil, err
	}
	store := inmem.NewFromObjectWithOpts(data, inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true))
	e := &engine{Data: data, Compiler: compiler, Store: store}
	for query, into := range map[string]*rego.PreparedEvalQuery{
		"outcome": &e.Outcome, "terms": &e.Terms, "reasons": &e.Reasons,
		"leaves": &e.Leaves,
	} {
		*into, err = rego.New(
			rego.Query("data.uimgate.odrl."+query), rego.Compiler(compiler), rego.Store(store), rego.StoreReadAST(true),
			rego.StrictBuiltinErrors(true), rego.SetRegoVersion(ast.RegoV1), rego.GenerateJSON(AsTerm),
		).PrepareForEval(ctx)
		if err != nil {
			return nil, fmt.Errorf("preparing %s: %w", query, err)
		}
	}
	return e, nil
}

// AsTerm returns a result as OPA's own value, without converting it.
func AsTerm(t *ast.Term, _ *rego.EvalContext) (any, error) { return t, nil }

// ErrUndefined means that OPA returned no result, or one of the wrong type.
var ErrUndefined = errors.New("the policy engine returned no valid result")

// Ask evaluates a query that returns exactly one object. For any other result, the error is ErrUndefined; if the evaluation fails, the
// error wraps that of OPA.
func Ask(ctx context.Context, q *rego.PreparedEvalQuery, input ast.Value) (ast.Object, error) {
	return ask(ctx, q, rego.EvalParsedInput(input))
}

func ask(ctx context.Context, q *rego.PreparedEvalQuery, options ...rego.EvalOption) (ast.Object, error) {
	results, err := q.Eval(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("evaluating the policy: %w", err)
	}
	if len(results) != 1 || len(results[0].Expressions) != 1 {
		return nil, ErrUndefined
	}
	t, ok := results[0].Expressions[0].Value.(*ast.Term)
	if !ok {
		return nil, ErrUndefined
	}
	o, ok := t.Value.(ast.Object)
	if !ok {
		return nil, ErrUndefined
	}
	return o, nil
}

// SetIn returns the set with the given key in a result. If there is none, the error is ErrUndefined.
func SetIn(o ast.Object, key string) (ast.Set, error) {
	t := o.Get(ast.InternedTerm(key))
	if t == nil {
		return nil, ErrUndefined
	}
	set, ok := t.Value.(ast.Set)
	if !ok {
		return nil, ErrUndefined
	}
	return set, nil
}

// NumbersIn returns the rule numbers in the set with the given key in a result.
func NumbersIn(o ast.Object, key string) (map[int]bool, error) {
	set, err := SetIn(o, key)
	if err != nil {
		return nil, err
	}
	list := make(map[int]bool, set.Len())
	err = set.Iter(func(t *ast.Term) error {
		num, ok := t.Value.(ast.Number)
		if !ok {
			return ErrUndefined
		}
		i, ok := num.Int()
		if !ok {
			return ErrUndefined
		}
		list[i] = true
		return nil
	})
	return list, err
}
