package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A formulaReader converts the rules of a residual into formulas. It supports comparisons, membership, negation, and references to the
// input and the residual's own rules. For anything else, it returns an error that names the unsupported part.
type formulaReader struct {
	*builder
	rules map[string][]*ast.Rule // by reference
	calls map[string]*formula    // by reference and arguments
	fresh int
}

// A scope holds the values of the bound variables.
type scope map[ast.Var]*expr

// with returns the scope with one more variable.
func (s scope) with(v ast.Var, e *expr) scope {
	out := make(scope, len(s)+1)
	maps.Copy(out, s)
	out[v] = e
	return out
}

func newReading(r *Residual) *formulaReader {
	x := &formulaReader{builder: newBuilder(), rules: map[string][]*ast.Rule{}, calls: map[string]*formula{}}
	for _, m := range r.Modules {
		for _, rule := range m.Rules {
			name := m.Package.Path.Extend(rule.Head.Ref().GroundPrefix()).String()
			x.rules[name] = append(x.rules[name], rule)
		}
	}
	return x
}

// Unplanned returns the error for something that no plan supports.
func Unplanned(format string, args ...any) error { return fmt.Errorf("no plan: "+format, args...) }

// A setEntry is an element of a set: the set contains the element if the formula is true.
type setEntry struct {
	head *ast.Term
	when *formula
}

// set reads a set of the result: a literal, or a reference to a rule of the residual.
func (x *formulaReader) set(t *ast.Term) ([]setEntry, error) {
	switch v := t.Value.(type) {
	case ast.Set:
		list := make([]setEntry, 0, v.Len())
		for _, head := range v.Slice() {
			if !head.IsGround() {
				return nil, Unplanned("a set with the element %v", head)
			}
			list = append(list, setEntry{head, x.truth(true)})
		}
		return list, nil
	case ast.Ref:
		rules, ok := x.rules[v.String()]
		if !ok {
			return nil, Unplanned("the result %v", v)
		}
		return x.entries(rules)
	default:
		return nil, Unplanned("the result %v", t)
	}
}

func (x *formulaReader) entries(rules []*ast.Rule) ([]setEntry, error) {
	list := make([]setEntry, 0, len(rules))
	for _, rule := range rules {
		head := rule.Head
		if head.RuleKind() != ast.MultiValue || rule.Default || rule.Else != nil || len(head.Args) > 0 || !head.Key.IsGround() {
			return nil, Unplanned("the rule head %v", head)
		}
		when, err := x.body(rule.Body, scope{}, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, setEntry{head.Key, when})
	}
	return list, nil
}

// call returns the formula for a rule or function of the residual whose value can only be true.
func (x *formulaReader) call(ref ast.Ref, args []*expr) (*formula, error) {
	if rules, ok := x.rules[ref.String()]; ok {
		return x.application(ref.String(), rules, args)
	}
	if rules, ok := x.rules[ref[:len(ref)-1].String()]; ok && len(args) == 0 && ref[len(ref)-1].IsGround() { // element of a set
		list, err := x.entries(rules)
		if err != nil {
			return nil, err
		}
		var when []*formula
		for _, e := range list {
			if e.head.Equal(ref[len(ref)-1]) {
				when = append(when, e.when)
			}
		}
		return x.some(when...), nil
	}
	return nil, Unplanned("the reference %v", ref)
}

func (x *formulaReader) application(name string, rules []*ast.Rule, args []*expr) (*formula, error) {
	key, depth := name, 0
	for _, a := range args {
		key += fmt.Sprint(" ", a.id)
		for depth < 64 && a.free>>depth != 0 {
			depth++
		}
	}
	if f, ok := x.calls[key]; ok {
		if f == nil {
			return nil, Unplanned("the recursive rule %s", name)
		}
		return f, nil
	}
	x.calls[key] = nil
	bodies := make([]*formula, 0, len(rules))
	for _, rule := range rules {
		f, err := x.applied(rule, args, depth)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, f)
	}
	f := x.some(bodies...)
	x.calls[key] = f
	return f, nil
}

func (x *formulaReader) applied(rule *ast.Rule, args []*expr, depth int) (*formula, error) {
	head := rule.Head
	if head.RuleKind() != ast.SingleValue || rule.Default || rule.Else != nil || len(head.Args) != len(args) ||
		head.Value == nil || !head.Value.Equal(ast.InternedTerm(true)) {
		return nil, Unplanned("the rule head %v", head)
	}
	env := scope{}
	var conditions []*formula
	for i, a := range head.Args {
		v, isVar := a.Value.(ast.Var)
		bound, twice := env[v]
		switch {
		case isVar && !twice:
			env = env.with(v, args[i])
			conditions = append(conditions, x.exprDefined(args[i]))
		case isVar:
			conditions = append(conditions, x.compare(equalTo, bound, args[i]))
		case a.IsGround():
			c, err := x.term(a, env)
			if err != nil {
				return nil, err
			}
			conditions = append(conditions, x.compare(equalTo, c, args[i]))
		default:
			return nil, Unplanned("the argument %v", a)
		}
	}
	body, err := x.body(rule.Body, env, depth)
	if err != nil {
		return nil, err
	}
	return x.all(append(conditions, body)...), nil
}

// exprDefined returns a formula that is true if e has a value: an argument without a value leaves a call undefined.
func (x *formulaReader) exprDefined(e *expr) *formula {
	if e.op == eConstant || e.op == eElement || e.op == eKey {
		return x.truth(true)
	}
	return x.formula(formula{op: fDefined, a: e})
}

// body returns the formula for a conjunction. It takes the expressions in the given order, but postpones those that need a variable that
// is not bound yet.
func (x *formulaReader) body(list []*ast.Expr, env scope, depth int) (*formula, error) {
	if len(x.formulas) > maxFormulas {
		return nil, errTooLarge
	}
	rest := slices.Clone(list)
	var out []*formula
	for len(rest) > 0 {
		at := slices.IndexFunc(rest, func(e *ast.Expr) bool { return x.ready(e, rest, env) })
		if at < 0 {
			return nil, Unplanned("the expression %v", rest[0])
		}
		e := rest[at]
		if len(e.With) > 0 {
			return nil, Unplanned("the expression %v", e)
		}
		if e.Negated {
			f, err := x.body([]*ast.Expr{e.Complement()}, env, depth)
			if err != nil {
				return nil, err
			}
			out = append(out, x.not(f))
			rest = slices.Delete(rest, at, at+1)
			continue
		}
		if g, ok := x.generator(e, env); ok {
			f, err := x.generated(g, rest, at, env, depth)
			if err != nil {
				return nil, err
			}
			return x.all(append(out, f)...), nil
		}
		f, bound, err := x.positive(e, env)
		if err != nil {
			return nil, err
		}
		out, env = append(out, f), bound
		rest = slices.Delete(rest, at, at+1)
	}
	return x.all(out...), nil
}

// A generator is the part of a reference up to its first unbound variable, which ranges over the values there.
type generator struct {
	list ast.Ref
	key  *ast.Term
}

// generated returns a formula that is true if the rest of a body is true for at least one value of a generator.
func (x *formulaReader) generated(g generator, rest []*ast.Expr, at int, env scope, depth int) (*formula, error) {
	if depth >= 64 {
		return nil, errTooLarge
	}
	list, err := x.term(ast.NewTerm(g.list), env)
	if err != nil {
		return nil, err
	}
	x.fresh++
	v := ast.Var(fmt.Sprint("element ", x.fresh)) // no variable in Rego contains a space
	inner := env.with(v, x.expr(expr{op: eElement, n: depth, free: 1 << depth}))
	if key, ok := g.key.Value.(ast.Var); ok && !key.IsWildcard() {
		inner = inner.with(key, x.expr(expr{op: eKey, n: depth, free: 1 << depth}))
	}
	rest = slices.Clone(rest)
	if rest[at], err = replaced(rest[at], g, v); err != nil {
		return nil, err
	}
	body, err := x.body(rest, inner, depth+1)
	if err != nil {
		return nil, err
	}
	return x.exists(list, depth, body), nil
}

// replaced replaces the first reference over which the generator ranges with the variable.
func replaced(e *ast.Expr, g generator, v ast.Var) (*ast.Expr, error) {
	done := false
	out, err := ast.Transform(ast.NewGenericTransformer(func(node any) (any, error) {
		ref, ok := node.(ast.Ref)
		if !ok || done || len(ref) <= len(g.list) || !ref[:len(g.list)].Equal(g.list) || !ref[len(g.list)].Equal(g.key) {
			return node, nil
		}
		done = true
		if len(ref) == len(g.list)+1 {
			return v, nil
		}
		return append(ast.Ref{ast.NewTerm(v)}, ref[len(g.list)+1:]...), nil
	}), e.Copy())
	if err != nil {
		return nil, fmt.Errorf("no plan: %w", err)
	}
	expr, ok := out.(*ast.Expr)
	if !ok || !done {
		return nil, Unplanned("the expression %v", e)
	}
	return expr, nil
}

// term returns the expression for a term whose variables are all bound and that has no generator.
func (x *formulaReader) term(t *ast.Term, env scope) (*expr, error) {
	switch v := t.Value.(type) {
	case ast.Var:
		if e, ok := env[v]; ok {
			return e, nil
		}
	case ast.Ref:
		return x.reference(v, env)
	case ast.Call:
		return x.valueCall(v, env)
	case *ast.Array:
		if !t.IsGround() {
			kids := make([]*expr, 0, v.Len())
			for i := range v.Len() {
				e, err := x.term(v.Elem(i), env)
				if err != nil {
					return nil, err
				}
				kids = append(kids, e)
			}
			return x.expr(expr{op: eTuple, kids: kids}), nil
		}
	}
	if c, ok := valueOf(t.Value); ok && t.IsGround() {
		return x.constant(c), nil
	}
	return nil, Unplanned("the term %v", t)
}

// reference returns the expression for input.x, input.facts.x or a variable, or for the value under keys in one of them.
func (x *formulaReader) reference(ref ast.Ref, env scope) (*expr, error) {
	var e *expr
	head, isVar := ref[0].Value.(ast.Var)
	rest := ref[1:]
	switch bound, ok := env[head]; {
	case ok && isVar:
		e = bound
	case ref[0].Equal(ast.InputRootDocument) && len(rest) > 0:
		root, ok := rest[0].Value.(ast.String)
		s := planSlot{root: string(root)}
		rest = rest[1:]
		if root == "facts" && len(rest) > 0 {
			key, isText := rest[0].Value.(ast.String)
			s.key, rest, ok = string(key), rest[1:], ok && isText
		}
		if !ok || !s.known() {
			return nil, Unplanned("the reference %v", ref)
		}
		e = x.slot(s)
	default:
		return nil, Unplanned("the reference %v", ref)
	}
	for _, t := range rest {
		key, err := x.term(t, env)
		if err != nil {
			return nil, err
		}
		e = x.expr(expr{op: eIndex, kids: []*expr{e, key}})
	}
	return e, nil
}

// valueCall returns the expression for a call that is used as a value.
func (x *formulaReader) valueCall(call ast.Call, env scope) (*expr, error) {
	switch name := call[0].String(); {
	case name == ast.Count.Name && len(call) == 2:
		e, err := x.term(call[1], env)
		if err != nil {
			return nil, err
		}
		return x.expr(expr{op: eLength, kids: []*expr{e}}), nil
	case name == ast.Concat.Name && len(call) == 3:
		list, ok := call[2].Value.(*ast.Array)
		if !ok {
			return nil, Unplanned("the term %v", call)
		}
		kids := make([]*expr, 0, list.Len()+1)
		for i := -1; i < list.Len(); i++ {
			t := call[1]
			if i >= 0 {
				t = list.Elem(i)
			}
			e, err := x.term(t, env)
			if err != nil {
				return nil, err
			}
			kids = append(kids, e)
		}
		return x.expr(expr{op: eJoined, kids: kids}), nil
	default:
		return nil, Unplanned("the built-in %s", name)
	}
}
