package odrl

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/uimgate/uimgate/odrl/internal/plan"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A choice makes the decisions of a generator from bytes, so that the fuzzer can steer them. Without further bytes it always chooses the
// first and smallest possibility.
type choice struct{ rest []byte }

func (c *choice) of(n int) int {
	if len(c.rest) == 0 || n <= 1 {
		return 0
	}
	b := int(c.rest[0])
	c.rest = c.rest[1:]
	return b % n
}

func (c *choice) maybe() bool { return c.of(2) == 1 }

func pick[T any](c *choice, list ...T) T { return list[c.of(len(list))] }

// pickSome returns one to three elements of the list.
func pickSome(c *choice, list ...string) []string {
	var out []string
	for range 1 + c.of(3) {
		out = append(out, pick(c, list...))
	}
	return out
}

var (
	differentialWords = []string{
		"a", "b", "c", "http://vocab.example/a", "http://vocab.example/b", "DE", "US", "US-CA", "us", "EU",
		"en", "en-GB", "x\"} active contains 1 if true #",
	}
	differentialTimes = []string{
		"2026-06-15T12:00:00Z", "2026-06-15", "2026-06-15T14:00:00+02:00", "2026-06-16",
		"2026-06-14T23:59:59.999999999Z",
	}
	differentialNumbers = []string{
		"5", "5.0", "0", "-0.5", "1e-30", "0.1", "123456789012345678901234567890", "5000000", "100", "1e400",
		"NaN",
	}
	differentialDurations = []string{"PT60S", "PT1M", "P1D", "PT24H", "P1M", "P30D", "P31D", "-P1D", "P1Y", "60", "P", "P9999Y"}
	differentialPlaces    = []string{
		"10.1.2.3", "10.0.0.0/8", "10.1.0.0/16", "11.0.0.1", "::ffff:10.1.2.3", "2001:db8::/32",
		"2001:db8::1", "0.0.0.0/0", "example.com", "api.example.com", "ample.com", "http://a.example/net", "300.1.1.1",
	}
	differentialHours = []string{"09:00:00Z", "12:00:00Z", "17:00:00Z", "22:00:00Z", "24:00:00Z", "06:30:00+02:00"}
	differentialKeys  = []string{
		"MIIBIjANBgkqh...",
		"MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=",
		"MCowBQYDK2VwAyEAAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
	}
	differentialTargets = []string{
		"http://example.com/api/intents", "example.com:search:v1", "example.com:search", "example.com:buy:v2",
		"example.com", "other.org:buy:v1.2",
	}
	differentialParties = []string{"http://example.com/agent/1", "http://example.com/agent/2", "http://example.com/agent/3"}
)

func differentialWorld() World {
	return World{
		Hosts: []string{"example.com"},
		Intents: []Asset{
			{UID: "example.com:search:v1", Namespace: "example.com", Name: "search", Title: "Search"},
			{UID: "example.com:search:v2", Namespace: "example.com", Name: "search", Title: "Search2"},
			{UID: "example.com:buy:v2", Namespace: "example.com", Name: "buy", Title: "Buy"},
			{UID: "other.org:buy:v1.2", Namespace: "other.org", Name: "buy", Title: "Elsewhere"},
		},
		Parties: map[string]Party{
			"http://example.com/agent/1": {AgentID: "agent-1"}, "http://example.com/agent/2": {AgentID: "agent-2", KeyID: "k2"},
			"http://example.com/agent/3": {AgentID: "agent-1", KeyID: "k1"},
		},
	}
}

// constraint generates a comparison with any operand and operator, or a logical constraint.
func (c *choice) constraint(depth int) any {
	if depth > 0 && c.of(4) == 3 {
		var list []any
		for range 1 + c.of(3) {
			list = append(list, c.constraint(depth-1))
		}
		op := pick(c, "or", "and", "xone", "andSequence")
		if c.maybe() || op == "andSequence" {
			return map[string]any{op: map[string]any{"@list": list}}
		}
		return map[string]any{op: list}
	}
	leaf := map[string]any{}
	switch c.of(11) {
	case 6:
		op := pick(c, "eq", "neq", "lt", "lteq", "gt", "gteq", "isAnyOf", "isNoneOf", "isAllOf")
		leaf["leftOperand"], leaf["operator"] = pick(c, "absoluteSize", "percentage", "resolution"), op
		leaf["rightOperand"] = pick(c, differentialNumbers...)
		if strings.HasPrefix(op, "is") {
			leaf["rightOperand"] = pickSome(c, differentialNumbers...)
		}
		if c.maybe() {
			leaf["unit"] = pick(c, "MB", "KB", "dpi")
		}
	case 7:
		leaf["leftOperand"], leaf["operator"] = pick(c, "elapsedTime", "dataRetention"), pick(c, "eq", "neq", "lt", "lteq", "gt", "gteq")
		leaf["rightOperand"] = pick(c, differentialDurations...)
		if c.of(3) == 2 {
			leaf["unit"] = pick(c, "minute", "month")
		}
	case 8, 9:
		leaf["leftOperand"], leaf["operator"] = "virtualLocation", pick(c, "eq", "neq", "isPartOf")
		leaf["rightOperand"] = pick(c, differentialPlaces...)
		if c.maybe() {
			leaf["operator"], leaf["rightOperand"] = pick(c, "isAnyOf", "isNoneOf", "isAllOf", "hasPart"), pickSome(c, differentialPlaces[:8]...)
		}
	case 10:
		leaf["leftOperand"], leaf["operator"], leaf["rightOperand"] = "event", "eq", pick(c, "http://vocab.example/a", "http://vocab.example/b")
	case 0:
		leaf["leftOperand"], leaf["operator"] = pick(c, "purpose", "industry", "spatial", "language", "recipient", "unitOfCount",
			"dataUsage"), pick(c, "eq", "neq", "isA", "isPartOf")
		leaf["rightOperand"] = pick(c, differentialWords...)
	case 1:
		leaf["leftOperand"], leaf["operator"] = pick(c, "purpose", "industry", "spatial", "language"), pick(c, "isAnyOf", "isNoneOf",
			"isAllOf", "hasPart")
		leaf["rightOperand"] = pickSome(c, differentialWords...)
	case 2:
		leaf["leftOperand"], leaf["operator"], leaf["rightOperand"] = "dateTime", pick(c, "lt", "lteq", "gt", "gteq", "eq", "neq"), pick(c,
			differentialTimes...)
	case 3:
		leaf["leftOperand"], leaf["operator"] = pick(c, "timeWindow", "timeRange"), pick(c, "within", "outside", "isPartOf")
		leaf["rightOperand"] = map[string]any{"start": pick(c, differentialHours...), "end": pick(c, differentialHours[1:]...)}
	case 4:
		op := pick(c, "eq", "neq", "lt", "lteq", "gt", "gteq", "isAnyOf", "isNoneOf")
		leaf["leftOperand"], leaf["operator"], leaf["rightOperand"] = "version", op, pick(c, "v1", "v2", "1.2", "1.1.9")
		if strings.HasPrefix(op, "is") {
			leaf["rightOperand"] = pickSome(c, "v1", "v2", "1.2")
		}
	default:
		leaf["leftOperand"], leaf["operator"] = "payAmount", pick(c, "lteq", "lt", "gt", "gteq", "eq", "neq")
		leaf["rightOperand"], leaf["unit"] = pick(c, "0.05", "1", "0"), pick(c, "USD", "EUR")
	}
	return leaf
}

func (c *choice) constraints() []any {
	list := []any{}
	for range c.of(4) {
		list = append(list, c.constraint(3))
	}
	return list
}

func (c *choice) duty() map[string]any {
	d := map[string]any{"action": pick(c, "pay", "signPayload", "attribute", "inform")}
	list := []any{}
	if c.maybe() {
		list = append(list, c.constraint(1))
	}
	switch d["action"] {
	case "pay":
		list = append(list, map[string]any{"leftOperand": "payAmount", "operator": "eq", "rightOperand": pick(c, "0.5", "2"), "unit": "USD"})
	case "signPayload":
		if c.maybe() {
			list = append(list, map[string]any{
				"leftOperand": "publicKey", "operator": pick(c, "use", "eq"),
				"rightOperand": pick(c, differentialKeys...),
			})
		} else if c.maybe() {
			list = append(list, map[string]any{"leftOperand": "publicKey", "operator": "isAnyOf", "rightOperand": differentialKeys[1:]})
		}
	}
	d["constraint"] = list
	return d
}

func (c *choice) rule(kind string) map[string]any {
	r := map[string]any{"target": pickSome(c, differentialTargets...), "action": pick(c, "execute", "use")}
	if c.of(3) == 2 {
		r["assignee"] = pickSome(c, differentialParties...)
	}
	list := c.constraints()
	if kind == "permission" && c.of(3) == 2 {
		list = append(list, map[string]any{"leftOperand": "count", "operator": "lteq", "rightOperand": 5, "unit": "day"})
	}
	if len(list) > 0 && c.of(4) == 3 {
		r["action"] = map[string]any{"@id": "odrl:execute", "refinement": list[:1]}
		list = list[1:]
	}
	r["constraint"] = list
	if kind == "permission" {
		duties := []any{}
		for range c.of(3) {
			duties = append(duties, c.duty())
		}
		r["duty"] = duties
	}
	if kind == "prohibition" && c.of(4) == 3 {
		r["action"] = "exceedRateLimit"
	}
	return r
}

// policy generates a document that Publish usually accepts.
func (c *choice) policy() []byte {
	d := map[string]any{
		"@context": "http://www.w3.org/ns/odrl.jsonld", "uid": "http://example.com/p", "profile": "http://example.com/profile/odrl-uim",
		"conflict": pick(c, "prohibit", "perm", "invalid"),
	}
	add := func(kind string, least, more int) {
		list := []any{}
		for range least + c.of(more) {
			list = append(list, c.rule(kind))
		}
		d[kind] = list
	}
	add("permission", 1, 4)
	add("prohibition", 0, 3)
	obligations := []any{}
	for range c.of(3) {
		o := c.duty()
		if c.maybe() {
			o["target"] = pick(c, differentialTargets...)
		}
		if c.of(3) == 2 {
			o["assignee"] = pick(c, differentialParties...)
		}
		obligations = append(obligations, o)
	}
	d["obligation"] = obligations
	b, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return b
}

func (c *choice) request(w World) Request {
	keys := [][]byte{nil, []byte("key"), []byte("other")}
	for _, k := range differentialKeys[1:] {
		der, _ := rules.ParseKey(k)
		keys = append(keys, der)
	}
	r := Request{
		AgentID: pick(c, "agent-1", "agent-2", "agent-9"), KeyID: pick(c, "", "k1", "k2"), Intent: w.Intents[c.of(len(w.Intents))].UID,
		AgentKey: pick(c, keys...), ProofKey: pick(c, keys...), Facts: map[string]any{},
	}
	if c.of(5) > 0 {
		r.Now = time.Date(2026, 6, 13+c.of(5), c.of(24), 30*c.of(2), 0, c.of(2), time.UTC)
	}
	own := map[string][]string{
		"absoluteSize": differentialNumbers, "percentage": differentialNumbers, "resolution": differentialNumbers,
		"elapsedTime": differentialDurations, "dataRetention": differentialDurations, "virtualLocation": differentialPlaces,
	}
	for _, operand := range []string{
		"purpose", "industry", "spatial", "language", "recipient", "payAmount", "version", "dateTime",
		"unitOfCount", "dataUsage", "event", "absoluteSize", "percentage", "resolution", "elapsedTime", "dataRetention", "virtualLocation",
	} {
		if list := own[operand]; list != nil && c.of(8) > 1 {
			switch c.of(5) {
			case 0:
				r.Facts[operand] = json.Number(pick(c, list...))
			case 1:
				r.Facts[operand] = pickSome(c, list...)
			case 2:
				r.Facts[operand] = []any{pick(c, list...), pick[any](c, "b", json.Number("1"), nil, true)}
			default:
				r.Facts[operand] = pick(c, list...)
			}
			continue
		}
		switch c.of(8) {
		case 0:
		case 1, 2, 3:
			r.Facts[operand] = pick(c, differentialWords...)
		case 4:
			r.Facts[operand] = pickSome(c, differentialWords...)
		case 5:
			r.Facts[operand] = []any{pick(c, differentialWords...), pick[any](c, "b", json.Number("1"), nil, true, []any{"a"})}
		case 6:
			r.Facts[operand] = pick[any](c, json.Number("5"), true, nil, "", []any{}, time.Unix(0, 0), make([]string, rules.MaxFacts+1))
		default:
			r.Facts[operand] = pick(c, "0.05 USD", "1 EUR", "0.050000001 USD", "1", "x USD")
		}
	}
	return r
}

// odd generates a value for any place of the input document, with types that no request has.
func (c *choice) odd(depth int) *ast.Term {
	switch c.of(9) {
	case 0:
		return ast.NullTerm()
	case 1:
		return ast.InternedTerm(c.maybe())
	case 2, 3:
		return plan.IntTerm([]int64{0, 1, 5, -1, 1781524800000000000, 43200000000000, 50000000}[c.of(7)])
	case 4:
		return ast.NewTerm(ast.Number(pick(c, "1.5", "1e3", "1e400", "12345678901234567890123")))
	case 5, 6:
		return ast.StringTerm(pick(c, append(differentialWords, "", "*", "*all")...))
	case 7:
		var list []*ast.Term
		for range c.of(4) {
			if depth > 0 {
				list = append(list, c.odd(depth-1))
			}
		}
		return ast.ArrayTerm(list...)
	default:
		o := ast.NewObject()
		for range c.of(3) {
			if depth > 0 {
				o.Insert(ast.StringTerm(pick(c, "k", "0", "a")), c.odd(depth-1))
			}
		}
		return ast.NewTerm(o)
	}
}

// disturb inserts odd values into an input document.
func (c *choice) disturb(input ast.Object, slots []plan.PolicySlot) ast.Object {
	out := ast.NewObject()
	input.Foreach(func(k, v *ast.Term) { out.Insert(k, v) })
	facts := ast.NewObject()
	if t := input.Get(plan.KeyFacts); t != nil {
		if o, ok := t.Value.(ast.Object); ok {
			o.Foreach(func(k, v *ast.Term) { facts.Insert(k, v) })
		}
	}
	for _, s := range slots {
		switch c.of(3) {
		case 0:
			facts.Insert(s.Term, c.odd(2))
		case 1:
			facts.Insert(s.Term, ast.ArrayTerm(c.odd(1)))
		}
	}
	out.Insert(plan.KeyFacts, ast.NewTerm(facts))
	for _, k := range []*ast.Term{plan.KeyTargets, plan.KeyParties, plan.KeyFacts, plan.KeyProof, plan.KeyAgent} {
		if c.of(8) == 7 {
			out.Insert(k, c.odd(2))
		}
	}
	return out
}

// residualAlone prepares the residual of a policy for evaluation in OPA.
func residualAlone(ctx context.Context, r *plan.Residual) (rego.PreparedEvalQuery, error) {
	modules := map[string]*ast.Module{}
	for i, m := range r.Modules {
		modules[fmt.Sprint(i)] = m.Copy()
	}
	compiler := ast.NewCompiler()
	if compiler.Compile(modules); compiler.Failed() {
		return rego.PreparedEvalQuery{}, compiler.Errors
	}
	return rego.New(
		rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(r.Result)))), rego.Compiler(compiler), rego.StrictBuiltinErrors(true),
		rego.SetRegoVersion(ast.RegoV1), rego.GenerateJSON(rules.AsTerm),
	).PrepareForEval(ctx)
}

// differ publishes a policy and compares the results of the module, the residual and the plan for many inputs.
func differ(t *testing.T, data []byte, inputs int) (planned bool) {
	t.Helper()
	c := &choice{data}
	w := differentialWorld()
	doc := c.policy()
	p, problems := Publish(t.Context(), doc, w)
	if p == nil {
		if !problems.Failed() {
			t.Fatalf("got no policy and no problem: %s", doc)
		}
		return false
	}
	made := p.plan
	if made == nil {
		t.Fatalf("%s\n%v", doc, p.unplanned)
	}
	partial, err := residualAlone(t.Context(), p.residual)
	if err != nil {
		t.Fatalf("%s\n%v", doc, err)
	}
	for range inputs {
		r := c.request(w)
		if !p.names(r.Intent) {
			continue
		}
		input, _ := p.inputs.Document((*plan.Request)(&r), false).(ast.Object)
		// As in Decide: the request fills the slots, and only the rules of this intent run.
		f := made.Frame()
		made.Fill.Fill(f, (*plan.Request)(&r), made.Intents[r.Intent])
		f.Run(made.Intents[r.Intent].Outcome)
		f.Run(made.Intents[r.Intent].Reasons)
		if f.Failed {
			t.Fatalf("%s\n%+v: the plan failed for this request", doc, r)
		}
		three(t, p, partial, f, input, doc)
		made.Done(f)
		d, err := p.Decide(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.decideByOPA(t.Context(), &r)
		if err != nil {
			t.Fatal(err)
		}
		d.Facts, d.Engine = nil, ""
		if have, want := fmt.Sprintf("%+v", d), fmt.Sprintf("%+v", *again); have != want {
			t.Fatalf("%s\n%+v\nplan %s\nOPA  %s", doc, r, have, want)
		}
		// Unlike any request: values of any type in any place.
		odd := c.disturb(input, p.inputs.Slots)
		f = made.Frame()
		if made.Load(f, odd) {
			made.Run(f, "outcome")
			made.Run(f, "reasons")
			if !f.Failed {
				three(t, p, partial, f, odd, doc)
			}
		}
		made.Done(f)
	}
	return true
}

func three(t *testing.T, p *Policy, partial rego.PreparedEvalQuery, f *plan.Frame, input ast.Object, doc []byte) {
	t.Helper()
	left, err := rules.Ask(t.Context(), &partial, input)
	if err != nil {
		t.Fatalf("%s\n%v\nthe residual: %v", doc, input, err)
	}
	for name, q := range map[string]*rego.PreparedEvalQuery{"outcome": &p.program.Engine.Outcome, "reasons": &p.program.Engine.Reasons} {
		generic, err := rules.Ask(t.Context(), q, input)
		if err != nil {
			t.Fatalf("%s\n%v\nthe module: %v", doc, input, err)
		}
		residual := left.Get(ast.StringTerm(name))
		plan := p.plan.Answer(f, name)
		if generic.Compare(residual.Value) != 0 || generic.Compare(plan) != 0 {
			t.Fatalf("%s\n%v\nmodule   %v\nresidual %v\nplan     %v", doc, input, generic, residual, plan)
		}
	}
}

// FuzzDifferential checks that the semantics module, its partial evaluation and the plan agree on active rules and unmet constraints, for
// any policy and input.
func FuzzDifferential(f *testing.F) {
	for seed := range DifferentialSeeds {
		f.Add(randomBytes(uint64(seed), 80))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 160 // the fuzzer allows ten seconds for an instrumented input
		differ(t, data[:min(len(data), most)], 2)
	})
}

func randomBytes(seed uint64, most int) []byte {
	r := rand.New(rand.NewPCG(3, seed))
	data := make([]byte, 40+r.IntN(most))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

var (
	differentialRounds = flag.Int("differential.rounds", ComparedPolicies, "policies that module, residual and plan are compared on")
	differentialSeed   = flag.Uint64("differential.seed", 1000, "the first of the seeds of these policies")
)

func TestModuleResidualAndPlanAgree(t *testing.T) {
	times := *differentialRounds
	planned := 0
	for seed := range times {
		if differ(t, randomBytes(*differentialSeed+uint64(seed), 400), 6) {
			planned++
		}
	}
	t.Logf("%d policies, %d with a plan", times, planned)
	if planned == 0 || planned < times/4 {
		t.Errorf("only %d of %d policies were published and planned", planned, times)
	}
}
