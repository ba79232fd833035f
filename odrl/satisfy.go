package odrl

import (
	"maps"
	"slices"
	"strings"
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
	c      *constraintNode
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

// conjunction demands all constraints of a rule.
func conjunction(scope string, list []*constraintNode, loose bool) []demand {
	out := make([]demand, 0, len(list))
	for _, c := range list {
		out = append(out, demand{scope: scope, c: c, loose: loose})
	}
	return out
}

// satisfiable reports false only where no facts can meet the demands; else it gives an example of facts
// as far as the demands ask for any.
func satisfiable(n *names, demands []demand) (example map[string][]string, ok bool) {
	steps := maxSearch
	s := &search{domains: map[string]*domain{}, known: map[string]bool{}, steps: &steps, all: &n.searched}
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
	if d.c.logic == "" {
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
		if d.c.logic != "" {
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
	part := func(c *constraintNode, negate bool) demand { return demand{d.scope, c, negate, d.loose} }
	every := func(negate bool) [][]demand {
		var all []demand
		for _, o := range d.c.operands {
			all = append(all, part(o, negate))
		}
		return [][]demand{all}
	}
	either := func(negate bool) [][]demand {
		var ways [][]demand
		for _, o := range d.c.operands {
			ways = append(ways, []demand{part(o, negate)})
		}
		return ways
	}
	switch {
	case d.c.logic == "or" && !d.negate:
		return either(false)
	case d.c.logic == "or":
		return every(true)
	case d.c.logic == "xone" && d.negate:
		return [][]demand{nil} // none, or several: not worth the search
	case d.c.logic == "xone":
		var ways [][]demand
		for i := range d.c.operands {
			var way []demand
			for j, o := range d.c.operands {
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
	if d.loose && !s.known[variable] && operands[c.operand] != instant && operands[c.operand] != window {
		return true // unknown: it binds
	}
	s.known[variable] = true
	operator := c.operator
	if d.negate {
		if operator = negations[operator]; operator == "" {
			return true
		}
	}
	if len(c.right) == 0 {
		return true
	}
	old := s.domains[variable]
	if old == nil {
		old = newDomain(c.operand)
	}
	dom := old.clone()
	if !dom.narrow(c, operator) {
		return true
	}
	s.domains[variable] = dom
	_, ok := dom.possible(c.operand)
	return ok
}

// variable names what the constraint compares. ODRL IM 2.5.3: one left operand in a constraint and in a
// refinement is two things; the time is one.
func (d demand) variable() string {
	name := d.c.operand
	switch operands[name] {
	case instant:
		return "dateTime"
	case window:
		if at, _, ok := windowOf(d.c); ok && at {
			return clockVariable
		}
		return "dateTime"
	default:
	}
	if d.c.unit.iri != "" {
		name += " (" + lastName(d.c.unit.iri) + ")"
	}
	if d.scope != "" {
		return d.scope + " " + name
	}
	return name
}

// narrow applies one comparison; false where nothing can be said about it.
func (d *domain) narrow(c *constraintNode, operator string) bool {
	if operands[c.operand] == window || operator == "within" || operator == "outside" {
		clock, w, ok := windowOf(c)
		if !ok {
			return false
		}
		if !clock && w.from >= w.to { // it ends before it starts
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
		if w.from > w.to { // over midnight: within is outside of the rest of the day
			w.from, w.to = w.to, w.from
			operator = negations[operator]
		}
		if w.from == w.to {
			return false
		}
		d.order(operator, w)
		return true
	}
	if slices.Contains(orderings, operator) || len(c.right) == 1 && (operator == "eq" || operator == "neq") {
		if at, ok := orderedValue(c); ok {
			d.order(operator, at)
			return true
		}
		if slices.Contains(orderings, operator) {
			return false
		}
	}
	if d.ordered || slices.Contains([]kind{number, lasting, happening}, operands[c.operand]) {
		return false
	}
	if operator != "isPartOf" && slices.ContainsFunc(c.right, func(r literal) bool { return isRange(c.operand, r.text) }) {
		return false // what is in a range is not written as the range
	}
	values := make([]string, 0, len(c.right))
	for _, r := range c.right {
		if r.window {
			return false
		}
		values = append(values, canonicalText(c.operand, r.text))
	}
	d.texts(operator, values)
	return true
}

// orderedValue reads a right operand that has an order.
func orderedValue(c *constraintNode) (interval, bool) {
	s := c.right[0].text
	if c.right[0].window {
		return interval{}, false
	}
	switch operands[c.operand] {
	case instant:
		return parseInstant(s)
	case version:
		v, ok := parseVersion(s)
		if !ok || max(v[0], v[1], v[2]) >= 1<<20 {
			return interval{}, false
		}
		n := v[0]<<40 | v[1]<<20 | v[2]
		return interval{from: n, to: n}, true
	case text, code, keyed, window, lasting, happening:
		return interval{}, false
	default:
		n, ok := parseNumber(s)
		return interval{from: n, to: n}, ok
	}
}

// windowOf reads a window; clock says whether it is one of the day.
func windowOf(c *constraintNode) (clock bool, w interval, ok bool) {
	if len(c.right) != 1 {
		return false, interval{}, false
	}
	start, end := c.right[0].start, c.right[0].end
	if !c.right[0].window {
		if start, end, ok = strings.Cut(c.right[0].text, "/"); !ok {
			return false, interval{}, false
		}
	}
	from, _, ok1 := parseClock(start)
	to, _, ok2 := parseClock(end)
	if ok1 && ok2 {
		return true, interval{from: from % int64(day), to: to}, true
	}
	a, ok1 := parseInstant(start)
	b, ok2 := parseInstant(end)
	return false, interval{from: a.from, to: b.to}, ok1 && ok2
}
