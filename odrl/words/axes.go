package words

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// An axis holds the values that requests use for one left operand. A nil value means that a request has no such fact.
type axis struct {
	operand string
	values  []any
}

// axes are the dimensions in which the requests about one matter differ.
type axes struct {
	times  []time.Time
	signed []bool
	facts  []axis
	rules  []*model.Atom
	unread bool           // a condition has values that cannot be tested
	at     map[string]int // the index of an operand in facts
	held   *int           // how many more comparisons of a fact with a condition are allowed
}

// newAxes derives the values from the conditions of the rules: for each bound, the bound itself, a value below it and a value above it.
func newAxes(rules []*model.Atom, a *asker) *axes {
	x := &axes{signed: []bool{false}, rules: rules, at: map[string]int{}, held: &a.held}
	byOperand := map[string][]*model.Constraint{}
	for _, r := range rules {
		limits := limiting(r)
		eachConstraint(r, func(c *model.Constraint) {
			if !limits[c] && !isPrice(c) && !isKey(c) {
				byOperand[c.Operand] = append(byOperand[c.Operand], c)
			}
		})
		if signing(r) {
			x.signed = []bool{false, true}
		}
	}
	var clock []*model.Constraint
	for _, operand := range model.SortedKeys(byOperand) {
		conditions := byOperand[operand]
		if operand == "dateTime" || operand == "timeWindow" {
			clock = append(clock, conditions...)
			continue
		}
		values, ok := factsAround(conditions, a)
		x.unread = x.unread || !ok
		x.at[operand] = len(x.facts)
		x.facts = append(x.facts, axis{operand, append(values, nil)})
	}
	x.times = x.timesAround(clock)
	return x
}

// limiting returns the constraints of a rule that are counted and not compared.
func limiting(a *model.Atom) map[*model.Constraint]bool {
	operators := map[model.RuleKind][]string{model.Permission: {"lt", "lteq", "eq"}, model.Prohibition: {"gt", "gteq"}}[a.Kind]
	limits := map[*model.Constraint]bool{}
	for _, c := range model.Flatten(slices.Concat(a.Constraints, refinementsOf(a))) {
		if c.Logic == "" && c.Left().Kind == model.Count && slices.Contains(operators, c.Operator) {
			limits[c] = true
		}
	}
	return limits
}

// signing reports whether the action of a rule or of one of its duties is signPayload.
func signing(a *model.Atom) bool {
	return actionOf(a) == "signPayload" || slices.ContainsFunc(slices.Concat(a.Duties, a.Remedies, a.Consequence), signing)
}

// count returns the number of requests about one matter, at most math.MaxInt32.
func (x *axes) count() int {
	n := len(x.times) * len(x.signed)
	for _, one := range x.facts {
		if n *= len(one.values); n > math.MaxInt32 {
			return math.MaxInt32
		}
	}
	return n
}

// requests returns the requests about one matter, at most maxCount of them. If there are more, they are those that meet all conditions of a
// rule, those that differ from them in one fact, and a sample of the others.
func (x *axes) requests(m matter, maxCount int) iter.Seq[request] {
	return func(yield func(request) bool) {
		left := maxCount
		put := func(at []int) bool {
			q := odrl.Question{Party: m.party, Action: m.action, Target: m.target, Context: map[string]any{}}
			for i, one := range x.facts {
				if v := one.values[at[i]]; v != nil {
					q.Context[one.operand] = v
				}
			}
			left--
			return yield(request{question: q, now: x.times[at[len(x.facts)]], signed: x.signed[at[len(x.facts)+1]]}) && left > 0
		}
		if x.count() > maxCount {
			if !x.distinguishing(put) {
				return
			}
			r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the sample is not secret, and must be the same each time
			for at := make([]int, len(x.facts)+2); ; {
				for i := range at {
					at[i] = r.IntN(x.size(i))
				}
				if !put(at) {
					return
				}
			}
		}
		at := make([]int, len(x.facts)+2)
		for put(at) {
			i := 0
			for ; i < len(at); i++ {
				if at[i]++; at[i] < x.size(i) {
					break
				}
				at[i] = 0
			}
			if i == len(at) {
				return
			}
		}
	}
}

// size returns the number of values of dimension i: of a fact or, after the facts, of the times and of the signatures.
func (x *axes) size(i int) int {
	switch i - len(x.facts) {
	case 0:
		return len(x.times)
	case 1:
		return len(x.signed)
	default:
		return len(x.facts[i].values)
	}
}

// distinguishing passes requests to the function put: those whose facts meet all conditions of a rule, and those that differ from them in
// one fact, each at all times, signed and unsigned. It returns false once put returns false.
func (x *axes) distinguishing(put func([]int) bool) bool {
	atAllTimes := func(at []int) bool {
		for i := range x.times {
			for k := range x.signed {
				at[len(x.facts)], at[len(x.facts)+1] = i, k
				if !put(at) {
					return false
				}
			}
		}
		return true
	}
	meetings := make([][]int, 0, len(x.rules))
	for _, r := range x.rules {
		meeting := x.meets(r)
		meetings = append(meetings, meeting)
		if !atAllTimes(slices.Concat(meeting, []int{0, 0})) {
			return false
		}
	}
	for _, meeting := range meetings {
		for i := range x.facts {
			for k := range x.facts[i].values {
				at := slices.Concat(meeting, []int{0, 0})
				at[i] = k
				if !atAllTimes(at) {
					return false
				}
			}
		}
	}
	return true
}
