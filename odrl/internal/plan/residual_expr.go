package plan

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

var comparisons = map[string]int{
	ast.Equality.Name: equalTo, ast.Equal.Name: equalTo, ast.NotEqual.Name: unequalTo,
	ast.LessThan.Name: lessThan, ast.LessThanEq.Name: atMost, ast.GreaterThan.Name: moreThan, ast.GreaterThanEq.Name: atLeast,
}

var kindTests = map[string]planKind{
	ast.IsNull.Name: aNull, ast.IsBoolean.Name: aBoolean, ast.IsNumber.Name: aNumber, ast.IsString.Name: aText, ast.IsArray.Name: anArray,
	ast.IsObject.Name: anObject,
}

// unifies reports whether the expression is x = y or x := y.
func unifies(e *ast.Expr) bool { return e.IsEquality() || e.IsAssignment() }

// ready reports whether the expression can be read next. A negation is ready if no other expression must still bind one of its variables.
// Any other expression is ready if all its variables are bound, except those that it ranges over or binds itself.
func (x *formulaReader) ready(e *ast.Expr, body []*ast.Expr, env scope) bool {
	if e.Negated {
		for v := range variables(e) {
			if _, bound := env[v]; bound {
				continue
			}
			for _, other := range body {
				if other != e && variables(other).Contains(v) {
					return false
				}
			}
		}
		return x.ready(e.Complement(), nil, env)
	}
	switch terms := e.Terms.(type) {
	case *ast.Term:
		return computable(terms, env)
	case []*ast.Term:
		operands := terms[1:]
		if unifies(e) && len(operands) == 2 {
			l, r := computable(operands[0], env), computable(operands[1], env)
			return l && r || l && pattern(operands[1], env) || r && pattern(operands[0], env)
		}
		for i, t := range operands {
			if computable(t, env) || i == len(operands)-1 && i == x.arity(e) && pattern(t, env) {
				continue
			}
			return false
		}
		return true
	default:
		return true // unsupported in any case
	}
}

func variables(e *ast.Expr) ast.VarSet {
	vis := ast.NewVarVisitor().WithParams(ast.VarVisitorParams{SkipRefCallHead: true})
	vis.Walk(e)
	set := vis.Vars()
	delete(set, ast.Var("input"))
	delete(set, ast.Var("data"))
	return set
}

// arity returns the number of arguments of the function that is called. If a call has one more argument, that argument receives the value
// of the call.
func (x *formulaReader) arity(e *ast.Expr) int {
	if b, ok := ast.BuiltinMap[e.Operator().String()]; ok {
		return len(b.Decl.FuncArgs().Args)
	}
	if rules, ok := x.rules[e.Operator().String()]; ok {
		return len(rules[0].Head.Args)
	}
	return len(e.Operands())
}

// computable reports whether each variable of the term is bound or can be bound by a generator.
func computable(t *ast.Term, env scope) bool {
	not := func(t *ast.Term) bool { return !computable(t, env) }
	switch v := t.Value.(type) {
	case ast.Var:
		_, ok := env[v]
		return ok
	case ast.Ref:
		if head, ok := v[0].Value.(ast.Var); ok && !v[0].Equal(ast.InputRootDocument) && !v[0].Equal(ast.DefaultRootDocument) {
			if _, bound := env[head]; !bound {
				return false
			}
		}
		return !slices.ContainsFunc(v[1:], func(k *ast.Term) bool {
			_, isVar := k.Value.(ast.Var)
			return !isVar && not(k)
		})
	case ast.Call:
		return !slices.ContainsFunc(v[1:], not)
	case *ast.Array:
		return !v.Until(not)
	default:
		return t.IsGround()
	}
}

// pattern reports whether the term can receive a value: an unbound variable, or an array of patterns and terms.
func pattern(t *ast.Term, env scope) bool {
	switch v := t.Value.(type) {
	case ast.Var:
		return true
	case *ast.Array:
		return !v.Until(func(t *ast.Term) bool { return !pattern(t, env) && !computable(t, env) })
	default:
		return false
	}
}

// generator returns the first reference in the expression that has an unbound variable as a key.
func (x *formulaReader) generator(e *ast.Expr, env scope) (found generator, ok bool) {
	vis := ast.NewGenericVisitor(func(node any) bool {
		ref, isRef := node.(ast.Ref)
		if !isRef || ok {
			return ok
		}
		for i := 1; i < len(ref); i++ {
			if v, isVar := ref[i].Value.(ast.Var); isVar && env[v] == nil {
				found, ok = generator{ref[:i], ref[i]}, true
				return true
			}
		}
		return false
	})
	vis.Walk(e)
	return found, ok
}

// positive reads an expression without a generator, and returns the scope with the variables that the expression binds.
func (x *formulaReader) positive(e *ast.Expr, env scope) (*formula, scope, error) {
	switch terms := e.Terms.(type) {
	case *ast.Term:
		f, err := x.truthOf(terms, env)
		return f, env, err
	case []*ast.Term:
		if unifies(e) && len(terms) == 3 {
			return x.unify(terms[1], terms[2], env)
		}
		return x.callExpr(e, env)
	default:
		return nil, nil, Unplanned("the expression %v", e)
	}
}

// truthOf returns the formula for a term that is used as an expression.
func (x *formulaReader) truthOf(t *ast.Term, env scope) (*formula, error) {
	if ref, ok := t.Value.(ast.Ref); ok && ref.HasPrefix(ast.DefaultRootRef) {
		return x.call(ref, nil)
	}
	if b, ok := t.Value.(ast.Boolean); ok {
		return x.truth(bool(b)), nil
	}
	if call, ok := t.Value.(ast.Call); ok {
		f, _, err := x.callExpr(ast.NewExpr([]*ast.Term(call)), env)
		return f, err
	}
	e, err := x.term(t, env)
	if err != nil {
		return nil, err
	}
	return x.formula(formula{op: fHolds, a: e}), nil
}

// unify returns the formula for x = y. One side may be a pattern that receives the value of the other.
func (x *formulaReader) unify(l, r *ast.Term, env scope) (*formula, scope, error) {
	if !computable(l, env) {
		l, r = r, l
	}
	if _, isCall := l.Value.(ast.Call); isCall && r.Equal(ast.InternedTerm(true)) { // f(x) = true
		if f, err := x.truthOf(l, env); err == nil {
			return f, env, nil
		}
	}
	e, err := x.term(l, env)
	if err != nil {
		return nil, nil, err
	}
	return x.assign(r, e, env)
}

// assign returns the formula for giving the value of e to a pattern, and the scope with the variables that the pattern binds.
func (x *formulaReader) assign(t *ast.Term, e *expr, env scope) (*formula, scope, error) {
	if v, ok := t.Value.(ast.Var); ok && env[v] == nil {
		return x.exprDefined(e), env.with(v, e), nil
	}
	list, ok := t.Value.(*ast.Array)
	if !ok || computable(t, env) {
		other, err := x.term(t, env)
		if err != nil {
			return nil, nil, err
		}
		return x.compare(equalTo, e, other), env, nil
	}
	size := x.constant(value{kind: aNumber, n: int64(list.Len())})
	conditions := []*formula{
		x.formula(formula{op: fKind, n: int(anArray), a: e}),
		x.compare(equalTo, x.expr(expr{op: eLength, kids: []*expr{e}}), size),
	}
	for i := range list.Len() {
		at := x.expr(expr{op: eIndex, kids: []*expr{e, x.constant(value{kind: aNumber, n: int64(i)})}})
		f, bound, err := x.assign(list.Elem(i), at, env)
		if err != nil {
			return nil, nil, err
		}
		conditions, env = append(conditions, f), bound
	}
	return x.all(conditions...), env, nil
}

// callExpr returns the formula for a call that is used as an expression. An additional argument receives the value of the call.
func (x *formulaReader) callExpr(e *ast.Expr, env scope) (*formula, scope, error) {
	operator, operands := e.Operator(), e.Operands()
	var out *ast.Term
	if n := x.arity(e); len(operands) == n+1 {
		operands, out = operands[:n], operands[n]
	}
	if ast.Count.Name == operator.String() || ast.Concat.Name == operator.String() {
		v, err := x.valueCall(append(ast.Call{ast.NewTerm(operator)}, operands...), env)
		switch {
		case err != nil:
			return nil, nil, err
		case out == nil:
			return x.formula(formula{op: fHolds, a: v}), env, nil
		default:
			return x.assign(out, v, env)
		}
	}
	args := make([]*expr, 0, len(operands))
	for _, t := range operands {
		if set, ok := t.Value.(ast.Set); ok && operator.String() == ast.Member.Name { // membership in a set is membership in its list
			t = ast.ArrayTerm(set.Slice()...)
		}
		a, err := x.term(t, env)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, a)
	}
	f, err := x.test(operator, args)
	if err != nil || out == nil {
		return f, env, err
	}
	switch b, ok := out.Value.(ast.Boolean); {
	case ok && bool(b):
		return f, env, nil
	case ok && !operator.HasPrefix(ast.DefaultRootRef): // the call is false only if its arguments have values
		conditions := make([]*formula, 0, len(args)+1)
		for _, a := range args {
			conditions = append(conditions, x.exprDefined(a))
		}
		return x.all(append(conditions, x.not(f))...), env, nil
	default:
		return nil, nil, Unplanned("the expression %v", e)
	}
}

// test returns the formula for a call whose value is true or false.
func (x *formulaReader) test(operator ast.Ref, args []*expr) (*formula, error) {
	if operator.HasPrefix(ast.DefaultRootRef) {
		return x.call(operator, args)
	}
	name := operator.String()
	if how, ok := comparisons[name]; ok && len(args) == 2 {
		return x.compare(how, args[0], args[1]), nil
	}
	if kind, ok := kindTests[name]; ok && len(args) == 1 {
		return x.formula(formula{op: fKind, n: int(kind), a: args[0]}), nil
	}
	switch {
	case name == ast.Member.Name && len(args) == 2:
		return x.formula(formula{op: fMember, a: args[0], b: args[1]}), nil
	case name == ast.StartsWith.Name && len(args) == 2:
		return x.formula(formula{op: fStarts, a: args[0], b: args[1]}), nil
	default:
		return nil, Unplanned("the built-in %s", name)
	}
}
