package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// clockVariable is the time of day, which windows of hours are about.
const clockVariable = "time of day"

// maxSearch bounds the steps of looking for values that meet a set of constraints. What is not settled
// by then counts as possible.
const maxSearch = 2000

// maxSearches bounds the same over all rules of a document, in steps of some ten nanoseconds.
const maxSearches = 5_000_000

// A demand is a constraint that must come out as wanted. A loose one, of a prohibition, must only not
// come out otherwise: what is unknown binds.
type demand struct {
	scope  string // what its left operand is about: "" the rule, else the action, the target or a party
	c      *model.Constraint
	negate bool
	loose  bool
}

// A search looks for facts under which all demands are met.
type search struct {
	domains map[string]*domain // by variable
	known   map[string]bool    // variables that some demand needs to know
	steps   *int               // left for this search
	all     *int               // taken by all searches in one document
}

// demandAll demands all constraints of a rule.
func demandAll(scope string, list []*model.Constraint, loose bool) []demand {
	out := make([]demand, 0, len(list))
	for _, c := range list {
		out = append(out, demand{scope: scope, c: c, loose: loose})
	}
	return out
}

// satisfiable reports false only where no facts can meet the demands; else it gives an example of facts
// as far as the demands ask for any.
func satisfiable(n *model.Names, demands []demand) (example map[string][]string, ok bool) {
	steps := maxSearch
	s := &search{domains: map[string]*domain{}, known: map[string]bool{}, steps: &steps, all: &n.Searched}
	found := s.solve(demands)
	if found == nil {
		return nil, false
	}
	return found.example(), true
}

// example words what was found.
func (s *search) example() map[string][]string {
	m := map[string][]string{}
	for name, d := range s.domains {
		if values, ok := d.possible(variableOperand(name)); ok && len(values) > 0 {
			m[name] = values
		}
	}
	return m
}

func variableOperand(name string) string {
	if _, operand, ok := strings.Cut(name, " "); ok && name != clockVariable {
		return operand
	}
	return name
}

// solve returns the search in a state that meets the demands, or nil.
func (s *search) solve(demands []demand) *search {
	*s.steps--
	*s.all += 1 + len(demands)
	if *s.steps < 0 || *s.all > maxSearches {
		return s
	}
	i := next(demands)
	if i < 0 {
		return s
	}
	d := demands[i]
	rest := slices.Delete(slices.Clone(demands), i, i+1)
	if d.c.Logic == "" {
		state := s.clone()
		if !state.leaf(d) {
			return nil
		}
		return state.solve(rest)
	}
	for _, branch := range d.branches() {
		if found := s.solve(append(slices.Clone(rest), branch...)); found != nil {
			return found
		}
	}
	return nil
}

// next picks the demand to look at: plain before logical, firm before loose.
func next(demands []demand) int {
	best, rank := -1, 4
	for i, d := range demands {
		r := 0
		if d.loose {
			r += 2
		}
		if d.c.Logic != "" {
			r++
		}
		if r < rank {
			best, rank = i, r
		}
	}
	return best
}

// branches are the ways in which a logical constraint can come out as demanded.
func (d demand) branches() [][]demand {
	part := func(c *model.Constraint, negate bool) demand { return demand{d.scope, c, negate, d.loose} }
	every := func(negate bool) [][]demand {
		var all []demand
		for _, o := range d.c.Operands {
			all = append(all, part(o, negate))
		}
		return [][]demand{all}
	}
	either := func(negate bool) [][]demand {
		var ways [][]demand
		for _, o := range d.c.Operands {
			ways = append(ways, []demand{part(o, negate)})
		}
		return ways
	}
	switch {
	case d.c.Logic == "or" && !d.negate:
		return either(false)
	case d.c.Logic == "or":
		return every(true)
	case d.c.Logic == "xone" && d.negate:
		return [][]demand{nil} // none, or several: not worth the search
	case d.c.Logic == "xone":
		var ways [][]demand
		for i := range d.c.Operands {
			var way []demand
			for j, o := range d.c.Operands {
				way = append(way, part(o, i != j))
			}
			ways = append(ways, way)
		}
		return ways
	case d.negate:
		return either(true)
	default:
		return every(false)
	}
}

func (s *search) clone() *search {
	return &search{maps.Clone(s.domains), maps.Clone(s.known), s.steps, s.all}
}

var negations = map[string]string{
	"eq": "neq", "neq": "eq", "lt": "gteq", "lteq": "gt", "gt": "lteq", "gteq": "lt", "isAnyOf": "isNoneOf", "isNoneOf": "isAnyOf", "within": "outside", "outside": "within",
}

// leaf narrows the domain of its operand; false where nothing is left.
func (s *search) leaf(d demand) bool {
	c := d.c
	variable := d.variable()
	if d.loose && !s.known[variable] && c.Left().Kind != model.Instant && c.Left().Kind != model.Window {
		return true // unknown: it binds
	}
	s.known[variable] = true
	operator := c.Operator
	if d.negate {
		if operator = negations[operator]; operator == "" {
			return true
		}
	}
	if len(c.Right) == 0 {
		return true
	}
	old := s.domains[variable]
	if old == nil {
		old = newDomain(c.Operand)
	}
	dom := old.clone()
	if !dom.narrow(c, operator) {
		return true
	}
	s.domains[variable] = dom
	_, ok := dom.possible(c.Operand)
	return ok
}

// variable names what the constraint compares. ODRL IM 2.5.3: one left operand in a constraint and in a
// refinement is two things; the time is one.
func (d demand) variable() string {
	name := d.c.Operand
	switch d.c.Left().Kind {
	case model.Instant:
		return "dateTime"
	case model.Window:
		if at, _, ok := windowOf(d.c); ok && at {
			return clockVariable
		}
		return "dateTime"
	default:
	}
	if d.c.Unit.IRI != "" {
		name += " (" + model.LastName(d.c.Unit.IRI) + ")"
	}
	if d.scope != "" {
		return d.scope + " " + name
	}
	return name
}

// narrow applies one comparison; false where nothing can be said about it.
func (d *domain) narrow(c *model.Constraint, operator string) bool {
	if c.Left().Kind == model.Window || operator == "within" || operator == "outside" {
		clock, w, ok := windowOf(c)
		if !ok {
			return false
		}
		if !clock && w.From >= w.To { // it ends before it starts
			if operator != "outside" && operator != "neq" {
				d.ordered, d.lo, d.hi = true, 1, 0
			}
			return true
		}
		if operator != "outside" && operator != "neq" {
			operator = "within"
		} else {
			operator = "outside"
		}
		if w.From > w.To { // over midnight: within is outside of the rest of the day
			w.From, w.To = w.To, w.From
			operator = negations[operator]
		}
		if w.From == w.To {
			return false
		}
		d.order(operator, w)
		return true
	}
	if slices.Contains(model.Orderings, operator) || len(c.Right) == 1 && (operator == "eq" || operator == "neq") {
		if at, ok := orderedValue(c); ok {
			d.order(operator, at)
			return true
		}
		if slices.Contains(model.Orderings, operator) {
			return false
		}
	}
	if d.ordered || slices.Contains([]model.Kind{model.Number, model.Duration, model.Event}, c.Left().Kind) {
		return false
	}
	if operator != "isPartOf" && slices.ContainsFunc(c.Right, func(r model.Literal) bool { return c.Left().IsRange(r.Text) }) {
		return false // what is in a range is not written as the range
	}
	values := make([]string, 0, len(c.Right))
	for _, r := range c.Right {
		if r.Window {
			return false
		}
		values = append(values, c.Left().CanonicalText(r.Text))
	}
	d.texts(operator, values)
	return true
}

// orderedValue reads a right operand that has an order.
func orderedValue(c *model.Constraint) (model.Interval, bool) {
	s := c.Right[0].Text
	if c.Right[0].Window {
		return model.Interval{}, false
	}
	switch c.Left().Kind {
	case model.Instant:
		return model.ParseInstant(s)
	case model.Version:
		v, ok := model.ParseVersion(s)
		if !ok || max(v[0], v[1], v[2]) >= 1<<20 {
			return model.Interval{}, false
		}
		n := v[0]<<40 | v[1]<<20 | v[2]
		return model.Interval{From: n, To: n}, true
	case model.Text, model.Code, model.Key, model.Window, model.Duration, model.Event:
		return model.Interval{}, false
	default:
		n, ok := model.ParseNumber(s)
		return model.Interval{From: n, To: n}, ok
	}
}

// windowOf reads a window; clock says whether it is one of the day.
func windowOf(c *model.Constraint) (clock bool, w model.Interval, ok bool) {
	if len(c.Right) != 1 {
		return false, model.Interval{}, false
	}
	start, end := c.Right[0].Start, c.Right[0].End
	if !c.Right[0].Window {
		if start, end, ok = strings.Cut(c.Right[0].Text, "/"); !ok {
			return false, model.Interval{}, false
		}
	}
	from, _, ok1 := model.ParseClock(start)
	to, _, ok2 := model.ParseClock(end)
	if ok1 && ok2 {
		return true, model.Interval{From: from % int64(model.Day), To: to}, true
	}
	a, ok1 := model.ParseInstant(start)
	b, ok2 := model.ParseInstant(end)
	return false, model.Interval{From: a.From, To: b.To}, ok1 && ok2
}
