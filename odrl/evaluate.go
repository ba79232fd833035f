package odrl

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/uimgate/uimgate/limit"
)

// evaluateTime bounds what Evaluate may spend on one question.
const evaluateTime = 10 * time.Second

// A DutyMode says which duties a permission waits for.
type DutyMode string

// The duty modes.
const (
	// DutiesFulfilled: every duty that is active must be fulfilled before. ODRL IM 2.6.5.
	DutiesFulfilled DutyMode = "fulfilled"
	// DutiesNotViolated: no duty may be violated; it may still be open.
	DutiesNotViolated DutyMode = "notViolated"
)

// EvaluateOptions say how Evaluate judges. The zero value is the stricter way.
type EvaluateOptions struct {
	DutyMode DutyMode // empty: DutiesFulfilled
}

// evaluation is what Evaluate needs of a Policy, made when it is first asked.
type evaluation struct {
	rules    func() *evaluable
	prepared sync.Once
	query    rego.PreparedEvalQuery
	err      error
}

func newEvaluation(f *normalForm) *evaluation {
	return &evaluation{rules: sync.OnceValue(func() *evaluable { return newEvaluable(f) })}
}

func (v *evaluation) prepare(ctx context.Context) error {
	v.prepared.Do(func() {
		compiler, err := module()
		if err != nil {
			v.err = err
			return
		}
		store := inmem.NewFromObjectWithOpts(v.rules().ruleData(), inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true))
		v.query, v.err = rego.New(
			rego.Query("data.uimgate.odrl.evaluation"), rego.Compiler(compiler), rego.Store(store), rego.StoreReadAST(true),
			rego.StrictBuiltinErrors(true), rego.SetRegoVersion(ast.RegoV1), rego.GenerateJSON(asTerm),
		).PrepareForEval(context.WithoutCancel(ctx)) // what is prepared outlives the one who asks first
	})
	return v.err
}

// Evaluate says what the policy has to say to the question in the state of the world, and why, rule by
// rule. It knows every action, operand and duty, and takes from q and w alone what it knows: it reads no
// clock, counter or network, and the same arguments always have the same answer. A limit is named, not
// compared, unless the question gives its count. On an error the Evaluation is zero, which denies.
//
// Under a policy from Publish names mean what its World says, and the duties that the gateway sees to
// count as seen to; under one from Load, IRIs mean themselves. An Offer, a Request and an Assertion from
// Load grant nothing.
func (p *Policy) Evaluate(ctx context.Context, q Question, w WorldState, o EvaluateOptions) (Evaluation, error) {
	if err := p.evaluation.prepare(ctx); err != nil {
		return Evaluation{}, err
	}
	e := p.evaluation.rules()
	ctx, cancel := context.WithTimeout(ctx, evaluateTime)
	defer cancel()
	s := e.situate(p, q, w, o)
	in, err := ast.InterfaceToValue(s.input)
	if err != nil {
		return Evaluation{}, fmt.Errorf("evaluating the policy: %w", err)
	}
	answer, err := ask(ctx, &p.evaluation.query, in)
	if err != nil {
		return Evaluation{}, err
	}
	v := &verdict{e: e, p: p, s: s}
	if err := v.read(answer); err != nil {
		return Evaluation{}, err
	}
	return v.evaluation(), nil
}

// Input is the input document under which plain OPA gives the same findings: opa eval with the module,
// the data of EvaluationData and this, asked for data.uimgate.odrl.evaluation.
func (p *Policy) Input(q Question, w WorldState, o EvaluateOptions) ([]byte, error) {
	return json.Marshal(p.evaluation.rules().situate(p, q, w, o).input)
}

// EvaluationData is the data document that Input belongs to: {"policy": {…}}.
func (p *Policy) EvaluationData() ([]byte, error) {
	return json.Marshal(p.evaluation.rules().ruleData())
}

// A verdict is what Rego found, by entry.
type verdict struct {
	e      *evaluable
	p      *Policy
	s      *situation
	ruling string // permit, conflict, unmet, prohibited or none
	sets   map[string]map[int]bool
	// by entry and part
	premise map[string]bool
	holds   map[string]bool
	fails   map[string]bool
}

func (v *verdict) read(o ast.Object) error {
	v.sets = map[string]map[int]bool{}
	for _, name := range []string{"active", "permitting", "prohibiting", "bounding", "unmet", "fulfilled", "violated", "infringed", "due", "blocking"} {
		set, err := numbersIn(o, name)
		if err != nil {
			return err
		}
		for n := range set {
			if n < 0 || n >= len(v.e.entries) {
				return errUndefined
			}
		}
		v.sets[name] = set
	}
	t := o.Get(ast.InternedTerm("ruling"))
	if t == nil {
		return errUndefined
	}
	v.ruling, _ = stringOf(t)
	if needs := map[string]string{"permit": "permitting", "conflict": "prohibiting", "prohibited": "prohibiting", "unmet": "unmet"}[v.ruling]; needs != "" && len(v.sets[needs]) == 0 {
		return errUndefined
	}
	var err error
	for name, into := range map[string]*map[string]bool{"premise": &v.premise, "holds": &v.holds, "fails": &v.fails} {
		if *into, err = textsIn(o, name); err != nil {
			return err
		}
	}
	return nil
}

// textsIn reads a set of texts, or of pairs of a number and a text.
func textsIn(o ast.Object, key string) (map[string]bool, error) {
	t := o.Get(ast.InternedTerm(key))
	if t == nil {
		return nil, errUndefined
	}
	set, ok := t.Value.(ast.Set)
	if !ok {
		return nil, errUndefined
	}
	list := make(map[string]bool, set.Len())
	for _, member := range set.Slice() {
		if s, ok := member.Value.(ast.String); ok {
			list[string(s)] = true
			continue
		}
		n, s, ok := pairOf(member)
		if !ok {
			return nil, errUndefined
		}
		list[premiseKey(n, s)] = true
	}
	return list, nil
}

func premiseKey(n int, part string) string { return fmt.Sprint(n, " ", part) }

// in lists the entries of a set in document order.
func (v *verdict) in(set string) []*entry {
	var list []*entry
	for _, n := range sortedNumbers(v.sets[set]) {
		list = append(list, v.e.entries[n])
	}
	return list
}

func (v *verdict) evaluation() Evaluation {
	ev := Evaluation{Rules: v.report()}
	unmet := v.in("unmet")
	best := v.rank(v.in("permitting"))
	ev.Duties = v.owed(best, unmet)
	switch v.ruling {
	case "conflict":
		ev.deny(PolicyConflict, v.in("prohibiting")[0], "the policy both permits and prohibits this")
	case "unmet":
		reason, detail := unmetReason(unmet[0])
		ev.deny(reason, unmet[0], detail)
		ev.Charges = v.charges(unmet)
	case "prohibited":
		ev.deny(PolicyViolation, v.in("prohibiting")[0], "the policy prohibits this")
	case "permit":
		ev.Permit, ev.Rule = true, best[0].x.node.name()
		ev.Limits, ev.Charges = best[0].limits, best[0].charges
		for _, c := range best {
			ev.Candidates = append(ev.Candidates, c.x.node.name())
		}
	default:
		v.closest(&ev)
	}
	return ev
}

func (ev *Evaluation) deny(reason Reason, x *entry, detail string) {
	ev.Reason, ev.Detail = reason, detail
	if x != nil {
		ev.Rule = x.node.name()
	}
}

func unmetReason(x *entry) (Reason, string) {
	if x.pays() {
		return PolicyRequiresPayment, "the policy asks for a payment first"
	}
	return PolicyRequiresVerification, "an obligation of the policy is not met"
}

func (x *entry) pays() bool {
	return slices.ContainsFunc(x.node.actions, func(a actionNode) bool { return a.name == "compensate" })
}

func (x *entry) signs() bool {
	return slices.ContainsFunc(x.node.actions, func(a actionNode) bool { return a.name == "signPayload" })
}

// An option is one permission under which the question is permitted.
type option struct {
	x       *entry
	limits  []limit.Limit
	charges []Charge
	price   *big.Rat
}

// rank orders permissions by lowest charge, then fewest limits, then document order.
func (v *verdict) rank(permitting []*entry) []option {
	list := make([]option, 0, len(permitting))
	currencies := map[string]bool{}
	for _, x := range permitting {
		o := option{x: x, limits: v.limits(x), price: new(big.Rat)}
		duties := v.e.duties(x)
		for _, obligation := range v.e.entries {
			if obligation.kind == "obligation" && v.sets["active"][obligation.n] && v.binds(obligation) {
				duties = append(duties, obligation)
			}
		}
		for _, d := range duties {
			if !v.sets["active"][d.n] || v.sets["fulfilled"][d.n] {
				continue
			}
			o.charges = append(o.charges, d.charges...)
			for i, price := range d.prices {
				o.price.Add(o.price, price)
				currencies[d.charges[i].Currency] = true
			}
		}
		list = append(list, o)
	}
	several := len(currencies) > 1
	slices.SortStableFunc(list, func(a, b option) int {
		switch c := a.price.Cmp(b.price); {
		case several && a.price.Sign() > 0 && b.price.Sign() > 0: // of several currencies: no one is lower
			return 0
		case c != 0:
			return c
		default:
			return len(a.limits) - len(b.limits)
		}
	})
	return list
}

// binds reports whether an obligation is the party's, and, where the gateway counts it, about this call.
func (v *verdict) binds(x *entry) bool {
	for _, part := range []string{"party", "target"} {
		if part == "target" && v.e.literal {
			continue
		}
		if x.data[part] != nil && !v.premise[premiseKey(x.n, part)] {
			return false
		}
	}
	return true
}

// limits are those of a permission, and of the prohibitions that only bound it.
func (v *verdict) limits(x *entry) []limit.Limit {
	var list []limit.Limit
	for _, y := range append([]*entry{x}, v.in("bounding")...) {
		for _, l := range v.e.matchedLimits(y, v.s) {
			list = addLimit(list, l)
		}
	}
	return list
}

// matchedLimits are the limits of a rule under the names that the question matched, those left out
// that the question itself gave a count for.
func (e *evaluable) matchedLimits(x *entry, s *situation) []limit.Limit {
	name := ""
	for _, ref := range x.node.targets {
		for _, n := range e.targetNames(ref) {
			if name == "" && slices.Contains(s.names["target"], n) {
				name = n
			}
		}
	}
	for i := range x.node.actions {
		if a := &x.node.actions[i]; slices.Contains(s.names["action"], a.name) {
			return e.limitsOf(x, a, name, s)
		}
	}
	return e.limitsOf(x, nil, name, s)
}

// duties are the entries a permission waits for.
func (e *evaluable) duties(x *entry) []*entry {
	var list []*entry
	for _, node := range x.node.duties {
		list = append(list, e.byName[node.name()])
	}
	return list
}

func (v *verdict) charges(list []*entry) []Charge {
	var out []Charge
	for _, x := range list {
		out = append(out, x.charges...)
	}
	return out
}

// owed lists the duties that are open: of the permission that is used, the obligations that bind, and
// what became due.
func (v *verdict) owed(best []option, unmet []*entry) []Due {
	var list []Due
	add := func(x *entry) {
		if v.sets["fulfilled"][x.n] {
			return
		}
		for _, a := range x.node.actions {
			d := Due{Rule: x.node.name(), Action: a.name}
			if x.of != nil {
				d.Of = x.of.node.name()
			}
			if len(x.node.targets) == 1 {
				d.Target = x.node.targets[0].name()
			}
			if len(x.parties) == 1 {
				d.Party = x.parties[0].name()
			}
			if !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	if len(best) > 0 {
		for _, d := range v.e.duties(best[0].x) {
			if v.sets["active"][d.n] || v.sets["violated"][d.n] {
				add(d)
			}
		}
	}
	for _, x := range v.e.entries {
		if x.kind == "obligation" && v.sets["active"][x.n] && v.binds(x) || slices.Contains(unmet, x) {
			add(x)
		}
	}
	for _, x := range v.in("due") {
		add(x)
	}
	return list
}

// closest says why nothing is permitted: the permission that is about the question and lacks the least.
func (v *verdict) closest(ev *Evaluation) {
	ev.deny(PolicyNotApplicable, nil, "no permission of the policy covers this")
	best, lacks := -1, []string(nil)
	var waits *entry
	for _, x := range v.e.entries {
		if x.kind != "permission" || !v.about(x) {
			continue
		}
		missing := v.missing(x)
		if len(missing) == 0 && waits == nil {
			waits = x
		}
		if best < 0 || len(missing) < len(lacks) {
			best, lacks = x.n, missing
		}
	}
	if best < 0 || !v.e.grants() {
		return
	}
	ev.Rule = v.e.entries[best].node.name()
	if waits == nil {
		slices.Sort(lacks)
		ev.Detail = "the closest permission asks for " + strings.Join(lacks[:min(len(lacks), 5)], "; ")
		return
	}
	ev.Rule = waits.node.name()
	v.waiting(ev, waits)
}

// waiting says for which duty a permission waits.
func (v *verdict) waiting(ev *Evaluation, x *entry) {
	for _, d := range v.e.duties(x) {
		if !v.sets["blocking"][d.n] {
			continue
		}
		ev.Detail = "a duty of the permission is not fulfilled"
		ev.Duties = append(ev.Duties, Due{Rule: d.node.name(), Action: d.action(), Of: x.node.name()})
		switch {
		case d.signs():
			ev.Reason, ev.Detail = PolicyRequiresVerification, proofDetail
		case d.pays() && ev.Reason == PolicyNotApplicable:
			ev.Reason, ev.Detail = PolicyRequiresPayment, "the policy asks for a payment first"
		}
		ev.Charges = append(ev.Charges, d.charges...)
	}
	if c := v.over(x); c != nil && ev.Reason == PolicyNotApplicable {
		ev.Reason, ev.Detail = QuotaExceeded, "the closest permission asks for "+c.String()
		if c.unit.iri != "" || c.operand == "rateLimit" {
			ev.Reason = RateLimitExceeded
		}
	}
}

func (x *entry) action() string {
	if len(x.node.actions) > 0 {
		return x.node.actions[0].name
	}
	return ""
}

// about reports whether the question fits the parts of a rule.
func (v *verdict) about(x *entry) bool {
	for _, part := range []string{"action", "target", "party"} {
		if x.data[part] != nil && !v.premise[premiseKey(x.n, part)] {
			return false
		}
	}
	return true
}

// bounds reports whether a constraint limits, rather than conditions, the rule.
func (v *verdict) bounds(x *entry, c *constraintNode) bool {
	return !x.node.kind.duty() && v.e.limiting(c)
}

// over is a limit that the question's own count exceeds.
func (v *verdict) over(x *entry) *constraintNode {
	for _, c := range v.e.conditionsOf(x) {
		if id := v.e.bySource[c]; v.e.limiting(c) && v.s.counted(v.e, c) && !v.holds[id] {
			return c
		}
	}
	return nil
}

// missing words the constraints of a permission that do not hold, under the action that lacks least.
func (v *verdict) missing(x *entry) []string {
	shared := slices.Clone(x.node.constraints)
	for _, ref := range slices.Concat(x.node.targets, x.parties) {
		shared = append(shared, ref.refinements...)
	}
	if len(x.node.actions) == 0 {
		return v.lacking(x, shared)
	}
	var least []string
	first := true
	for _, a := range x.node.actions {
		if !slices.Contains(v.s.names["action"], a.name) {
			continue
		}
		if list := v.lacking(x, slices.Concat(shared, a.refinements)); first || len(list) < len(least) {
			least, first = list, false
		}
	}
	return least
}

func (v *verdict) lacking(x *entry, list []*constraintNode) []string {
	var missing []string
	for _, c := range flatten(list) {
		if id, ok := v.e.bySource[c]; ok && !v.holds[id] && !v.bounds(x, c) {
			missing = append(missing, c.String())
		}
	}
	return missing
}

// conditionsOf are the constraints and refinements of a rule, conjunctions taken apart.
func (e *evaluable) conditionsOf(x *entry) []*constraintNode {
	list := slices.Clone(x.node.constraints)
	for _, a := range x.node.actions {
		list = append(list, a.refinements...)
	}
	for _, ref := range slices.Concat(x.node.targets, x.parties) {
		list = append(list, ref.refinements...)
	}
	return flatten(list)
}
