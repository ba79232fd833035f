package rules

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// clock is the name of the variable for the time of day, which windows of times of day constrain.
const clock = "time of day"

// maxSearch bounds the steps of one search for values that meet a set of constraints. If a search does not finish, such values count as
// possible.
const maxSearch = 2000

// maxSearches bounds the steps of all searches for one document. A step takes about ten nanoseconds.
const maxSearches = 5_000_000

// A demand requires a constraint to be true or, if negate is set, to be false. If loose is set, an unknown result also meets the demand, as
// for a prohibition, which binds if the result is unknown.
type demand struct {
	scope  string // the subject of its left operand: "" the rule, otherwise the action, the target or a party
	c      *model.Constraint
	negate bool
	loose  bool
}

// demandAll returns a demand for each constraint of a rule.
func demandAll(scope string, list []*model.Constraint, loose bool) []demand {
	out := make([]demand, 0, len(list))
	for _, c := range list {
		out = append(out, demand{scope: scope, c: c, loose: loose})
	}
	return out
}

// A search looks for facts that meet all demands.
type search struct {
	steps *int // the number of steps left for this search
	all   *int // the number of steps taken by all searches in one document
}

// domains maps each variable to its remaining domain. A variable without a demand has none.
type domains map[string]domain

// satisfiable returns false only if no facts can meet the demands. Otherwise, it returns an example of such facts, for the variables on
// which the demands depend.
func satisfiable(n *model.Names, demands []demand) (example map[string][]string, ok bool) {
	const start = 25 // the cost of starting a search, in steps
	n.Searched += start
	steps := maxSearch
	s := search{&steps, &n.Searched}
	found := s.solve(domains{}, demands)
	if found == nil {
		return nil, false
	}
	example = map[string][]string{}
	for variable, d := range found {
		if values, ok := d.possible(); ok && len(values) > 0 {
			example[variable] = values
		}
	}
	return example, true
}

// solve returns domains that meet the demands, or nil. It does not modify its arguments.
func (s search) solve(state domains, demands []demand) domains {
	state, open := maps.Clone(state), slices.Clone(demands)
	for _, loose := range []bool{false, true} { // first the demands that do not accept an unknown result
		var logical []demand
		left := len(open)
		for _, d := range open {
			switch {
			case d.loose != loose:
				continue
			case d.c.Logic != "":
				logical = append(logical, d)
				continue
			}
			if s.step(left) {
				return state
			}
			if !state.narrow(d) {
				return nil
			}
			left--
		}
		open = slices.DeleteFunc(open, func(d demand) bool { return d.loose == loose })
		if len(logical) > 0 {
			return s.branch(state, logical[0], append(logical[1:], open...))
		}
	}
	s.step(0)
	return state
}

// step counts a step that looks at the given number of demands, and reports whether the search must end.
func (s search) step(demands int) bool {
	*s.steps--
	*s.all += 1 + demands
	return *s.steps < 0 || *s.all > maxSearches
}

// branch tries each way in which a logical constraint can meet its demand, together with the other demands.
func (s search) branch(state domains, d demand, rest []demand) domains {
	if s.step(len(rest)) {
		return state
	}
	for way := range d.ways() {
		*s.all += len(way)
		if found := s.solve(state, slices.Concat(rest, way)); found != nil {
			return found
		}
	}
	return nil
}

// ways returns the ways in which a logical constraint can meet its demand, each as demands on its operands. It creates a way only when it
// is needed, because an xone of n operands has n ways of n demands.
func (d demand) ways() iter.Seq[[]demand] {
	part := func(c *model.Constraint, negate bool) demand { return demand{d.scope, c, negate, d.loose} }
	return func(try func([]demand) bool) {
		all := make([]demand, 0, len(d.c.Operands))
		for _, o := range d.c.Operands {
			all = append(all, part(o, d.negate))
		}
		switch {
		case d.c.Logic == "xone" && d.negate:
			try(nil) // no operand or several must be true: a search would cost too much
		case d.c.Logic != "xone" && (d.c.Logic == "or") == d.negate:
			try(all)
		case d.c.Logic != "xone":
			for i := range all {
				if !try(all[i : i+1]) {
					return
				}
			}
		default:
			for i := range all {
				way := slices.Clone(all)
				for j := range way {
					way[j].negate = i != j
				}
				if !try(way) {
					return
				}
			}
		}
	}
}

var negations = map[string]string{
	"eq": "neq", "neq": "eq", "lt": "gteq", "lteq": "gt", "gt": "lteq", "gteq": "lt", "isAnyOf": "isNoneOf", "isNoneOf": "isAnyOf",
	"within": "outside", "outside": "within",
}

// narrow narrows the domain of a demand's variable, and reports whether any values are left.
func (s domains) narrow(d demand) bool {
	variable, operand := d.variable()
	dom, known := s[variable]
	if d.loose && !known && variable != clock && variable != "dateTime" {
		return true // the fact may be unknown, which meets a loose demand
	}
	if !known {
		dom = newDomain(operand, d.c.Left())
	}
	operator := d.c.Operator
	if d.negate {
		operator = negations[operator]
	}
	switch {
	case operator == "" || len(d.c.Right) == 0:
	case d.c.Left().Codes == nil || !d.loose && !d.negate:
		dom.narrow(d.c, operator)
	case !dom.near(d, operator): // a part of a code neither equals the code nor differs from it
		return false
	}
	s[variable] = dom
	_, possible := dom.possible()
	return possible
}

// near narrows the domain by a comparison of codes, for a demand that is loose or negated. It returns false if the demand cannot be met.
func (d *domain) near(of demand, operator string) bool {
	switch {
	case operator == "eq" || operator == "isAnyOf":
		narrowed := *d
		narrowed.narrow(of.c, operator)
		if _, ok := narrowed.possible(); ok {
			*d = narrowed
			return true
		}
		values := make([]string, 0, len(of.c.Right))
		for _, r := range of.c.Right {
			values = append(values, of.c.Left().CanonicalText(r.Text))
		}
		return !slices.ContainsFunc(d.wholes(), func(v string) bool {
			return !slices.ContainsFunc(values, func(w string) bool { return !d.apart(v, w) || !d.apart(w, v) })
		})
	case of.loose && (of.negate || operator == "isAllOf"):
	default:
		d.narrow(of.c, operator)
	}
	return true
}

// variable returns the name of the value that the constraint compares, and the left operand. The same left operand in a constraint and in a
// refinement is about two different things (ODRL IM 2.5.3), but time is always the same thing.
func (d demand) variable() (name, operand string) {
	name = d.c.Operand
	switch d.c.Left().Kind {
	case model.Instant:
		return "dateTime", "dateTime"
	case model.Window:
		if at, _, ok := windowOf(d.c); ok && at {
			return clock, clock
		}
		return "dateTime", "dateTime"
	default:
	}
	if d.c.Unit.IRI != "" {
		name += " (" + model.LastName(d.c.Unit.IRI) + ")"
	}
	if d.scope != "" {
		name = d.scope + " " + name
	}
	return name, d.c.Operand
}

// narrow applies one comparison. It ignores a comparison that it cannot interpret.
func (d *domain) narrow(c *model.Constraint, operator string) {
	left := c.Left()
	if left.Kind == model.Window || operator == "within" || operator == "outside" {
		d.window(c, operator == "outside" || operator == "neq")
		return
	}
	ordering := slices.Contains(model.Orderings, operator)
	if ordering || len(c.Right) == 1 && (operator == "eq" || operator == "neq") {
		if at, ok := orderedValue(c); ok {
			d.order(operator, at)
			return
		}
	}
	if ordering || d.ordered || slices.Contains([]model.Kind{model.Number, model.Duration, model.Event}, left.Kind) {
		return
	}
	values := make([]string, 0, len(c.Right))
	for _, r := range c.Right {
		if r.Window || operator != "isPartOf" && left.IsRange(r.Text) { // a value in a range does not equal the text of the range
			return
		}
		values = append(values, left.CanonicalText(r.Text))
	}
	d.texts(operator, values)
}

// window applies a window or, if outside is set, its complement.
func (d *domain) window(c *model.Constraint, outside bool) {
	ofDay, w, ok := windowOf(c)
	switch {
	case !ok || ofDay && w.From == w.To:
		return
	case !ofDay && w.From >= w.To: // it ends before it starts
		if !outside {
			d.ordered, d.ranges = true, nil
		}
		return
	case w.From > w.To: // over midnight: within the window means outside the rest of the day
		w.From, w.To = w.To, w.From
		outside = !outside
	}
	operator := "within"
	if outside {
		operator = "outside"
	}
	d.order(operator, span{w.From, w.To - 1})
}

// orderedValue returns the right operand of a comparison by order. It returns false if the kind of operand has no order here.
func orderedValue(c *model.Constraint) (span, bool) {
	s := c.Right[0].Text
	if c.Right[0].Window {
		return span{}, false
	}
	switch c.Left().Kind {
	case model.Instant:
		at, ok := model.ParseInstant(s)
		if at.From == at.To {
			return span{at.From, at.From}, ok
		}
		return span{at.From, at.To - 1}, ok
	case model.Version:
		v, ok := model.ParseVersion(s)
		n := v[0]<<40 | v[1]<<20 | v[2]
		return span{n, n}, ok && max(v[0], v[1], v[2]) < 1<<20
	case model.Text, model.Code, model.Key, model.Window, model.Duration, model.Event:
		return span{}, false
	default:
		n, ok := model.ParseNumber(s)
		return span{n, n}, ok
	}
}

// windowOf reads the window of a constraint. ofDay is set if it is a window of times of day.
func windowOf(c *model.Constraint) (ofDay bool, w model.Interval, ok bool) {
	if len(c.Right) != 1 {
		return false, w, false
	}
	start, end := c.Right[0].Start, c.Right[0].End
	if !c.Right[0].Window {
		if start, end, ok = strings.Cut(c.Right[0].Text, "/"); !ok {
			return false, w, false
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
